import { ripemd160 } from "@noble/hashes/legacy.js";
import { isValidPubkey } from "../keys/keyPair.ts";
import { concatBytes, equalBytes } from "../util/bytes.ts";
import { hash160 } from "./hash.ts";
import { OP } from "./opcodes.ts";
import { p2shScript } from "./outputScript.ts";
import { decodeScript, pushBytes, pushesOf } from "./script.ts";
import type { OutPoint, Tx } from "./tx.ts";

/**
 * The contract of one swap payment (swap-protocol.md 4.1).
 * - `lock`: refund time, unix seconds, 500,000,000 to 2^31-1 (a later one would be a negative script number).
 * - `secretHash`: 20 bytes, or the 32 bytes some pairs negotiate, of which the script takes the RIPEMD-160.
 * - `refundKey`: key of the side that funds the payment, 33 bytes; `claimKey`: of the side that learns the secret.
 */
export type HtlcTerms = {
  readonly lock: number;
  readonly secretHash: Uint8Array;
  readonly refundKey: Uint8Array;
  readonly claimKey: Uint8Array;
};

/** Below this a lock time counts blocks (BIP-65). */
export const LOCK_TIME_THRESHOLD = 500_000_000;
const MAX_LOCK = 0x7fffffff;
const SECRET_BYTES = 32;

/** The hash a contract's script commits to: RIPEMD160(SHA256(secret)), 20 bytes. */
export function scriptHashOf(secretHash: Uint8Array): Uint8Array {
  if (secretHash.length === 20) return secretHash;
  if (secretHash.length === 32) return ripemd160(secretHash);
  throw new RangeError(`HTLC: secret hash of ${secretHash.length} bytes`);
}

/** Whether `lock` can stand in a contract as a time. */
function isHtlcLock(lock: number): boolean {
  return Number.isInteger(lock) && lock >= LOCK_TIME_THRESHOLD && lock <= MAX_LOCK;
}

/** Redeem script of a contract, 107 bytes. Throws on terms that negotiation must have refused. */
export function redeemScript(terms: HtlcTerms): Uint8Array {
  if (!isHtlcLock(terms.lock)) throw new RangeError(`HTLC: lock time ${terms.lock}`);
  if (!isValidPubkey(terms.refundKey) || !isValidPubkey(terms.claimKey)) throw new RangeError("HTLC: a key is not a curve point");
  const { lock } = terms;
  const lockBytes = Uint8Array.of(lock & 0xff, (lock >>> 8) & 0xff, (lock >>> 16) & 0xff, lock >>> 24);
  return concatBytes(
    Uint8Array.of(OP.IF),
    pushBytes(lockBytes),
    Uint8Array.of(OP.CHECKLOCKTIMEVERIFY, OP.DROP),
    pushBytes(terms.refundKey),
    Uint8Array.of(OP.CHECKSIG, OP.ELSE, OP.SIZE),
    pushBytes(Uint8Array.of(SECRET_BYTES)),
    Uint8Array.of(OP.EQUALVERIFY, OP.HASH160),
    pushBytes(scriptHashOf(terms.secretHash)),
    Uint8Array.of(OP.EQUALVERIFY),
    pushBytes(terms.claimKey),
    Uint8Array.of(OP.CHECKSIG, OP.ENDIF),
  );
}

/** Output script that pays to a redeem script: always P2SH, on segwit coins too. */
export function p2shOf(redeem: Uint8Array): Uint8Array {
  return p2shScript(hash160(redeem));
}

/** Terms of a redeem script made by `redeemScript`, byte for byte; null for any other script. */
export function parseRedeemScript(redeem: Uint8Array): HtlcTerms | null {
  const pushes = decodeScript(redeem)?.flatMap((o) => (o.data ? [o.data] : []));
  if (pushes?.length !== 5) return null;
  const [lockBytes, refundKey, size, secretHash, claimKey] = pushes;
  if (!lockBytes || !refundKey || !size || !secretHash || !claimKey) return null;
  if (lockBytes.length !== 4 || secretHash.length !== 20 || !isValidPubkey(refundKey) || !isValidPubkey(claimKey)) return null;
  const lock = lockBytes.reduce((n, byte, i) => n + byte * 2 ** (8 * i), 0);
  const terms = { lock, secretHash, refundKey, claimKey };
  return isHtlcLock(lock) && equalBytes(redeemScript(terms), redeem) ? terms : null;
}

/**
 * scriptSig that claims with the secret (4.6).
 * @param signature DER with the hash-type byte
 */
export function claimScriptSig(signature: Uint8Array, secret: Uint8Array, redeem: Uint8Array): Uint8Array {
  return concatBytes(pushBytes(signature), pushBytes(secret), Uint8Array.of(OP.OP_0), pushBytes(redeem));
}

/** scriptSig that refunds after the lock (4.7). */
export function refundScriptSig(signature: Uint8Array, redeem: Uint8Array): Uint8Array {
  return concatBytes(pushBytes(signature), Uint8Array.of(OP.OP_1), pushBytes(redeem));
}

/** Script truth: false when every byte is zero, the last one optionally with the sign bit. */
function isTrue(item: Uint8Array): boolean {
  return item.some((byte, i) => byte !== 0 && !(i === item.length - 1 && byte === 0x80));
}

/**
 * Which branch of a contract `tx` takes when it spends `payment`. Judged by the item that OP_IF reads, so that a spender
 * who writes the branch differently than KDF does is understood as well.
 * @returns "other" when it does not spend the output, or not through a redeem script of ours
 */
export function classifySpend(tx: Tx, payment: OutPoint): "claim" | "refund" | "other" {
  const input = tx.inputs.find((i) => i.txid === payment.txid && i.vout === payment.vout);
  const pushes = input && pushesOf(input.scriptSig);
  const redeem = pushes?.at(-1);
  const branch = pushes?.at(-2);
  if (!redeem || !branch || !parseRedeemScript(redeem)) return "other";
  return isTrue(branch) ? "refund" : "claim";
}

/**
 * The secret a transaction reveals: the first 32-byte push of any input whose HASH160 is the contract's hash (4.8).
 * @param secretHash 20 or 32 bytes, as negotiated
 */
export function extractSecret(tx: Tx, secretHash: Uint8Array): Uint8Array | null {
  const wanted = scriptHashOf(secretHash);
  for (const input of tx.inputs) {
    for (const item of pushesOf(input.scriptSig) ?? []) {
      if (item.length === SECRET_BYTES && equalBytes(hash160(item), wanted)) return item.slice();
    }
  }
  return null;
}
