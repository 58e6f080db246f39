import { concatBytes } from "../util/bytes.ts";
import { ByteReader } from "./byteReader.ts";

/** cv 32, anchor 32, nullifier 32, rk 32, Groth16 proof 192 (Zcash protocol specification 7.3). */
const UNSIGNED_SPEND_BYTES = 32 + 32 + 32 + 32 + 192;
const SPEND_SIGNATURE_BYTES = 64;
const SPEND_BYTES = UNSIGNED_SPEND_BYTES + SPEND_SIGNATURE_BYTES;
/** cv 32, commitment 32, ephemeral key 32, ciphertexts 580 and 80, proof 192 (7.4). */
const OUTPUT_BYTES = 32 + 32 + 32 + 580 + 80 + 192;
/** Everything of a JoinSplit but its proof: two u64, anchor, 2 nullifiers, 2 commitments, key, seed, 2 MACs, 2 ciphertexts (7.2). */
const JOINSPLIT_BYTES = 2 * 8 + 32 + 2 * 32 + 2 * 32 + 32 + 32 + 2 * 32 + 2 * 601;
const PHGR_PROOF_BYTES = 296;
const GROTH_PROOF_BYTES = 192;
/** Ed25519 key and signature after a non-empty JoinSplit list. */
const JOINSPLIT_KEY_BYTES = 32;
const JOINSPLIT_SIGNATURE_BYTES = 64;
const BINDING_SIGNATURE_BYTES = 64;

function joinSplits(r: ByteReader, proofBytes: number): void {
  const n = r.count(JOINSPLIT_BYTES + proofBytes);
  r.slice(n * (JOINSPLIT_BYTES + proofBytes));
  if (n > 0) r.slice(JOINSPLIT_KEY_BYTES + JOINSPLIT_SIGNATURE_BYTES);
}

/** The last `length` bytes read. */
function lookBack(r: ByteReader, length: number): Uint8Array {
  r.offset -= length;
  return r.slice(length);
}

function descriptions(r: ByteReader, bytes: number): number {
  const n = r.count(bytes);
  r.slice(n * bytes);
  return n;
}

/** JoinSplit part of a v2 or v3 transaction, as serialised; one zero byte when there is none. */
export function readSproutTail(r: ByteReader): Uint8Array {
  const from = r.offset;
  joinSplits(r, PHGR_PROOF_BYTES);
  return lookBack(r, r.offset - from);
}

/** Shielded part of a v4 transaction, as serialised: spends, outputs, JoinSplits and the binding signature. */
export function readSaplingTail(r: ByteReader): Uint8Array {
  const from = r.offset;
  const spends = descriptions(r, SPEND_BYTES);
  const outputs = descriptions(r, OUTPUT_BYTES);
  joinSplits(r, GROTH_PROOF_BYTES);
  if (spends + outputs > 0) r.slice(BINDING_SIGNATURE_BYTES);
  return lookBack(r, r.offset - from);
}

/** What ZIP-243 has signatures of a v4 transaction cover of its shielded part: all but the signatures in it. Empty where there is none. */
export type SignedShieldedParts = { readonly joinSplits: Uint8Array; readonly spends: Uint8Array; readonly outputs: Uint8Array };

/** @param tail from `readSaplingTail` */
export function signedShieldedParts(tail: Uint8Array): SignedShieldedParts {
  const r = new ByteReader(tail);
  const spends = Array.from({ length: r.count(SPEND_BYTES) }, () => r.slice(SPEND_BYTES).subarray(0, UNSIGNED_SPEND_BYTES));
  const outputs = r.slice(r.count(OUTPUT_BYTES) * OUTPUT_BYTES);
  const n = r.count(JOINSPLIT_BYTES + GROTH_PROOF_BYTES);
  const joinSplits = r.slice(n * (JOINSPLIT_BYTES + GROTH_PROOF_BYTES) + (n > 0 ? JOINSPLIT_KEY_BYTES : 0));
  return { joinSplits, spends: concatBytes(...spends), outputs };
}
