import { HDKey } from "@scure/bip32";
import { mnemonicToSeedSync, validateMnemonic } from "@scure/bip39";
import { wordlist } from "@scure/bip39/wordlists/english.js";
import { err, ok, type Result } from "../util/result.ts";
import { Secret } from "../util/secret.ts";
import { type KeyPair, keyPairFromScalar } from "./keyPair.ts";

/** BIP-32 root of a wallet. */
export type HdRoot = Secret<HDKey>;

/** Where KDF keeps the node's own key in HD mode (rpc.md 2.4): the last two steps and the account's change are not hardened. */
const NODE_KEY_PATH = "m/44'/141'/2147483647/0/0";
/** A path step is below 2^31; BIP-32 reserves the upper half for hardened steps. */
const HARDENED = 0x80000000;
/** Steps read in a coin's derivation path; BIP-44 has two before the account. */
const MAX_PATH_STEPS = 10;

/** Root of a BIP-39 English mnemonic with the empty password. Words must be separated by single blanks. */
export function mnemonicToRoot(mnemonic: string): Result<HdRoot, { readonly kind: "BadMnemonic" }> {
  if (!validateMnemonic(mnemonic, wordlist)) return err({ kind: "BadMnemonic" });
  return ok(new Secret(HDKey.fromMasterSeed(mnemonicToSeedSync(mnemonic))));
}

function keyAt(root: HdRoot, path: string): KeyPair {
  const { privateKey } = root.reveal().derive(path);
  const pair = privateKey ? keyPairFromScalar(privateKey) : null;
  if (!pair) throw new Error("HD derivation gave no private key");
  return pair;
}

/** The node's key: signs envelopes and orders. */
export function hdNodeKey(root: HdRoot): KeyPair {
  return keyAt(root, NODE_KEY_PATH);
}

export type HdAddressId = { readonly account: number; readonly chain: 0 | 1; readonly index: number };

/** The address a coin is activated with when the request names none: `<derivation_path>/0'/0/0`. */
const FIRST_ADDRESS: HdAddressId = { account: 0, chain: 0, index: 0 };

/** Checks a coin's `derivation_path`: `m` and 1 to 10 steps below 2^31, each hardened or not. */
export function isDerivationPath(path: string): boolean {
  const steps = path.split("/");
  if (steps.shift() !== "m" || steps.length === 0 || steps.length > MAX_PATH_STEPS) return false;
  return steps.every((s) => /^\d{1,10}'?$/.test(s) && Number.parseInt(s, 10) < HARDENED);
}

/** Full path of an address, as replies show it: `m/44'/141'/0'/0/0`. */
export function addressPath(derivationPath: string, id: HdAddressId = FIRST_ADDRESS): string {
  return `${derivationPath}/${id.account}'/${id.chain}/${id.index}`;
}

/** An address of this coin from its full path; null where the path is of another coin, or of another shape. */
export function parseAddressPath(derivationPath: string, path: string): HdAddressId | null {
  const below = path.startsWith(`${derivationPath}/`) ? path.slice(derivationPath.length + 1) : "";
  const [, account, chain, index] = /^(\d{1,10})'\/([01])\/(\d{1,10})$/.exec(below) ?? [];
  const id = { account: Number(account), chain: chain === "1" ? (1 as const) : (0 as const), index: Number(index) };
  return isAddressId(id) ? id : null;
}

/** Account and index are path steps. */
export const isAddressId = ({ account, index }: HdAddressId): boolean => account < HARDENED && index < HARDENED;

/**
 * Key of one address of a coin.
 * @param derivationPath the coin's `derivation_path`, checked by `isDerivationPath`
 */
export function hdCoinKey(root: HdRoot, derivationPath: string, id: HdAddressId = FIRST_ADDRESS): KeyPair {
  return keyAt(root, addressPath(derivationPath, id));
}
