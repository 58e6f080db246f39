import type { UtxoKind } from "../../core/coin/utxoKind.ts";
import { equalBytes } from "../../core/util/bytes.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import { classifySpend, extractSecret, p2shOf, redeemScript } from "../../core/utxo/htlc.ts";
import { isSignedRefund } from "../../core/utxo/htlcSpend.ts";
import { pushesOf } from "../../core/utxo/script.ts";
import { type FeeFault, feeOutputs, feePayer, HTLC_VOUT, MAX_PEER_TX_BYTES, validateFee, validatePayment } from "../../core/utxo/swapTx.ts";
import type { OutPoint } from "../../core/utxo/tx.ts";
import { parseTx, txid } from "../../core/utxo/txCodec.ts";
import type { Contract, ExpectedDexFee, SignedTx, TxRefusal } from "../swap/swapCoin.ts";

export type SpendBranch = "claim" | "refund" | "other";

/** Reads the transactions of swaps on one coin: the other side's before they are trusted, and any from the chain. */
export class SwapTxReader {
  readonly #kind: UtxoKind;
  /** Asked for at every look at the chain, and each costs two points of the curve. */
  readonly #contractScripts = new WeakMap<Contract, Uint8Array>();
  /** Outpoints that transactions spend, by the bytes as they are kept: the same object at every look. */
  readonly #inputKeys = new WeakMap<Uint8Array, readonly string[]>();
  /** The same for the branches of contracts they take. */
  readonly #spendBranches = new WeakMap<Uint8Array, { readonly paymentTxid: string; readonly branch: SpendBranch }>();

  constructor(kind: UtxoKind) {
    this.#kind = kind;
  }

  contractScript(contract: Contract): Uint8Array {
    let script = this.#contractScripts.get(contract);
    if (!script) {
      script = p2shOf(redeemScript(contract));
      this.#contractScripts.set(contract, script);
    }
    return script;
  }

  checkPayment(raw: Uint8Array, contract: Contract): Result<SignedTx, TxRefusal> {
    const checked = validatePayment(raw, this.#kind.template.format, contract, contract.units);
    if (checked.ok) return ok({ txid: checked.value.txid, raw });
    const reason = faultText(checked.error);
    return checked.error.kind === "WrongValue" ? err({ kind: "OtherValue", reason }) : refused(reason);
  }
  checkDexFee(raw: Uint8Array, expected: ExpectedDexFee): Result<SignedTx, TxRefusal> {
    const checked = validateFee(raw, this.#kind.template.format, {
      feeKey: expected.feeKey,
      fee: expected.feeUnits,
      burn: expected.burnUnits,
      takerKey: expected.takerKey,
      scheme: this.#kind.scheme,
      ...(expected.spentValue ? { spentValue: expected.spentValue } : {}),
    });
    if (checked.ok) return ok({ txid: checked.value.txid, raw });
    const reason = faultText(checked.error);
    const { kind } = checked.error;
    return kind === "ValuesNeeded" || kind === "BadSignature" ? err({ kind, reason }) : refused(reason);
  }
  feePayer(raw: Uint8Array, takerKey: Uint8Array): Uint8Array | null {
    return feePayer(raw, this.#kind.template.format, takerKey);
  }
  /** What a received transaction spends with a signature alone, where that covers the value. */
  bareInputs(raw: Uint8Array): readonly OutPoint[] {
    const tx = raw.length <= MAX_PEER_TX_BYTES ? parseTx(raw, this.#kind.template.format) : null;
    if (!tx?.ok || this.#kind.scheme.kind === "legacy") return [];
    return tx.value.inputs.filter(({ witness, scriptSig }) => witness.length === 0 && pushesOf(scriptSig)?.length === 1);
  }
  /** The values of the outputs of a transaction, if these are its bytes. */
  valuesOf(raw: Uint8Array, id: string): readonly bigint[] | null {
    const tx = parseTx(raw, this.#kind.template.format);
    return tx.ok && txid(tx.value) === id ? tx.value.outputs.map(({ value }) => value) : null;
  }
  /** Besides: pays not a unit more. */
  isExactDexFee(raw: Uint8Array, expected: ExpectedDexFee): boolean {
    const checked = this.checkDexFee(raw, expected);
    const tx = parseTx(raw, this.#kind.template.format);
    const { feeKey, feeUnits, burnUnits } = expected;
    const due = feeOutputs({ feeKey, fee: feeUnits, burn: burnUnits });
    return checked.ok && tx.ok && due.every(({ value }, vout) => tx.value.outputs[vout]?.value === value);
  }
  classifySpend(raw: Uint8Array, paymentTxid: string): SpendBranch {
    const known = this.#spendBranches.get(raw);
    if (known?.paymentTxid === paymentTxid) return known.branch;
    const tx = parseTx(raw, this.#kind.template.format);
    const branch = tx.ok ? classifySpend(tx.value, { txid: paymentTxid, vout: HTLC_VOUT }) : "other";
    this.#spendBranches.set(raw, { paymentTxid, branch });
    return branch;
  }
  isSignedRefund(raw: Uint8Array, paymentTxid: string, contract: Contract): boolean {
    const { template, scheme } = this.#kind;
    const tx = parseTx(raw, template.format);
    return tx.ok && isSignedRefund(tx.value, { txid: paymentTxid, vout: HTLC_VOUT, value: contract.units }, contract, scheme);
  }
  findSecret(raw: Uint8Array, secretHash: Uint8Array): Uint8Array | null {
    const tx = parseTx(raw, this.#kind.template.format);
    return tx.ok ? extractSecret(tx.value, secretHash) : null;
  }
  sameTx(a: Uint8Array, b: Uint8Array): boolean {
    const [x, y] = [parseTx(a, this.#kind.template.format), parseTx(b, this.#kind.template.format)];
    return equalBytes(a, b) || (x.ok && y.ok && txid(x.value) === txid(y.value));
  }
  /** Whether two transactions spend the same outputs: one excludes the other, and either may be the other's malleated form. */
  sameInputs(a: Uint8Array, b: Uint8Array): boolean {
    const [x, y] = [this.#inputs(a), this.#inputs(b)];
    return x.length > 0 && x.length === y.length && x.every((key, i) => key === y[i]);
  }
  /** Whether a transaction spends an output of another. */
  spends(raw: Uint8Array, id: string): boolean {
    return this.#inputs(raw).some((key) => key.startsWith(`${id}:`));
  }
  /** The transactions whose outputs one spends. */
  parentsOf(raw: Uint8Array): readonly string[] {
    const tx = parseTx(raw, this.#kind.template.format);
    return tx.ok ? [...new Set(tx.value.inputs.map((i) => i.txid))] : [];
  }
  #inputs(raw: Uint8Array): readonly string[] {
    let inputs = this.#inputKeys.get(raw);
    if (!inputs) {
      const tx = parseTx(raw, this.#kind.template.format);
      inputs = tx.ok ? tx.value.inputs.map((i) => `${i.txid}:${i.vout}`) : [];
      this.#inputKeys.set(raw, inputs);
    }
    return inputs;
  }
}

const refused = (reason: string): Result<never, TxRefusal> => err({ kind: "Refused", reason });

function faultText(fault: FeeFault): string {
  switch (fault.kind) {
    case "BadTx":
      return `the bytes are not a transaction of this coin: ${fault.detail}`;
    case "NoOutput":
      return `the transaction has no output ${fault.vout}`;
    case "WrongScript":
      return `output ${fault.vout} pays to another script than agreed`;
    case "WrongValue":
      return `output ${fault.vout} holds ${fault.got} units, expected ${fault.expected}`;
    case "NotSignedByTaker":
    case "BadSignature":
      return `input ${fault.input} is not signed by the taker's key`;
    case "ValuesNeeded":
      return "the backend does not have all the transactions whose outputs it spends, without which its signatures cannot be verified";
    case "TooManyBareInputs":
      return `more than ${fault.most} inputs spend outputs of a bare public key`;
  }
}
