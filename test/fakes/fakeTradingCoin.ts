import type {
  FeeFunds,
  FeeStage,
  FundsError,
  NotSufficientBalance,
  Outage,
  Reservation,
  TradingCoin,
  Unfunded,
} from "../../src/app/tradingCoin.ts";
import { add, decimal, isPositive, lt, type Rational, sub, ZERO } from "../../src/core/money/rational.ts";
import { err, ok, type Result } from "../../src/core/util/result.ts";

type Options = {
  readonly balance?: string;
  readonly orderbookTicker?: string;
  readonly walletOnly?: boolean;
  readonly confirmations?: number;
  readonly notarization?: boolean;
  /** Set it apart from other coins to have its protocol info refused elsewhere. */
  readonly protocolInfo?: Uint8Array;
};

/** A coin with a number for a balance. Every transaction costs `fee`. Locks are what was reserved and not released. */
export class FakeTradingCoin implements TradingCoin {
  readonly ticker: string;
  readonly spendsFrom: "contract" | "account" = "contract";
  readonly orderbookTicker: string | null;
  readonly decimals: number = 8;
  readonly walletOnly: boolean;
  readonly address: string;
  readonly htlcPubkey: Uint8Array = new Uint8Array(33).fill(2);
  readonly protocolInfo: Uint8Array;
  readonly settings: { confirmations: number; notarization: boolean };
  readonly dust: Rational = decimal("0.00001");
  minTradingVol = decimal("0.0001");
  readonly fee: Rational = decimal("0.0001");
  /** Least contract that pays for its claim at the fee ceiling. */
  least = ZERO;
  /** Set: the backend is away, or every reservation ends with this. */
  trouble: FundsError | null = null;
  /** Set: transactions of the own account wait that nothing here knows of. */
  hidden: string | null = null;
  /** False: its first scan goes on. */
  isScanned = true;
  /** Own change that waits for a block. */
  waiting = ZERO;
  /** Reservations that are possible at a time. */
  mostReservations = Number.POSITIVE_INFINITY;
  /** Set: the next look at the backend finds it answering again. */
  isBack = false;
  /** Set: a look at the backend takes until this resolves. */
  look: Promise<void> | null = null;
  #balance: Rational;
  #nextId = 1;
  readonly #locks = new Map<string, Rational>();
  readonly #listeners = new Set<() => void>();

  constructor(ticker: string, options: Options = {}) {
    this.ticker = ticker;
    this.address = `${ticker}-address`;
    this.orderbookTicker = options.orderbookTicker ?? null;
    this.walletOnly = options.walletOnly ?? false;
    this.protocolInfo = options.protocolInfo ?? new Uint8Array([0x91, 0xa8, ...new TextEncoder().encode("standard")]);
    this.settings = { confirmations: options.confirmations ?? 1, notarization: options.notarization ?? false };
    this.#balance = decimal(options.balance ?? "100");
  }

  get feeTicker(): string {
    return this.ticker;
  }
  feeFunds(): FeeFunds {
    return { available: sub(this.spendable(), this.locked()), locked: this.locked() };
  }
  outage(): Outage | null {
    return this.trouble?.kind === "Transport" ? this.trouble : null;
  }
  isCounting(): boolean {
    return !this.isScanned;
  }
  waitingChange(): Rational {
    return this.waiting;
  }
  unexplained(): string | null {
    return this.hidden;
  }
  async reach(): Promise<Outage | null> {
    await this.look;
    if (this.isBack) this.trouble = null;
    return this.outage();
  }
  acceptsProtocolInfo(info: Uint8Array | undefined): boolean {
    return info === undefined || (info.length === this.protocolInfo.length && info.every((b, i) => b === this.protocolInfo[i]));
  }
  leastContract(): Rational {
    return this.least;
  }
  setBalance(balance: string): void {
    this.#balance = decimal(balance);
    this.notify();
  }
  spendable(): Rational {
    return this.#balance;
  }
  locked(): Rational {
    return [...this.#locks.values()].reduce(add, ZERO);
  }
  protected freeWithout(without: readonly Reservation[]): Rational {
    return without.reduce((free, { id }) => add(free, this.#locks.get(id) ?? ZERO), sub(this.spendable(), this.locked()));
  }
  /** Reservations that nobody released. */
  get openReservations(): number {
    return this.#locks.size;
  }
  paymentFee(volume: Rational, _stage: FeeStage): Result<Rational, Unfunded> {
    if (lt(volume, this.dust)) return err({ kind: "VolumeTooLow", coin: this.ticker, volume, threshold: this.dust });
    const required = add(volume, this.fee);
    if (!lt(this.#balance, required)) return ok(this.fee);
    return err({ kind: "NotSufficientBalance", coin: this.ticker, available: this.#balance, required, lockedBySwaps: null });
  }
  maxPayment(_stage: FeeStage, without: readonly Reservation[] = []): Result<{ volume: Rational; fee: Rational }, NotSufficientBalance> {
    const available = this.freeWithout(without);
    const volume = sub(available, this.fee);
    if (isPositive(volume)) return ok({ volume, fee: this.fee });
    return err({ kind: "NotSufficientBalance", coin: this.ticker, available, required: this.fee, lockedBySwaps: this.locked() });
  }
  dexFeeTxFee(amount: Rational, stage: FeeStage): Result<Rational, Unfunded> {
    return this.paymentFee(amount, stage);
  }
  spendFee(_stage: FeeStage): Rational {
    return this.fee;
  }
  refundFee(_stage: FeeStage): Rational {
    return ZERO;
  }
  reserveClaim(): Result<Reservation | null, FundsError> {
    return ok(null);
  }
  reserve(amounts: readonly Rational[]): Result<Reservation, FundsError> {
    if (this.trouble) return err(this.trouble);
    const isFull = this.openReservations >= this.mostReservations;
    const required = amounts.reduce((sum, a) => add(add(sum, a), this.fee), ZERO);
    const available = sub(this.#balance, this.locked());
    if (isFull || lt(available, required)) {
      return err({ kind: "NotSufficientBalance", coin: this.ticker, available, required, lockedBySwaps: this.locked() });
    }
    return ok(this.lock(required));
  }
  hasRoom(amount: Rational, more: number): boolean {
    const isThere = !lt(sub(this.#balance, this.locked()), add(amount, this.fee));
    return isThere && this.openReservations + 1 + more <= this.mostReservations;
  }
  /** Takes `amount` out of circulation, asked or not. */
  protected lock(amount: Rational): Reservation {
    const id = `${this.ticker}-${this.#nextId++}`;
    this.#locks.set(id, amount);
    this.notify();
    return { id };
  }
  release(reservation: Reservation): void {
    if (this.#locks.delete(reservation.id)) this.notify();
  }
  onBalanceChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
  protected notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
