import { toHex } from "../util/bytes.ts";
import { hash160 } from "../utxo/hash.ts";
import { textToKeyPair } from "./iguana.ts";

/** Public salt KDF mixes into the shared id (rpc.md 2.4). */
const SHARED_DB_SALT = "uVa*6pcnpc9ki+VBX.6_L.";

/** Name of a key's data directory, 40 hex digits: RIPEMD160(SHA256(public key)). */
export function rmd160Hex(pubkey: Uint8Array): string {
  return toHex(hash160(pubkey));
}

/** Id of the data that all wallets of one passphrase share, 40 hex digits. A leading `0x` of the passphrase is not counted. */
export function sharedDbId(passphrase: string): string {
  const text = passphrase.startsWith("0x") ? passphrase.slice(2) : passphrase;
  const pair = textToKeyPair(`${text} ${SHARED_DB_SALT}`);
  if (!pair) throw new Error("sharedDbId: the hash is not a valid key");
  return rmd160Hex(pair.publicKey);
}
