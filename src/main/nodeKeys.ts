import type { CoinEntry } from "../core/coin/coinEntry.ts";
import { type HdAddressId, hdCoinKey, hdNodeKey, mnemonicToRoot } from "../core/keys/hd.ts";
import { type PassphraseError, passphraseToKeyPair } from "../core/keys/iguana.ts";
import type { KeyPair } from "../core/keys/keyPair.ts";
import type { Secret } from "../core/util/secret.ts";
import { StartRefused } from "./runningNode.ts";

export type NodeKeys = {
  readonly node: KeyPair;
  /** HD mode: the key of a coin's first address, or of another one; null for an entry without `derivation_path`. */
  readonly hdKeyOf?: (entry: CoinEntry, id?: HdAddressId) => KeyPair | null;
};

/** Why a passphrase gives no key, in KDF's words (reference rpc.md 2.4). The passphrase itself never appears. */
function errorText(e: PassphraseError): string {
  switch (e.kind) {
    case "EmptyPassphrase":
      return "the passphrase is empty: set passphrase in MM2.json, or wallet_name";
    case "BadWifChecksum":
      return "private_from_seed: Error parsing provided WIF: its checksum is wrong; copy it again";
    case "UncompressedKey":
      return "key_pair_from_seed: Expected compressed public key, found uncompressed";
    case "BadHexKey":
      return "private_from_seed: Error parsing raw secp256k1 private key, expected 0x prefixed 32 byte hex string";
    case "InvalidKey":
      return "private_from_seed: the key is not in the range of the curve";
  }
}

/** Keys of a node from its passphrase (single-key mode) or mnemonic (HD mode). Throws `StartRefused` with a sentence. */
export function nodeKeys(passphrase: Secret<string>, hd: boolean): NodeKeys {
  if (!hd) {
    const pair = passphraseToKeyPair(passphrase.reveal());
    if (!pair.ok) throw new StartRefused(errorText(pair.error));
    return { node: pair.value };
  }
  const root = mnemonicToRoot(passphrase.reveal());
  if (!root.ok)
    throw new StartRefused("bip39_seed_from_passphrase: Error parsing passphrase: enable_hd needs a valid English BIP-39 mnemonic");
  return {
    node: hdNodeKey(root.value),
    hdKeyOf: (entry, id) => (entry.derivationPath === null ? null : hdCoinKey(root.value, entry.derivationPath, id)),
  };
}
