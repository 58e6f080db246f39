import type { ConfSettings, MakerReserved, MatchBy, TakerAction, TakerRequest } from "../message/types.ts";
import { div, type Rational } from "../money/rational.ts";
import { createMakerOrder, type MakerOrder } from "./makerOrder.ts";

/** Life of a taker order unless its request names another (reference rpc.md 6.1). */
export const DEFAULT_TAKER_TIMEOUT_SEC = 30;
/**
 * Longest wait for `connected`. The maker drops its side 30 s after it reserved, so nothing can come after that;
 * without this bound an order with a long `timeout` would hold its funds in vain.
 */
export const CONNECT_LIFE_MS = 60_000;

export type OrderType = "GoodTillCancelled" | "FillOrKill";

/** The one offer a taker order connected to. There is never a second: see `TakerOrder.match`. */
export type TakerMatch = {
  readonly reserved: MakerReserved;
  /** Envelope key of the maker, 66 hex. */
  readonly maker: string;
  readonly connectAtMs: number;
  readonly connectedAtMs: number | null;
};

/** A request for exactly `baseAmount`, worth at most (Buy) or at least (Sell) `relAmount`. Times unix ms. */
export type TakerOrder = {
  readonly uuid: string;
  readonly action: TakerAction;
  /** Tickers of own coins. */
  readonly base: string;
  readonly rel: string;
  readonly baseOrderbookTicker: string | null;
  readonly relOrderbookTicker: string | null;
  readonly baseAmount: Rational;
  readonly relAmount: Rational;
  readonly matchBy: MatchBy;
  readonly conf: ConfSettings;
  readonly orderType: OrderType;
  /** Base coins; used only after a conversion. */
  readonly minVolume: Rational;
  readonly createdAtMs: number;
  readonly timeoutSec: number;
  readonly saveInHistory: boolean;
  /**
   * Set when `connect` is sent. A silent maker may have started its swap all the same, and in the legacy protocol
   * messages carry no swap id beyond the topic: a second maker under the same uuid would let the first take our
   * swap messages as meant for it, and lock its coins. So the first choice is final.
   */
  readonly match: TakerMatch | null;
};

export type TakerEndReason = "Fulfilled" | "ToMaker" | "TimedOut" | "Cancelled";

/** Ticker the book and the wire know the request's base by. */
export const takerBaseTicker = (order: TakerOrder): string => order.baseOrderbookTicker ?? order.base;
export const takerRelTicker = (order: TakerOrder): string => order.relOrderbookTicker ?? order.rel;
/** Tickers of own coins by their part in the swap: a buyer's base is the maker's coin, a seller's is its own. */
export const makerCoinOf = (order: TakerOrder): string => (order.action === "Buy" ? order.base : order.rel);
export const takerCoinOf = (order: TakerOrder): string => (order.action === "Buy" ? order.rel : order.base);

/** The request as it is broadcast, without the protocol infos, which belong to the live coins. */
export function takerRequestOf(order: TakerOrder, infos: { readonly base: Uint8Array; readonly rel: Uint8Array }): TakerRequest {
  return {
    base: takerBaseTicker(order),
    rel: takerRelTicker(order),
    baseAmount: order.baseAmount,
    relAmount: order.relAmount,
    action: order.action,
    uuid: order.uuid,
    matchBy: order.matchBy,
    conf: order.conf,
    baseProtocolInfo: infos.base,
    relProtocolInfo: infos.rel,
    swapVersion: 1,
  };
}

/** End of the order's own life, unix ms, whatever its state. */
export const takerDeadlineMs = (order: TakerOrder): number => order.createdAtMs + order.timeoutSec * 1_000;

/** What time has made of the order (reference rpc.md 6.2): nothing yet, the end, or a maker order. */
export function takerTimeout(order: TakerOrder, nowMs: number): "none" | "TimedOut" | "Convert" {
  // A match of far ahead means that the clock was set back.
  if (order.match && Math.abs(nowMs - order.match.connectAtMs) > CONNECT_LIFE_MS) return "TimedOut";
  if (nowMs <= takerDeadlineMs(order)) return "none";
  return order.match || order.orderType === "FillOrKill" ? "TimedOut" : "Convert";
}

/** The offer was chosen; the next message is `connect`. Throws if there is a match: callers test first. */
export function connectTaker(order: TakerOrder, reserved: MakerReserved, maker: string, nowMs: number): TakerOrder {
  if (order.match) throw new Error("taker order is matched already");
  return { ...order, match: { reserved, maker, connectAtMs: nowMs, connectedAtMs: null } };
}

const swapSides = (conf: ConfSettings): ConfSettings => ({
  baseConfs: conf.relConfs,
  baseNota: conf.relNota,
  relConfs: conf.baseConfs,
  relNota: conf.baseNota,
});

/**
 * The maker order a GoodTillCancelled order becomes when nobody took it in time: same uuid, same coins given and
 * wanted, same value. `match_by` is dropped. Exact (reference rpc.md 6.3).
 */
export function takerToMaker(order: TakerOrder, nowMs: number): MakerOrder {
  const kept = { uuid: order.uuid, createdAtMs: nowMs, timeoutMinutes: null, saveInHistory: order.saveInHistory };
  if (order.action === "Sell") {
    return createMakerOrder({
      ...kept,
      base: order.base,
      rel: order.rel,
      baseOrderbookTicker: order.baseOrderbookTicker,
      relOrderbookTicker: order.relOrderbookTicker,
      price: div(order.relAmount, order.baseAmount),
      maxBaseVol: order.baseAmount,
      minBaseVol: order.minVolume,
      conf: order.conf,
    });
  }
  const price = div(order.baseAmount, order.relAmount);
  return createMakerOrder({
    ...kept,
    base: order.rel,
    rel: order.base,
    baseOrderbookTicker: order.relOrderbookTicker,
    relOrderbookTicker: order.baseOrderbookTicker,
    price,
    maxBaseVol: order.relAmount,
    minBaseVol: div(order.minVolume, price),
    conf: swapSides(order.conf),
  });
}
