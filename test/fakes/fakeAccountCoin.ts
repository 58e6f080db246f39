import type { FeeFunds, FeeStage, FundsError, NotSufficientBalance, Reservation, Unfunded } from "../../src/app/tradingCoin.ts";
import { add, decimal, isPositive, lt, mul, type Rational, rational, sub, ZERO } from "../../src/core/money/rational.ts";
import { err, ok, type Result } from "../../src/core/util/result.ts";
import { FakeTradingCoin } from "./fakeTradingCoin.ts";

/** What each transaction of such a coin costs, whole coins of the one that pays: all different, so that a sum tells its parts. */
export const GAS = {
  payment: decimal("0.003"),
  dexFee: decimal("0.0007"),
  refund: decimal("0.002"),
  claim: decimal("0.0011"),
} as const;

/**
 * A coin of an account chain with a number for a balance. `platform`: the coin that pays for a token; without it the coin pays for
 * itself. Fees of both are locked on the platform coin.
 */
export class FakeAccountCoin extends FakeTradingCoin {
  override readonly spendsFrom = "account";
  override readonly dust = ZERO;
  override minTradingVol = decimal("0.00000001");
  override least = decimal("0.00000001");
  readonly platform: FakeAccountCoin | null;
  /** How many times today's fees are held. */
  ceiling = 1;
  readonly #feeHolds = new Map<string, Reservation>();

  constructor(ticker: string, balance: string, platform: FakeAccountCoin | null = null) {
    super(ticker, { balance, protocolInfo: new Uint8Array() });
    this.platform = platform;
    platform?.onBalanceChange(() => this.notify());
  }

  override get feeTicker(): string {
    return this.platform?.ticker ?? this.ticker;
  }
  override acceptsProtocolInfo(): boolean {
    return true;
  }
  override feeFunds(): FeeFunds {
    return this.platform ? this.platform.feeFunds() : super.feeFunds();
  }
  #at(stage: FeeStage, fee: Rational): Rational {
    return stage === "order" ? mul(fee, rational(BigInt(this.ceiling))) : fee;
  }
  override paymentFee(_volume: Rational, stage: FeeStage): Result<Rational, Unfunded> {
    return ok(this.#at(stage, GAS.payment));
  }
  override dexFeeTxFee(_amount: Rational, stage: FeeStage): Result<Rational, Unfunded> {
    return ok(this.#at(stage, GAS.dexFee));
  }
  override spendFee(stage: FeeStage): Rational {
    return this.#at(stage, GAS.claim);
  }
  override refundFee(stage: FeeStage): Rational {
    return this.#at(stage, GAS.refund);
  }
  override maxPayment(
    stage: FeeStage,
    without: readonly Reservation[] = [],
  ): Result<{ volume: Rational; fee: Rational }, NotSufficientBalance> {
    const fee = this.#at(stage, GAS.payment);
    const available = this.freeWithout(without);
    const volume = this.platform ? available : sub(available, fee);
    if (isPositive(volume)) return ok({ volume, fee });
    const required = this.platform ? ZERO : fee;
    return err({ kind: "NotSufficientBalance", coin: this.ticker, available, required, lockedBySwaps: this.locked() });
  }
  override reserve(amounts: readonly Rational[]): Result<Reservation, FundsError> {
    const fees = this.#at("order", [GAS.payment, GAS.refund, ...amounts.slice(1).map(() => GAS.dexFee)].reduce(add));
    const total = amounts.reduce(add, ZERO);
    if (!this.platform) return this.#take(add(total, fees), "NotSufficientBalance");
    const own = this.#take(total, "NotSufficientBalance");
    const paid = own.ok ? this.platform.#take(fees, "NotSufficientBaseCoinBalance") : own;
    if (own.ok && !paid.ok) this.release(own.value);
    if (own.ok && paid.ok) this.#feeHolds.set(own.value.id, paid.value);
    return paid.ok ? own : paid;
  }
  override reserveClaim(): Result<Reservation | null, FundsError> {
    const fee = this.#at("order", GAS.claim);
    if (!this.platform) return this.#take(fee, "NotSufficientBalance");
    const paid = this.platform.#take(fee, "NotSufficientBaseCoinBalance");
    if (!paid.ok) return paid;
    const own = this.lock(ZERO);
    this.#feeHolds.set(own.id, paid.value);
    return ok(own);
  }
  override release(reservation: Reservation): void {
    const fees = this.#feeHolds.get(reservation.id);
    this.#feeHolds.delete(reservation.id);
    if (fees) this.platform?.release(fees);
    super.release(reservation);
  }
  #take(required: Rational, kind: "NotSufficientBalance" | "NotSufficientBaseCoinBalance"): Result<Reservation, FundsError> {
    if (this.trouble) return err(this.trouble);
    const [available, lockedBySwaps] = [sub(this.spendable(), this.locked()), this.locked()];
    return lt(available, required) ? err({ kind, coin: this.ticker, available, required, lockedBySwaps }) : ok(this.lock(required));
  }
}
