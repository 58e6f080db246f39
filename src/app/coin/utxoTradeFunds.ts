import { encodeProtocolInfo, suitsUtxoCoin } from "../../core/message/protocolInfo.ts";
import { cmp, fromUnits, type Rational, sub, toUnits, ZERO } from "../../core/money/rational.ts";
import { hexOf } from "../../core/util/bytes.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import { type BuildError, type BuiltTx, worthSpending } from "../../core/utxo/buildTx.ts";
import { type FeeRate, feeForSize, htlcSpendFee } from "../../core/utxo/feeRate.ts";
import { opReturnScript, p2shScript } from "../../core/utxo/outputScript.ts";
import type { SortedUnspents } from "../../core/utxo/sortedUnspents.ts";
import { feeOutputs } from "../../core/utxo/swapTx.ts";
import type { TxOutput } from "../../core/utxo/tx.ts";
import type { UtxoChainWithHistory } from "../../ports/chain.ts";
import type { Clock } from "../../ports/clock.ts";
import type { FeeFunds, FundsError, NotSufficientBalance, Outage, Reservation, TradingCoin, Unfunded } from "../tradingCoin.ts";
import { buildErrorToFunds, raisedRate, type Stage } from "./coinFees.ts";
import { CoinRates } from "./coinRates.ts";
import { type CoinSpec, type CoinWallet, ownAddressFormat } from "./coinSpec.ts";
import { lookAgain } from "./lookAgain.ts";
import { OwnTxBuilder } from "./ownTxBuilder.ts";
import { type AskedHold, UtxoLedger } from "./utxoLedger.ts";

/** KDF counts a possible change output when it computes a maximum (reference rpc.md 9.4). */
const CHANGE_OUTPUT_BYTES = 34;

/** Transactions by which a side pays for a swap, at most. */
const TRADE_TXS = 2;

/** What orders need of a coin of the UTXO family: its funds, what is promised of them, and what its transactions cost. */
export class UtxoTradeFunds implements TradingCoin {
  /** A claim or refund is paid out of what it spends. */
  readonly spendsFrom = "contract";
  readonly chain: UtxoChainWithHistory;
  readonly spec: CoinSpec;
  readonly wallet: CoinWallet;
  readonly ledger: UtxoLedger;
  protected readonly clock: Clock;
  protected readonly rates: CoinRates;
  protected readonly builder: OwnTxBuilder;
  readonly #listeners = new Set<() => void>();
  readonly #offChain: () => void;
  #settings: { confirmations: number; notarization: boolean };

  constructor(spec: CoinSpec, wallet: CoinWallet, chain: UtxoChainWithHistory, clock: Clock) {
    this.spec = spec;
    this.wallet = wallet;
    this.chain = chain;
    this.clock = clock;
    this.rates = new CoinRates(spec, chain, clock);
    this.builder = new OwnTxBuilder({ spec, wallet, chain, clock, rates: this.rates, ledger: () => this.ledger });
    this.#settings = { confirmations: spec.confirmations, notarization: spec.notarization };
    this.ledger = new UtxoLedger({
      chain,
      clock,
      format: spec.kind.template.format,
      scheme: spec.kind.scheme,
      publicKey: wallet.key.publicKey,
      scripts: wallet.scripts,
      matureConfs: spec.kind.matureConfirmations,
      paysInterest: spec.kind.paysInterest,
      beside: wallet.beside ?? (() => []),
      rate: () => this.rate("start"),
      ceilingFactor: spec.feeCeilingFactor,
      dust: spec.kind.dust,
      build: (unspents, outputs, rate, insured) =>
        insured ? this.builder.buildForSwap(unspents, outputs, rate) : this.builder.build(unspents, outputs, rate),
      sample: (value) => samplePayment(value),
      onChange: () => this.#changed(),
    });
    const own = wallet.scripts.map(hexOf);
    this.#offChain = chain.onChange(({ all, keys }) => {
      if (all || own.some((script) => keys.has(script))) this.#changed();
    });
  }

  /** Fetches the first fee estimate and keeps it fresh. */
  open(signal?: AbortSignal): Promise<void> {
    return this.rates.open(signal);
  }

  async close(): Promise<void> {
    this.rates.close();
    this.#offChain();
    await this.chain.close();
  }

  get ticker(): string {
    return this.spec.kind.ticker;
  }
  get feeTicker(): string {
    return this.ticker;
  }
  get orderbookTicker(): string | null {
    return this.spec.orderbookTicker;
  }
  get decimals(): number {
    return this.spec.kind.decimals;
  }
  get walletOnly(): boolean {
    return this.spec.walletOnly;
  }
  get address(): string {
    return this.wallet.address;
  }
  get htlcPubkey(): Uint8Array {
    return this.wallet.key.publicKey;
  }
  get protocolInfo(): Uint8Array {
    return encodeProtocolInfo(ownAddressFormat(this.spec.kind));
  }
  get settings(): { readonly confirmations: number; readonly notarization: boolean } {
    return this.#settings;
  }
  get dust(): Rational {
    return this.whole(this.spec.kind.dust);
  }
  get dustUnits(): bigint {
    return this.spec.kind.dust;
  }
  get minTradingVol(): Rational {
    return this.whole(this.spec.kind.minTradingVol);
  }
  leastContract(): Rational {
    return this.whole(this.spec.kind.dust + htlcSpendFee(raisedRate(this.rate(null), this.spec.feeCeilingFactor)));
  }
  get matureConfirmations(): number {
    return this.spec.kind.matureConfirmations;
  }
  outage(): Outage | null {
    const { state, error } = this.chain.status();
    return state === "unreachable" ? { kind: "Transport", coin: this.ticker, message: error ?? "the backend does not answer" } : null;
  }
  isCounting(): boolean {
    const { state } = this.chain.status();
    return state === "syncing" || state === "starting" || this.wallet.scripts.some((script) => this.chain.crowded?.(script) === "reading");
  }
  async reach(signal?: AbortSignal): Promise<Outage | null> {
    if (this.outage()) await lookAgain(this.clock, this.chain, signal);
    return this.outage();
  }
  acceptsProtocolInfo(info: Uint8Array | undefined): boolean {
    return suitsUtxoCoin(info, ownAddressFormat(this.spec.kind));
  }
  setRequiredConfirmations(confirmations: number): void {
    this.#settings = { ...this.#settings, confirmations };
  }
  setRequiresNotarization(notarization: boolean): void {
    this.#settings = { ...this.#settings, notarization };
  }

  /** The miner fee rate; `stage` null: without margin, as claims and refunds use it. */
  rate(stage: Stage | null): FeeRate {
    return this.rates.rate(stage);
  }

  spendable(): Rational {
    return this.whole(sumOf(this.ledger.spendable()));
  }
  unspendable(): Rational {
    return this.whole(this.ledger.own.unspendable());
  }
  waitingChange(): Rational {
    return this.whole(this.ledger.own.waitingChange());
  }
  locked(): Rational {
    return this.whole(this.ledger.held());
  }

  feeFunds(): FeeFunds {
    const locked = this.locked();
    return { available: sub(this.spendable(), locked), locked };
  }
  paymentFee(volume: Rational, stage: Stage): Result<Rational, Unfunded> {
    return this.#feeOf(samplePayment(toUnits(volume, this.decimals)), stage);
  }
  dexFeeTxFee(amount: Rational, stage: Stage): Result<Rational, Unfunded> {
    return this.#feeOf(feeOutputs({ feeKey: this.htlcPubkey, fee: toUnits(amount, this.decimals), burn: 0n }), stage);
  }
  spendFee(): Rational {
    return this.whole(htlcSpendFee(this.rate(null)));
  }
  refundFee(): Rational {
    return ZERO;
  }

  maxPayment(
    stage: Stage,
    without: readonly Reservation[] = [],
  ): Result<{ readonly volume: Rational; readonly fee: Rational }, NotSufficientBalance> {
    const leftOut = new Set(without.map(({ id }) => id));
    const spendable = this.ledger.spendable();
    const rate = this.rates.paymentRate(sumOf(spendable), stage);
    const free = worthSpending(spendable, rate);
    const total = sumOf(free);
    const available = total - this.ledger.held(leftOut);
    const built = available > 0n ? this.#largestPayment(free, rate) : null;
    // An order is served in as many payments as it takes; anything else is one.
    const payments = built?.ok && stage === "order" ? BigInt(Math.ceil(free.length / built.value.spent.length)) : 1n;
    const payable = built?.ok && payments === 1n ? sumOf(built.value.spent) : available;
    const fee = ((built?.ok ? built.value.fee : 0n) + feeForSize(rate, CHANGE_OUTPUT_BYTES)) * payments;
    const most = (payable < available ? payable : available) - fee;
    // A taker pays twice, the dex fee and the payment; beside other promises both must fit in any order.
    const room = this.ledger.roomFor(TRADE_TXS, leftOut);
    const volume = room !== null && room < most ? room : most;
    if (!built?.ok || volume < this.spec.kind.dust) {
      const required = this.whole(this.spec.kind.dust + fee);
      return err({
        kind: "NotSufficientBalance",
        coin: this.ticker,
        available: this.whole(available > 0n ? available : 0n),
        required,
        lockedBySwaps: this.locked(),
      });
    }
    return ok({ volume: this.whole(volume), fee: this.whole(fee) });
  }

  /** A payment of all these outputs, or of the largest ones where they are more than fit into a transaction. */
  #largestPayment(free: SortedUnspents, rate: FeeRate): Result<BuiltTx, BuildError> {
    const pay = (units: bigint) => this.builder.build(free, samplePayment(units), rate, { feeFromOutput: 0 });
    const built = pay(sumOf(free));
    return !built.ok && built.error.kind === "TooManyInputs" ? pay(built.error.available) : built;
  }

  reserve(amounts: readonly Rational[], ttlMs: number): Result<Reservation, FundsError> {
    return this.#hold(
      amounts.map((a) => toUnits(a, this.decimals)),
      ttlMs,
    );
  }
  hasRoom(amount: Rational, more: number): boolean {
    return this.ledger.hasRoom(toUnits(amount, this.decimals), more);
  }
  reserveClaim(): Result<null, never> {
    return ok(null);
  }
  reserveClaimAgain(): Result<null, never> {
    return ok(null);
  }
  reserveAgain(asked: readonly AskedHold[]): readonly Result<Reservation, FundsError>[] {
    return this.ledger.holdEach(asked).map((held, i) => this.#reservation(held, asked[i]?.amounts ?? []));
  }
  release(reservation: Reservation): void {
    this.ledger.promises.release(reservation.id);
  }
  onBalanceChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #feeOf(outputs: readonly TxOutput[], stage: Stage): Result<Rational, Unfunded> {
    const built = this.ledger.estimate((unspents) => this.builder.buildForSwap(unspents, outputs, stage));
    if (built.ok) return ok(this.whole(built.value.fee));
    return err(
      buildErrorToFunds(
        this.ticker,
        this.decimals,
        outputs.reduce((n, o) => n + o.value, 0n),
        built.error,
      ),
    );
  }

  #hold(amounts: readonly bigint[], ttlMs: number | null): Result<Reservation, FundsError> {
    return this.#reservation(this.ledger.hold(amounts, ttlMs), amounts);
  }

  #reservation(held: Result<string, BuildError>, amounts: readonly bigint[]): Result<Reservation, FundsError> {
    if (held.ok) return ok({ id: held.value });
    const available = sub(this.spendable(), this.locked());
    const required = this.whole(amounts.reduce((n, a) => n + a, 0n));
    return err({
      kind: "NotSufficientBalance",
      coin: this.ticker,
      available: cmp(available, ZERO) > 0 ? available : ZERO,
      required,
      lockedBySwaps: this.locked(),
    });
  }

  protected whole(units: bigint): Rational {
    return fromUnits(units, this.decimals);
  }
  #changed(): void {
    for (const l of this.#listeners) l();
  }
}

const sumOf = (items: readonly { readonly value: bigint }[]): bigint => items.reduce((n, u) => n + u.value, 0n);

/** Outputs of a payment's size and form, for estimates: a P2SH and the hash. */
function samplePayment(value: bigint): readonly TxOutput[] {
  return [
    { value, script: p2shScript(new Uint8Array(20)) },
    { value: 0n, script: opReturnScript(new Uint8Array(20)) },
  ];
}
