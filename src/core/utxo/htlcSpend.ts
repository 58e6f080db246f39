import type { KeyPair } from "../keys/keyPair.ts";
import { equalBytes } from "../util/bytes.ts";
import { err, ok, type Result } from "../util/result.ts";
import type { Secret } from "../util/secret.ts";
import { hash160 } from "./hash.ts";
import { claimScriptSig, type HtlcTerms, p2shOf, redeemScript, refundScriptSig, scriptHashOf } from "./htlc.ts";
import { pushesOf } from "./script.ts";
import { inputDigest, isSignature, type SighashScheme, signScript, withInput } from "./signInput.ts";
import type { OutPoint, Tx } from "./tx.ts";
import { draftTx, SEQUENCE_FINAL, SEQUENCE_LOCKTIME, SEQUENCE_REPLACEABLE, type TxTemplate } from "./txTemplate.ts";

/** A claim or refund to build: one input, one output. */
export type HtlcSpend = {
  readonly template: TxTemplate;
  readonly scheme: SighashScheme;
  /** The payment's output 0. `value` in base units. */
  readonly payment: OutPoint & { readonly value: bigint };
  readonly terms: HtlcTerms;
  /** Own address. */
  readonly outputScript: Uint8Array;
  /** Miner fee, base units: `htlcSpendFee`, or more to outbid. */
  readonly fee: bigint;
  /** From `htlcLockTime`. Not used by a replaceable spend. */
  readonly lockTime: number;
  /**
   * Offers the spend for replacement. Its sequence is then not final, so its lock time counts: a claim has none, a refund exactly the
   * contract's, which a reorg that sets the chain's time back holds up no longer than the contract does.
   */
  readonly replaceable?: boolean;
  /** Least output the chain relays, base units. */
  readonly dust: bigint;
};

export type HtlcSpendError =
  | { readonly kind: "FeeExceedsValue"; readonly value: bigint; readonly fee: bigint }
  | { readonly kind: "OutputBelowDust"; readonly value: bigint; readonly dust: bigint };

function draftSpend(spend: HtlcSpend, sequence: number, replaceableLockTime: number): Result<Tx, HtlcSpendError> {
  const { payment, fee, dust, replaceable = false } = spend;
  if (fee >= payment.value) return err({ kind: "FeeExceedsValue", value: payment.value, fee });
  const value = payment.value - fee;
  if (value < dust) return err({ kind: "OutputBelowDust", value, dust });
  const input = { txid: payment.txid, vout: payment.vout, scriptSig: new Uint8Array(0), witness: [] };
  const inputs = [{ ...input, sequence: replaceable ? SEQUENCE_REPLACEABLE : sequence }];
  const lockTime = replaceable ? replaceableLockTime : spend.lockTime;
  return ok(draftTx(spend.template, { inputs, outputs: [{ value, script: spend.outputScript }], lockTime }));
}

function sign(tx: Tx, spend: HtlcSpend, redeem: Uint8Array, key: KeyPair): Uint8Array {
  return signScript(tx, 0, { value: spend.payment.value, scriptCode: redeem }, key, spend.scheme);
}

/**
 * Signed claim of a payment with the secret (swap-protocol.md 4.6). Its input is final, or it has no lock time: the chain takes
 * it at once.
 * Throws when the key or the secret is not the contract's.
 */
export function buildHtlcClaim(spend: HtlcSpend, secret: Secret<Uint8Array>, key: KeyPair): Result<Tx, HtlcSpendError> {
  if (!equalBytes(key.publicKey, spend.terms.claimKey)) throw new RangeError("HTLC claim: another key's contract");
  if (!equalBytes(hash160(secret.reveal()), scriptHashOf(spend.terms.secretHash))) throw new RangeError("HTLC claim: not the secret");
  const draft = draftSpend(spend, SEQUENCE_FINAL, 0);
  if (!draft.ok) return draft;
  const redeem = redeemScript(spend.terms);
  return ok(withInput(draft.value, 0, { scriptSig: claimScriptSig(sign(draft.value, spend, redeem, key), secret.reveal(), redeem) }));
}

/**
 * Signed refund of an own payment (4.7); valid once the median time past exceeds `lockTime`. Throws when the key is not
 * the contract's or the lock time is before its lock.
 */
export function buildHtlcRefund(spend: HtlcSpend, key: KeyPair): Result<Tx, HtlcSpendError> {
  if (!equalBytes(key.publicKey, spend.terms.refundKey)) throw new RangeError("HTLC refund: another key's contract");
  if (spend.lockTime < spend.terms.lock) throw new RangeError("HTLC refund: lock time before the contract's");
  const draft = draftSpend(spend, SEQUENCE_LOCKTIME, spend.terms.lock);
  if (!draft.ok) return draft;
  const redeem = redeemScript(spend.terms);
  return ok(withInput(draft.value, 0, { scriptSig: refundScriptSig(sign(draft.value, spend, redeem, key), redeem) }));
}

/**
 * Whether `tx` spends a payment through the refund branch of its contract, signed by the key that may, over as much of it as its owner likes:
 * a chain takes every hash type. Anybody may push more before the signature, and a miner may take it so: the script reads the item below the
 * branch's.
 */
export function isSignedRefund(tx: Tx, payment: HtlcSpend["payment"], terms: HtlcTerms, scheme: SighashScheme): boolean {
  const index = tx.inputs.findIndex((i) => i.txid === payment.txid && i.vout === payment.vout);
  const pushes = pushesOf(tx.inputs[index]?.scriptSig ?? new Uint8Array(0));
  const [signature, redeem] = [pushes?.at(-3), redeemScript(terms)];
  const hashType = signature?.at(-1);
  if (!signature || hashType === undefined || !equalBytes(pushes?.at(-1) ?? new Uint8Array(0), redeem)) return false;
  const spent = [{ value: payment.value, script: p2shOf(redeem) }];
  return isSignature(signature, terms.refundKey, scheme, () => inputDigest(tx, index, redeem, payment.value, scheme, hashType, spent));
}
