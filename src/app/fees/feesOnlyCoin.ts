import type { FeeCoin } from "../../core/coin/feeCoin.ts";
import { QRC20_BYTES, QRC20_CALL_GAS, QRC20_TRADE_GAS, QTUM_BYTES } from "../../core/coin/qrc20.ts";
import { add, fromUnits, type Rational, ZERO } from "../../core/money/rational.ts";
import { ok, type Result } from "../../core/util/result.ts";
import { feeForSize, HTLC_SPEND_BYTES } from "../../core/utxo/feeRate.ts";
import type { Outage, PricedCoin } from "../tradingCoin.ts";

/** Of the coins that pay: Qtum and its kin. */
const PAYER_DECIMALS = 8;

/**
 * A coin of which its entry alone is known, as figures of fees need it: its transactions have one input and change, those of a token the
 * calls and gas of reference swap-protocol.md 5.8, a payment with two approvals (interface document, Limits). There is no balance.
 */
export class FeesOnlyCoin implements PricedCoin {
  readonly #coin: FeeCoin;
  readonly #tradeGas: Rational;

  /** @param rules whose gas a payment has */
  constructor(coin: FeeCoin, rules: keyof typeof QRC20_TRADE_GAS) {
    this.#coin = coin;
    this.#tradeGas = QRC20_TRADE_GAS[rules];
  }

  get ticker(): string {
    return this.#coin.ticker;
  }
  get feeTicker(): string {
    return this.#coin.payer;
  }
  /** A token's claim and refund are calls, which the account pays for. */
  get spendsFrom(): "contract" | "account" {
    return this.#coin.isToken ? "account" : "contract";
  }
  get decimals(): number {
    return this.#coin.decimals;
  }
  get dust(): Rational {
    return this.#coin.dust;
  }
  get minTradingVol(): Rational {
    return this.#coin.minTradingVol;
  }
  /** Nothing is locked in a contract of it: only figures are asked for. */
  leastContract(): Rational {
    return ZERO;
  }
  outage(): null {
    return null;
  }
  /** Why there is no greatest volume. */
  noBalance(): Outage {
    return {
      kind: "Transport",
      coin: this.ticker,
      message: `${this.ticker} is enabled for questions about fees only: no balance of it is known`,
    };
  }
  paymentFee(): Result<Rational, never> {
    return ok(this.#coin.isToken ? this.#fee(QRC20_BYTES.payment, this.#tradeGas) : this.#fee(QTUM_BYTES.payment));
  }
  dexFeeTxFee(): Result<Rational, never> {
    return ok(this.#coin.isToken ? this.#fee(QRC20_BYTES.fee, QRC20_CALL_GAS) : this.#fee(QTUM_BYTES.fee));
  }
  spendFee(): Rational {
    return this.#coin.isToken ? this.#fee(QRC20_BYTES.spend, QRC20_CALL_GAS) : this.#fee(HTLC_SPEND_BYTES);
  }
  refundFee(): Rational {
    return this.#coin.isToken ? this.spendFee() : ZERO;
  }

  #fee(bytes: number, gas: Rational = ZERO): Rational {
    return add(fromUnits(feeForSize(this.#coin.feeRate, bytes), PAYER_DECIMALS), gas);
  }
}
