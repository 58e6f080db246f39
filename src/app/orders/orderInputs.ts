import type { ConfSettings, MatchBy, TakerAction } from "../../core/message/types.ts";
import type { Rational } from "../../core/money/rational.ts";
import type { OrderType } from "../../core/order/takerOrder.ts";
import type { TradingCoin } from "../tradingCoin.ts";

/** What an order's author says about confirmations; what is left out comes from the coins' settings. */
export type ConfWishes = {
  readonly baseConfs?: number | undefined;
  readonly baseNota?: boolean | undefined;
  readonly relConfs?: number | undefined;
  readonly relNota?: boolean | undefined;
};

/** `buy` and `sell`. Price in rel per base, volumes in whole base coins. */
export type TakerOrderInput = {
  readonly action: TakerAction;
  readonly base: string;
  readonly rel: string;
  readonly price: Rational;
  readonly volume: Rational;
  readonly minVolume?: Rational | undefined;
  /** Default Any. */
  readonly matchBy?: MatchBy | undefined;
  /** Default GoodTillCancelled. */
  readonly orderType?: OrderType | undefined;
  readonly conf?: ConfWishes | undefined;
  /** Default 30. */
  readonly timeoutSec?: number | undefined;
  /** Default true. */
  readonly saveInHistory?: boolean | undefined;
};

/** `setprice`. Price in rel per base, volumes in whole base coins. */
export type MakerOrderInput = {
  readonly base: string;
  readonly rel: string;
  readonly price: Rational;
  /** `"max"`: everything, less a reserve. */
  readonly volume: Rational | "max";
  /** With `"max"`: keep back the fee alone, as KDF does, and not 0.001 coins at least. Default false. */
  readonly feeReserveOnly?: boolean | undefined;
  readonly minVolume?: Rational | undefined;
  /** Default true: own maker orders of exactly this base and rel end when the new one is placed. */
  readonly cancelPrevious?: boolean | undefined;
  readonly conf?: ConfWishes | undefined;
  readonly timeoutMinutes?: number | null | undefined;
  /** Default true. */
  readonly saveInHistory?: boolean | undefined;
};

/** `update_maker_order`. What is left out stays. */
export type MakerOrderUpdate = {
  readonly uuid: string;
  readonly price?: Rational | undefined;
  /** Added to everything the order may sell, base coins; `"max"`: sell everything, less a reserve. */
  readonly volumeDelta?: Rational | "max" | undefined;
  /** With `"max"`: as for `setprice`. */
  readonly feeReserveOnly?: boolean | undefined;
  readonly minVolume?: Rational | undefined;
  readonly conf?: ConfWishes | undefined;
};

export function confSettings(wishes: ConfWishes | undefined, base: TradingCoin, rel: TradingCoin): ConfSettings {
  return {
    baseConfs: wishes?.baseConfs ?? base.settings.confirmations,
    baseNota: wishes?.baseNota ?? base.settings.notarization,
    relConfs: wishes?.relConfs ?? rel.settings.confirmations,
    relNota: wishes?.relNota ?? rel.settings.notarization,
  };
}

/** Lists in lower case, as on the wire, and without repeats, as KDF's sets are; the order given is kept. */
export const distinctMatchBy = (m: MatchBy): MatchBy =>
  m.type === "Any" ? m : { type: m.type, data: [...new Set(m.data.map((entry) => entry.toLowerCase()))] };
