import { secp256k1 } from "@noble/curves/secp256k1.js";
import type { KeyPair } from "../keys/keyPair.ts";
import { uncompressedPubkey } from "../keys/keyPair.ts";
import { concatBytes, equalBytes } from "../util/bytes.ts";
import { hash160 } from "./hash.ts";
import { classifyOutput, p2pkhScript } from "./outputScript.ts";
import { isSchnorr, SCHNORR_SIGNATURE_BYTES } from "./schnorr.ts";
import { pushBytes, pushesOf } from "./script.ts";
import { forkIdDigest, legacyDigest, SIGHASH_ALL, SIGHASH_FORKID, saplingDigest, segwitV0Digest } from "./sighash.ts";
import type { Tx, TxInput } from "./tx.ts";

/**
 * How a coin's non-witness inputs are signed, always SIGHASH_ALL. Witness inputs use BIP-143 whatever this says.
 * - `forkid`: Bitcoin Cash family; `forkNumber` is 0 on every supported coin.
 * - `sapling`: ZIP-243 with the consensus branch id.
 */
export type SighashScheme =
  | { readonly kind: "legacy" }
  | { readonly kind: "forkid"; readonly forkNumber: number }
  | { readonly kind: "sapling"; readonly branchId: number };

/** The output an input spends. `value` in base units. */
export type SpentOutput = { readonly value: bigint; readonly script: Uint8Array };

/**
 * Digest to sign or verify for a non-witness input under the coin's scheme.
 * @param hashType the signature's last byte; what is signed here has the default
 * @param spent what all inputs spend, where that is known: some types of Bitcoin Cash cover it
 */
export function inputDigest(
  tx: Tx,
  index: number,
  scriptCode: Uint8Array,
  value: bigint,
  scheme: SighashScheme,
  hashType = SIGHASH_ALL,
  spent: readonly SpentOutput[] = [],
): Uint8Array {
  switch (scheme.kind) {
    case "legacy":
      return legacyDigest(tx, index, scriptCode, hashType);
    case "forkid":
      return forkIdDigest(tx, index, scriptCode, value, scheme.forkNumber, hashType, spent);
    case "sapling":
      return saplingDigest(tx, index, scriptCode, value, scheme.branchId, hashType);
  }
}

/** Hash-type byte that follows a signature under the scheme. */
export function sighashByte(scheme: SighashScheme): number {
  return scheme.kind === "forkid" ? SIGHASH_ALL | SIGHASH_FORKID : SIGHASH_ALL;
}

/** DER signature (RFC 6979 nonce, low-S) and the hash-type byte. */
function signDigest(digest: Uint8Array, key: KeyPair, hashType: number): Uint8Array {
  const der = secp256k1.sign(digest, key.secret.reveal(), { prehash: false, lowS: true, format: "der" });
  return concatBytes(der, Uint8Array.of(hashType));
}

/**
 * Signature for an input whose script code is given: a redeem script, or an output script.
 * @throws on a transaction with shielded parts: this node makes none
 */
export function signScript(
  tx: Tx,
  index: number,
  spent: { readonly value: bigint; readonly scriptCode: Uint8Array },
  key: KeyPair,
  scheme: SighashScheme,
): Uint8Array {
  if (tx.sapling && tx.sapling.shieldedTail.length !== 3) throw new RangeError("signScript: a transaction with shielded parts");
  return signDigest(inputDigest(tx, index, spent.scriptCode, spent.value, scheme), key, sighashByte(scheme));
}

/**
 * Whether a signature with its hash-type byte is this key's, in any form the coin's chain takes. None is where making the digest throws: anybody
 * can send, or show as if in a block, a transaction that the coin's scheme has none of.
 */
export function isSignature(signature: Uint8Array, publicKey: Uint8Array, scheme: SighashScheme, digest: () => Uint8Array): boolean {
  const body = signature.subarray(0, -1);
  try {
    if (scheme.kind === "forkid" && signature.length === SCHNORR_SIGNATURE_BYTES) return isSchnorr(body, digest(), publicKey);
    return secp256k1.verify(body, digest(), publicKey, { prehash: false, lowS: false, format: "der" });
  } catch {
    return false;
  }
}

/** `tx` with one input's script replaced. */
export function withInput(tx: Tx, index: number, part: { readonly scriptSig?: Uint8Array; readonly witness?: readonly Uint8Array[] }): Tx {
  return { ...tx, inputs: tx.inputs.map((input, i) => (i === index ? { ...input, ...part } : input)) };
}

/** What can be spent with the key alone; null for a script of another kind or key. */
type OwnOutputKind = "p2pkh" | "p2pk" | "p2wpkh";

function ownOutputKind(script: Uint8Array, pubkey: Uint8Array): OwnOutputKind | null {
  const output = classifyOutput(script);
  if (output.kind === "p2pkh" || output.kind === "p2wpkh") return equalBytes(output.hash, hash160(pubkey)) ? output.kind : null;
  if (output.kind !== "p2pk") return null;
  const key = output.pubkey.length === 33 ? pubkey : uncompressedPubkey(pubkey);
  return equalBytes(output.pubkey, key) ? "p2pk" : null;
}

function signedInput(tx: Tx, index: number, spent: SpentOutput, key: KeyPair, scheme: SighashScheme): Partial<TxInput> {
  const kind = ownOutputKind(spent.script, key.publicKey);
  if (kind === "p2wpkh") {
    const scriptCode = p2pkhScript(hash160(key.publicKey));
    const digest = segwitV0Digest(tx, index, scriptCode, spent.value, SIGHASH_ALL);
    return { witness: [signDigest(digest, key, SIGHASH_ALL), key.publicKey] };
  }
  if (kind === null) throw new RangeError("signInput: not an output of this key");
  const signature = pushBytes(signScript(tx, index, { value: spent.value, scriptCode: spent.script }, key, scheme));
  return { scriptSig: kind === "p2pk" ? signature : concatBytes(signature, pushBytes(key.publicKey)) };
}

/**
 * Whether an input that spends an output of this key alone is signed by it, over the whole transaction; other hash types are not read.
 */
export function isSignedInput(tx: Tx, index: number, spent: SpentOutput, publicKey: Uint8Array, scheme: SighashScheme): boolean {
  const { witness, scriptSig } = tx.inputs[index] ?? { witness: [], scriptSig: new Uint8Array(0) };
  const kind = ownOutputKind(spent.script, publicKey);
  const isWitness = kind === "p2wpkh";
  const signature = isWitness ? witness[0] : pushesOf(scriptSig)?.[0];
  if (kind === null || !signature || signature.at(-1) !== (isWitness ? SIGHASH_ALL : sighashByte(scheme))) return false;
  return isSignature(signature, publicKey, scheme, () =>
    isWitness
      ? segwitV0Digest(tx, index, p2pkhScript(hash160(publicKey)), spent.value, SIGHASH_ALL)
      : inputDigest(tx, index, spent.script, spent.value, scheme),
  );
}

/**
 * Signs every input of `tx` with one key. Inputs may spend P2PKH, P2PK and P2WPKH outputs of that key.
 * @param spent the spent outputs, in the order of the inputs; another script or count throws, because coin selection
 *   only offers own outputs
 */
export function signInputs(tx: Tx, spent: readonly SpentOutput[], key: KeyPair, scheme: SighashScheme): Tx {
  if (spent.length !== tx.inputs.length) throw new RangeError("signInputs: one spent output per input");
  const parts = spent.map((output, index) => signedInput(tx, index, output, key, scheme));
  return { ...tx, inputs: tx.inputs.map((input, i) => ({ ...input, ...parts[i] })) };
}
