import type { Tx } from "../../core/utxo/tx.ts";
import type { SignatureVerifier } from "../../ports/signatures.ts";
import { compressPublicKey } from "./publicKey.ts";
import { compactLowS, parseDerSignature } from "./signatureEncoding.ts";

/** Height below, unix seconds from here on (BIP-65). */
export const LOCKTIME_THRESHOLD = 500_000_000;
export const SEQUENCE_FINAL = 0xffffffff;
/** BIP-68: relative lock time switched off; in seconds rather than blocks; the value's bits. */
export const SEQUENCE_DISABLE = 0x80000000;
export const SEQUENCE_TYPE_TIME = 0x00400000;
export const SEQUENCE_MASK = 0xffff;

export type SigVersion = "base" | "witness_v0";

/** What a script can ask about the transaction that spends it. */
export type SignatureChecker = {
  /** `signature` carries its hash type; `scriptCode` is from the last executed CODESEPARATOR on. */
  checkSig(signature: Uint8Array, publicKey: Uint8Array, scriptCode: Uint8Array, version: SigVersion): boolean;
  checkLockTime(lock: number): boolean;
  checkSequence(sequence: number): boolean;
};

/** Digest a signature of input `index` commits to; null when the chain has no such hash type. */
export type SignatureHash = (
  tx: Tx,
  index: number,
  scriptCode: Uint8Array,
  hashType: number,
  value: bigint,
  version: SigVersion,
) => Uint8Array | null;

/** Both are heights or both are times, and the wanted one is not greater. */
function lockReached(wanted: number, actual: number, threshold: number): boolean {
  return wanted < threshold === actual < threshold && wanted <= actual;
}

/** @param value base units of the output that input `index` spends (signed over by BIP-143 and ZIP-243) */
export function createSignatureChecker(
  tx: Tx,
  index: number,
  value: bigint,
  signatureHash: SignatureHash,
  verifier: SignatureVerifier,
): SignatureChecker {
  const sequence = tx.inputs[index]?.sequence ?? 0;
  return {
    checkSig(signature, publicKey, scriptCode, version) {
      const numbers = parseDerSignature(signature);
      const compact = numbers && compactLowS(numbers);
      const key = compact && compressPublicKey(publicKey);
      if (!compact || !key) return false;
      const hashType = signature[signature.length - 1] ?? 0;
      const digest = signatureHash(tx, index, scriptCode, hashType, value, version);
      return digest !== null && verifier.verify(compact, digest, key);
    },
    checkLockTime(lock) {
      return lockReached(lock, tx.lockTime, LOCKTIME_THRESHOLD) && sequence !== SEQUENCE_FINAL;
    },
    checkSequence(wanted) {
      // Versions with the top bit set count as large ones: Core reads them without a sign here.
      if (tx.version < 2 || (sequence & SEQUENCE_DISABLE) !== 0) return false;
      const mask = SEQUENCE_TYPE_TIME | SEQUENCE_MASK;
      return lockReached(wanted & mask, sequence & mask, SEQUENCE_TYPE_TIME);
    },
  };
}
