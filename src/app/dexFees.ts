import { add, max, type Rational, toUnits, ZERO } from "../core/money/rational.ts";
import { dexFee, feePubkey, isFeeExempt, type NoFeeKey, noFeeKeyText } from "../core/network/dexFee.ts";
import { type NetworkProfile, PROFILES } from "../core/network/networkProfile.ts";
import { textToRational } from "../core/swap/amountText.ts";
import type { SwapTerms } from "../core/swap/events.ts";
import type { DexFeeUnits } from "./swap/startTerms.ts";
import type { SwapCoin } from "./swap/swapCoin.ts";
import type { SwapMatch, TradingCoin } from "./tradingCoin.ts";

/** Whether a coin of the coins file has no value (`is_testnet`): only those may use the published test fee key. */
export type IsTestCoin = (ticker: string) => boolean;

/** The dex fee under this node's network profile (design D2). */
export class DexFees {
  readonly #profile: NetworkProfile;
  readonly #isTestCoin: IsTestCoin;

  constructor(profile: NetworkProfile, isTestCoin: IsTestCoin) {
    this.#profile = profile;
    this.#isTestCoin = isTestCoin;
  }

  /** Why this node must not trade with `takerCoin` as the taker's coin; null if it may. */
  noFeeKey(takerCoin: string): NoFeeKey | null {
    const key = feePubkey(this.#profile, takerCoin, this.#isTestCoin(takerCoin));
    return key.ok ? null : key.error;
  }

  /** All the taker pays beside its payment, whole coins, unrounded. */
  total(takerCoin: TradingCoin, makerTicker: string, takerAmount: Rational): Rational {
    if (isFeeExempt(this.#profile, takerCoin.htlcPubkey)) return ZERO;
    const { fee, burn } = dexFee(this.#profile, takerCoin.ticker, makerTicker, takerAmount, takerCoin.dust);
    return add(fee, burn);
  }

  /** The rule as `max_taker_vol` inverts it: the greater of `floor` and volume x `rate`. */
  rule(takerCoin: Pick<TradingCoin, "ticker" | "dust">, makerTicker: string): { readonly rate: Rational; readonly floor: Rational } {
    const { dexFeeDiscountTicker: discounted, dexFeeDiscountRate, dexFeeRate, dexFeeFloor } = this.#profile;
    const rate = discounted !== null && [takerCoin.ticker, makerTicker].includes(discounted) ? dexFeeDiscountRate : dexFeeRate;
    return { rate, floor: max(takerCoin.dust, dexFeeFloor) };
  }

  /** What this swap's fee transaction pays, cut to base units. Throws when the profile has no key: orders refuse before. */
  units(match: SwapMatch, takerCoin: SwapCoin): DexFeeUnits {
    const takerKey = match.role === "taker" ? takerCoin.htlcPubkey : match.counterparty;
    if (isFeeExempt(this.#profile, takerKey)) return { feeUnits: 0n, burnUnits: 0n, feePubkey: null };
    const key = feePubkey(this.#profile, takerCoin.ticker, this.#isTestCoin(takerCoin.ticker));
    if (!key.ok) throw new Error(noFeeKeyText(key.error));
    const { fee, burn } = dexFee(this.#profile, match.takerCoin, match.makerCoin, match.takerAmount, takerCoin.dust);
    return { feeUnits: toUnits(fee, takerCoin.decimals), burnUnits: toUnits(burn, takerCoin.decimals), feePubkey: key.value };
  }

  /** The known profile whose rule a fee transaction meets, whoever signed it; null if none does. */
  profileOf(terms: SwapTerms, raw: Uint8Array, takerCoin: SwapCoin): string | null {
    const amount = textToRational(terms.takerAmount);
    const fits = PROFILES.find((p) => {
      const key = feePubkey(p, takerCoin.ticker, this.#isTestCoin(takerCoin.ticker));
      if (!key.ok || p.name === this.#profile.name) return false;
      const { fee, burn } = dexFee(p, terms.takerCoin, terms.makerCoin, amount, takerCoin.dust);
      const expected = {
        takerKey: null,
        feeKey: key.value,
        feeUnits: toUnits(fee, takerCoin.decimals),
        burnUnits: toUnits(burn, takerCoin.decimals),
      };
      return takerCoin.checkDexFee(raw, expected).ok;
    });
    return fits?.name ?? null;
  }
}
