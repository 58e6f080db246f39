import type { FundsError, NotSufficientBalance, Outage, Reservation, TradingCoin, Unfunded } from "../../src/app/tradingCoin.ts";
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
  readonly orderbookTicker: string | null;
  readonly decimals = 8;
  readonly walletOnly: boolean;
  readonly address: string;
  readonly htlcPubkey: Uint8Array = new Uint8Array(33).fill(2);
  readonly protocolInfo: Uint8Array;
  readonly settings: { confirmations: number; notarization: boolean };
  readonly dust = decimal("0.00001");
  minTradingVol = decimal("0.0001");
  readonly fee = decimal("0.0001");
  /** Least contract that pays for its claim at the fee ceiling. */
  least = ZERO;
  /** Set: the backend is away, or every reservation ends with this. */
  trouble: FundsError | null = null;
  /** Set: the next look at the backend finds it answering again. */
  isBack = false;
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

  outage(): Outage | null {
    return this.trouble?.kind === "Transport" ? this.trouble : null;
  }
  async reach(): Promise<Outage | null> {
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
    this.#notify();
  }
  spendable(): Rational {
    return this.#balance;
  }
  locked(): Rational {
    return [...this.#locks.values()].reduce(add, ZERO);
  }
  /** Reservations that nobody released. */
  get openReservations(): number {
    return this.#locks.size;
  }
  paymentFee(volume: Rational): Result<Rational, Unfunded> {
    const required = add(volume, this.fee);
    if (!lt(this.#balance, required)) return ok(this.fee);
    return err({ kind: "NotSufficientBalance", coin: this.ticker, available: this.#balance, required, lockedBySwaps: null });
  }
  maxPayment(): Result<{ volume: Rational; fee: Rational }, NotSufficientBalance> {
    const available = sub(this.#balance, this.locked());
    const volume = sub(available, this.fee);
    if (isPositive(volume)) return ok({ volume, fee: this.fee });
    return err({ kind: "NotSufficientBalance", coin: this.ticker, available, required: this.fee, lockedBySwaps: this.locked() });
  }
  dexFeeTxFee(amount: Rational): Result<Rational, Unfunded> {
    return this.paymentFee(amount);
  }
  spendFee(): Rational {
    return this.fee;
  }
  reserve(amounts: readonly Rational[]): Result<Reservation, FundsError> {
    if (this.trouble) return err(this.trouble);
    const required = amounts.reduce((sum, a) => add(add(sum, a), this.fee), ZERO);
    const available = sub(this.#balance, this.locked());
    if (lt(available, required)) {
      return err({ kind: "NotSufficientBalance", coin: this.ticker, available, required, lockedBySwaps: this.locked() });
    }
    const id = `${this.ticker}-${this.#nextId++}`;
    this.#locks.set(id, required);
    this.#notify();
    return ok({ id });
  }
  release(reservation: Reservation): void {
    if (this.#locks.delete(reservation.id)) this.#notify();
  }
  onBalanceChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
