import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { entropyToMnemonic } from "@scure/bip39";
import { wordlist } from "@scure/bip39/wordlists/english.js";
import { err, ok, type Result } from "../../core/util/result.ts";
import { Secret } from "../../core/util/secret.ts";
import type { Rng } from "../../ports/rng.ts";
import { writeFileAtomic } from "./atomicFile.ts";
import { isUsedByKdf } from "./kdfsOwn.ts";
import { makeFolders } from "./makeFolders.ts";
import { openPhrase, parseWalletBox, sealPhrase, type WalletBoxError } from "./walletCipher.ts";

/** Largest wallet file read, bytes. */
const MAX_WALLET_BYTES = 65_536;
/** 128 bits: twelve words, as strong as a secp256k1 key. */
const ENTROPY_BYTES = 16;

export type WalletError =
  | WalletBoxError
  | { readonly kind: "WalletExists" }
  | { readonly kind: "WalletNotFound" }
  | { readonly kind: "OtherPassphrase" }
  /** KDF has wallets here, and keeps the words of named ones in files this node does not read. */
  | { readonly kind: "WordsWithKdf" }
  | { readonly kind: "NotWritable"; readonly reason: string };

export type OpenedWallet = { readonly passphrase: Secret<string>; readonly created: boolean };

/** `<dbdir>/WALLETS/<name>.json`; the name was checked by the configuration (letters, digits, `-`, `_`). */
export function walletPath(dbdir: string, name: string): string {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) throw new Error("walletPath: unchecked wallet name");
  return join(dbdir, "WALLETS", `${name}.json`);
}

/** A new BIP-39 phrase of twelve English words. */
export function newPhrase(rng: Rng): Secret<string> {
  return new Secret(entropyToMnemonic(rng.bytes(ENTROPY_BYTES), wordlist));
}

/** Writes a wallet that does not exist yet, mode 0600. The phrase is stored as given: any KDF passphrase will do. */
export async function createWallet(
  dbdir: string,
  name: string,
  password: Secret<string>,
  phrase: Secret<string>,
  rng: Rng,
): Promise<Result<string, WalletError>> {
  const path = walletPath(dbdir, name);
  if (existsSync(path)) return err({ kind: "WalletExists" });
  const box = await sealPhrase(name, phrase.reveal(), password.reveal(), rng);
  try {
    makeFolders(join(dbdir, "WALLETS"));
    writeFileAtomic(path, `${JSON.stringify(box, null, 2)}\n`);
  } catch (error) {
    return err({ kind: "NotWritable", reason: error instanceof Error ? error.message : "unknown reason" });
  }
  return ok(path);
}

/** Decrypts an existing wallet. */
export async function readWallet(path: string, password: Secret<string>): Promise<Result<Secret<string>, WalletError>> {
  if (!existsSync(path)) return err({ kind: "WalletNotFound" });
  if (statSync(path).size > MAX_WALLET_BYTES)
    return err({ kind: "UnreadableWallet", reason: `it is larger than ${MAX_WALLET_BYTES} bytes` });
  const box = parseWalletBox(readFileSync(path, "utf8"));
  if (!box.ok) return box;
  const phrase = await openPhrase(box.value, password.reveal());
  return phrase.ok ? ok(new Secret(phrase.value)) : phrase;
}

/**
 * What `wallet_name` and `wallet_password` of the configuration mean: an existing wallet is decrypted, and a
 * passphrase beside it must be the same; a missing one is created from the passphrase or from a new phrase. But not from
 * a new one where KDF has been used: to whoever comes from there, a node with other words would seem to be theirs.
 */
export async function openWallet(
  dbdir: string,
  wallet: { readonly name: string; readonly password: Secret<string> },
  passphrase: Secret<string> | null,
  rng: Rng,
): Promise<Result<OpenedWallet, WalletError>> {
  const read = await readWallet(walletPath(dbdir, wallet.name), wallet.password);
  if (read.ok) {
    if (passphrase !== null && passphrase.reveal() !== read.value.reveal()) return err({ kind: "OtherPassphrase" });
    return ok({ passphrase: read.value, created: false });
  }
  if (read.error.kind !== "WalletNotFound") return read;
  if (passphrase === null && isUsedByKdf(dbdir)) return err({ kind: "WordsWithKdf" });
  const phrase = passphrase ?? newPhrase(rng);
  const created = await createWallet(dbdir, wallet.name, wallet.password, phrase, rng);
  return created.ok ? ok({ passphrase: phrase, created: true }) : created;
}

/** One sentence for the operator. */
export function walletErrorText(error: WalletError, name: string): string {
  switch (error.kind) {
    case "WrongPassword":
      return `the password of wallet ${name} is wrong, or its file was changed`;
    case "UnreadableWallet":
      return `the file of wallet ${name} cannot be used: ${error.reason}`;
    case "WalletExists":
      return `wallet ${name} exists already: choose another name, or move its file away`;
    case "NotWritable":
      return `the file of wallet ${name} cannot be written: ${error.reason}`;
    case "WalletNotFound":
      return `there is no wallet ${name}`;
    case "WordsWithKdf":
      return (
        `there is no wallet ${name} of this node, and KDF has been used in this dbdir, whose wallet files are not read here: set passphrase to the ` +
        `words KDF has, for the first start (docs/operations/upgrade.md). For new words: swapnode wallet create --name ${name}`
      );
    case "OtherPassphrase":
      return `wallet ${name} holds another passphrase than the configuration: leave passphrase out, or use another wallet_name`;
  }
}
