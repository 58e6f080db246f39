import type { FeeFunds, NotSufficientBalance } from "../../../src/app/tradingCoin.ts";
import { decimal, isPositive, type Rational, sub, ZERO } from "../../../src/core/money/rational.ts";
import { err, ok, type Result } from "../../../src/core/util/result.ts";
import { GAS } from "../fakeAccountCoin.ts";
import { FakeRpcCoin } from "./fakeRpcCoin.ts";

/** A token behind the RPC, of a platform coin ETH that is not enabled and has `gas` for fees. */
export class FakeRpcToken extends FakeRpcCoin {
  override readonly spendsFrom = "account";
  override readonly dust = ZERO;
  override minTradingVol = decimal("0.00000001");
  gas: Rational = decimal("1");

  constructor(ticker: string) {
    super(ticker, { balance: "200" });
  }
  override get feeTicker(): string {
    return "ETH";
  }
  override feeFunds(): FeeFunds {
    return { available: this.gas, locked: ZERO };
  }
  override paymentFee(): Result<Rational, never> {
    return ok(GAS.payment);
  }
  override dexFeeTxFee(): Result<Rational, never> {
    return ok(GAS.dexFee);
  }
  override spendFee(): Rational {
    return GAS.claim;
  }
  override refundFee(): Rational {
    return GAS.refund;
  }
  override maxPayment(): Result<{ volume: Rational; fee: Rational }, NotSufficientBalance> {
    const volume = sub(this.spendable(), this.locked());
    if (isPositive(volume)) return ok({ volume, fee: GAS.payment });
    return err({ kind: "NotSufficientBalance", coin: this.ticker, available: volume, required: ZERO, lockedBySwaps: this.locked() });
  }
}
