import { absurdFee } from "../../core/swap/feeSchedule.ts";
import { equalBytes } from "../../core/util/bytes.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import { Secret } from "../../core/util/secret.ts";
import { type BuildError, type BuiltTx, buildTx, worthSpending } from "../../core/utxo/buildTx.ts";
import { type ExactFee, type FeeRate, htlcSpendFee } from "../../core/utxo/feeRate.ts";
import { buildHtlcClaim, buildHtlcRefund, type HtlcSpend, type HtlcSpendError } from "../../core/utxo/htlcSpend.ts";
import { p2pkScript } from "../../core/utxo/outputScript.ts";
import { signInputs } from "../../core/utxo/signInput.ts";
import { filterUnspents, largestUnspents, type SortedUnspents, type Unspent } from "../../core/utxo/sortedUnspents.ts";
import { FEW_BARE_INPUTS, HTLC_VOUT } from "../../core/utxo/swapTx.ts";
import type { Tx, TxInput, TxOutput } from "../../core/utxo/tx.ts";
import { parseTx, serializeTx, txid } from "../../core/utxo/txCodec.ts";
import {
  currentLockTime,
  draftTx,
  htlcLockTime,
  isAgedForMempool,
  SEQUENCE_FINAL,
  SEQUENCE_REPLACEABLE,
} from "../../core/utxo/txTemplate.ts";
import type { UtxoChain } from "../../ports/chain.ts";
import type { Clock } from "../../ports/clock.ts";
import type { CancelFees, Contract, OwnSignedTx } from "../swap/swapCoin.ts";
import type { FundsError, Reservation } from "../tradingCoin.ts";
import { buildErrorToFunds, type Stage } from "./coinFees.ts";
import { MAX_CLUSTER } from "./coinPool.ts";
import type { CoinRates } from "./coinRates.ts";
import type { CoinSpec, CoinWallet } from "./coinSpec.ts";
import type { UtxoLedger } from "./utxoLedger.ts";

/** A cancelling transaction offers this many times the fee of what it replaces, and never less than one more satoshi per byte. */
const CANCEL_FEE_FACTOR = 3n;

export type OwnTxBuilderDeps = {
  readonly spec: CoinSpec;
  readonly wallet: CoinWallet;
  readonly chain: UtxoChain;
  readonly clock: Clock;
  readonly rates: CoinRates;
  readonly ledger: () => UtxoLedger;
};

/** Builds and signs this node's own transactions on one coin. */
export class OwnTxBuilder {
  readonly #deps: OwnTxBuilderDeps;
  /** What `parse` read, by the bytes as they are kept: every look of every swap asks for some. */
  readonly #parsed = new WeakMap<Uint8Array, Tx>();

  constructor(deps: OwnTxBuilderDeps) {
    this.#deps = deps;
  }

  /** An unsigned transaction from some of these outputs at a rate. */
  build(
    unspents: SortedUnspents,
    outputs: readonly TxOutput[],
    feeRate: FeeRate | ExactFee,
    options: { readonly feeFromOutput?: number | undefined; readonly minChange?: bigint } = {},
  ): Result<BuiltTx, BuildError> {
    const { feeFromOutput, minChange } = options;
    const { kind } = this.#deps.spec;
    return buildTx({
      template: kind.template,
      unspents: worthSpending(unspents, feeRate),
      outputs,
      changeScript: this.#changeScript(),
      feeRate,
      dust: kind.dust,
      lockTime: currentLockTime(this.#nowSec(), kind.paysInterest),
      ...(minChange === undefined ? {} : { minChange }),
      ...(feeFromOutput === undefined ? {} : { feeFromOutput }),
    });
  }

  /**
   * A payment or dex fee, unsigned. Its id is a message to the other side, so it has to do: it keeps change for a child that
   * can pay for it, or pays for the worst case at once, as far as the balance goes.
   */
  buildForSwap(unspents: SortedUnspents, outputs: readonly TxOutput[], at: Stage | FeeRate): Result<BuiltTx, BuildError> {
    const { rates } = this.#deps;
    const value = outputs[0]?.value ?? 0n;
    const minChange = rates.minChange(value);
    const plain = this.build(unspents, outputs, rates.paymentRate(value, at), { minChange });
    if (minChange === 0n || !plain.ok || plain.value.change >= minChange) return plain;
    const paidUp = this.build(unspents, outputs, rates.upFrontRate(value, at));
    return paidUp.ok ? paidUp : plain;
  }

  /** Takes outputs, signs, and locks them at once. */
  takeAndSign(outputs: readonly TxOutput[], reservation: Reservation | null): Result<OwnSignedTx, FundsError> {
    return this.#signTaken(outputs, reservation, this.#deps.ledger().take(outputs, reservation?.id ?? null));
  }

  /** The same for a dex fee, from few outputs of the bare key where that can be: makers verify no more of their signatures. */
  payFee(outputs: readonly TxOutput[], reservation: Reservation | null): Result<OwnSignedTx, FundsError> {
    const bare = p2pkScript(this.#deps.wallet.key.publicKey);
    const fewBare = (all: SortedUnspents): SortedUnspents => {
      const few = largestUnspents(
        filterUnspents(all, ({ script }) => equalBytes(script, bare)),
        FEW_BARE_INPUTS,
      );
      return filterUnspents(all, (u) => !equalBytes(u.script, bare) || few.includes(u));
    };
    const built = this.#deps.ledger().take(outputs, reservation?.id ?? null, fewBare);
    return built.ok ? this.#signTaken(outputs, reservation, built) : this.takeAndSign(outputs, reservation);
  }

  #signTaken(
    outputs: readonly TxOutput[],
    reservation: Reservation | null,
    built: Result<BuiltTx, BuildError>,
  ): Result<OwnSignedTx, FundsError> {
    const { kind } = this.#deps.spec;
    const amount = outputs.reduce((n, o) => n + o.value, 0n);
    if (!built.ok) return err(buildErrorToFunds(kind.ticker, kind.decimals, amount, built.error));
    const tx = this.sign(built.value.tx, built.value.spent);
    this.#deps.ledger().lock(tx, reservation ? { holdId: reservation.id, amount } : undefined);
    return ok(signedTx(tx, built.value.fee));
  }

  sign(tx: Tx, spent: readonly Unspent[]): Tx {
    return signInputs(tx, spent, this.#deps.wallet.key, this.#deps.spec.kind.scheme);
  }

  claim(args: {
    readonly contract: Contract;
    readonly payment: Uint8Array;
    readonly secret: Uint8Array;
    readonly fee?: bigint;
  }): Result<OwnSignedTx, FundsError> {
    const secret = new Secret(args.secret);
    // A lock time binds no claim, and on Komodo it would make it too old for any block an hour later.
    const lockTime = this.#deps.spec.kind.paysInterest ? 0 : this.#spendLockTime(args.contract);
    return this.#spendContract(args, lockTime, (spend) => buildHtlcClaim(spend, secret, this.#deps.wallet.key));
  }

  refund(args: { readonly contract: Contract; readonly payment: Uint8Array; readonly fee?: bigint }): Result<OwnSignedTx, FundsError> {
    return this.#spendContract(args, this.#spendLockTime(args.contract), (spend) => buildHtlcRefund(spend, this.#deps.wallet.key));
  }

  #spendLockTime({ lock }: Contract): number {
    const { chain, spec } = this.#deps;
    const { paysInterest } = spec.kind;
    const { state, tip } = chain.status();
    // Komodo's blocks take none whose lock time is an hour before theirs: a backend that catches up shows an old time, and the clock decides alone.
    const isBehind = paysInterest && state !== "ready";
    const medianTimePastSec = isBehind ? Number.POSITIVE_INFINITY : (tip?.medianTimePastSec ?? 0);
    return htlcLockTime(lock, { medianTimePastSec, nowSec: this.#nowSec() }, paysInterest);
  }

  #spendContract(
    args: { readonly contract: Contract; readonly payment: Uint8Array; readonly fee?: bigint },
    lockTime: number,
    build: (spend: HtlcSpend) => Result<Tx, HtlcSpendError>,
  ): Result<OwnSignedTx, FundsError> {
    const { kind } = this.#deps.spec;
    const { contract } = args;
    const paid = this.parse(args.payment);
    const output = paid.outputs[HTLC_VOUT];
    if (!output) return this.#internal("the payment has no output");
    const most = output.value - kind.dust;
    const wanted = args.fee ?? htlcSpendFee(this.#deps.rates.rate(null));
    // What is asked for beyond what the contract can pay is cut; a fee nobody named must fit.
    const fee = args.fee !== undefined && wanted > most ? most : wanted;
    if (fee < 0n) return this.#internal(`the contract holds ${output.value} units, less than dust`);
    const built = build({
      template: kind.template,
      scheme: kind.scheme,
      payment: { txid: txid(paid), vout: HTLC_VOUT, value: output.value },
      terms: contract,
      outputScript: this.#changeScript(),
      fee,
      lockTime,
      replaceable: kind.relayPolicy === "replace",
      dust: kind.dust,
    });
    if (!built.ok) return this.#internal(`the contract holds ${output.value} units, too few for the miner fee`);
    return ok(signedTx(built.value, fee));
  }

  /** Whether no mempool takes it any more, as the chain's time is: its lock time is too old for a coin with interest. */
  hasAged(raw: Uint8Array): boolean {
    const { chain, spec } = this.#deps;
    const { state, tip } = chain.status();
    return spec.kind.paysInterest && state === "ready" && tip !== null && isAgedForMempool(this.parse(raw).lockTime, tip.medianTimePastSec);
  }

  /** Whether it spends what will never be there: an output of an own transaction that no block takes any more. */
  restsOnAged(raw: Uint8Array): boolean {
    const { own } = this.#deps.ledger();
    return this.parse(raw).inputs.some((i) => own.aged(i.txid) !== null);
  }

  /** Whether not one output is there that it, or what it has in the place of what never will be, spends. */
  restsOnNothing(raw: Uint8Array): boolean {
    return this.#known(this.parse(raw)).length === 0;
  }

  #known({ inputs }: Tx): readonly TxInput[] {
    const { own } = this.#deps.ledger();
    return this.#standing(inputs).filter((i) => own.stands(i));
  }

  /** Inputs that may be there, each once: in the place of what never will be, what the own transactions spent that no block takes any more. */
  #standing(inputs: readonly TxInput[], depth = MAX_CLUSTER): readonly TxInput[] {
    const { own } = this.#deps.ledger();
    const standing = new Map<string, TxInput>();
    for (const input of inputs) {
      const parent = depth === 0 ? null : own.aged(input.txid);
      for (const i of parent ? this.#standing(parent.inputs, depth - 1) : [input]) standing.set(`${i.txid}:${i.vout}`, i);
    }
    return [...standing.values()];
  }

  /** Base units a transaction pays for itself; null when an input is not known. */
  feeOf(raw: Uint8Array): bigint | null {
    const tx = this.parse(raw);
    const spent = tx.inputs.map((i) => this.#deps.ledger().own.source(i));
    return spent.every((u) => u !== undefined) ? sumOf(spent) - sumOf(tx.outputs) : null;
  }

  /**
   * A spend of the inputs of an own payment back to ourselves. It offers more than the payment and all that was added for it
   * together, as a replacement must (BIP-125 rules 3 and 4) and a miner who has both would; but never what a daemon takes for a
   * mistake, because such a one would be refused for good: less gets in once the payment has left the mempools. Where a reorganisation left
   * nothing of some input, the others do: one that is spent elsewhere is enough. So is one of an own transaction the payment is built on, where no
   * block takes that any more.
   */
  cancel(payment: Uint8Array, { paid: stored = 0n, childFees = 0n, least = 0n }: CancelFees): Result<OwnSignedTx, FundsError> {
    const { kind } = this.#deps.spec;
    const paid = this.parse(payment);
    const { own } = this.#deps.ledger();
    const known = this.#known(paid);
    const spent = known.flatMap((i) => own.source(i) ?? []);
    if (known.length === 0) return this.#internal("no input of the payment is known any more");
    const total = sumOf(spent);
    const isWhole = known.length === paid.inputs.length && paid.inputs.every((i) => known.includes(i));
    const paidFee = isWhole ? total - sumOf(paid.outputs) : stored;
    const oldFee = paidFee + childFees;
    const enough = oldFee + BigInt(payment.length);
    const most = total - kind.dust;
    if (most < enough) return this.#internal(`the inputs hold ${total} units, too few for a fee of ${enough}`);
    const wanted = oldFee * CANCEL_FEE_FACTOR + BigInt(payment.length);
    const offered = wanted > least ? wanted : least;
    // Its size is below that of the payment, which has more outputs; daemons refuse what looks like a mistake.
    const sane = (absurdFee({ relayPerKb: this.#deps.chain.relayFeePerKb(), size: payment.length }) * 3n) / 5n;
    const asked = offered > sane ? sane : offered;
    const fee = asked < most ? asked : most;
    const inputs = known.map((i) => ({ ...i, scriptSig: new Uint8Array(0), witness: [], sequence: SEQUENCE_FINAL }));
    const outputs = [{ value: total - fee, script: this.#changeScript() }];
    // Komodo's blocks take none whose lock time is an hour before theirs (`komodo_validate_interest`), and this one waits until mempools have let the
    // payment go, and is not signed anew for that: one that names no time does not age.
    const lockTime = kind.paysInterest ? 0 : currentLockTime(this.#nowSec(), false);
    return ok(signedTx(this.sign(draftTx(kind.template, { inputs, outputs, lockTime }), spent), fee));
  }

  /**
   * A spend of the largest own output of an own transaction back to ourselves, at a fee that pays for the parent too; its
   * input is taken. Replaceable where replacements are relayed.
   * @param fee base units; cut to what the output can pay
   */
  child(parent: Uint8Array, fee: bigint): Result<OwnSignedTx, FundsError> {
    const { kind } = this.#deps.spec;
    const tx = this.parse(parent);
    const id = txid(tx);
    const isOwn = (script: Uint8Array): boolean => this.#deps.wallet.scripts.some((s) => equalBytes(s, script));
    const own = tx.outputs.flatMap((o, vout) => (isOwn(o.script) ? [{ txid: id, vout, ...o }] : []));
    const spent = own.toSorted((a, b) => (a.value < b.value ? 1 : a.value > b.value ? -1 : a.vout - b.vout))[0];
    if (!spent) return this.#internal("the transaction has no output of ours that a child could spend");
    const most = spent.value - kind.dust;
    if (most <= 0n) return this.#internal(`the change of ${spent.value} units is too small to pay for its transaction`);
    const paid = fee < most ? fee : most;
    const sequence = kind.relayPolicy === "replace" ? SEQUENCE_REPLACEABLE : SEQUENCE_FINAL;
    const inputs = [{ txid: spent.txid, vout: spent.vout, scriptSig: new Uint8Array(0), witness: [], sequence }];
    const outputs = [{ value: spent.value - paid, script: this.#changeScript() }];
    const signed = this.sign(draftTx(kind.template, { inputs, outputs, lockTime: 0 }), [spent]);
    const ledger = this.#deps.ledger();
    ledger.lock(signed);
    // It may be replaced: what it pays back counts once the chain lists it.
    ledger.dropChange(signed);
    return ok(signedTx(signed, paid));
  }

  /** Parses bytes this node signed, or that passed a check, before they were stored. */
  parse(raw: Uint8Array): Tx {
    const known = this.#parsed.get(raw);
    if (known) return known;
    const { kind } = this.#deps.spec;
    const tx = parseTx(raw, kind.template.format);
    if (!tx.ok) throw new Error(`${kind.ticker}: a stored transaction does not parse: ${tx.error.detail}`);
    this.#parsed.set(raw, tx.value);
    return tx.value;
  }

  #changeScript(): Uint8Array {
    const script = this.#deps.wallet.scripts[0];
    if (!script) throw new Error(`${this.#deps.spec.kind.ticker}: a wallet has at least one script`);
    return script;
  }
  #nowSec(): number {
    return Math.floor(this.#deps.clock.nowMs() / 1_000);
  }
  #internal(message: string): Result<never, FundsError> {
    return err({ kind: "Internal", coin: this.#deps.spec.kind.ticker, message });
  }
}

const signedTx = (tx: Tx, fee: bigint): OwnSignedTx => ({ txid: txid(tx), raw: serializeTx(tx), fee });
const sumOf = (items: readonly { readonly value: bigint }[]): bigint => items.reduce((n, u) => n + u.value, 0n);
