import type { ConfSettings, MakerReserved, MatchBy, TakerAction, TakerRequest } from "../message/types.ts";
import { type Rational, toDecimalString } from "../money/rational.ts";
import { type FractionValue, type RationalValue, toFractionValue, toRationalValue } from "../money/rationalValue.ts";
import { availableVolume, isHalfMatched, type MakerMatch, type MakerOrder } from "./makerOrder.ts";
import type { TakerMatch, TakerOrder } from "./takerOrder.ts";

/** What KDF shows where no key is meant: 32 zero bytes. */
const NO_KEY = "0".repeat(64);
/** KDF shows keys in orders as the X coordinate alone: a compressed key without its first byte (seen in captured replies). */
const keyX = (compressed: string): string => compressed.slice(2);

type ConfJson = { readonly base_confs: number; readonly base_nota: boolean; readonly rel_confs: number; readonly rel_nota: boolean };
const confToJson = (c: ConfSettings): ConfJson => ({
  base_confs: c.baseConfs,
  base_nota: c.baseNota,
  rel_confs: c.relConfs,
  rel_nota: c.relNota,
});

type MatchByJson = { readonly type: MatchBy["type"]; readonly data?: readonly string[] };
const matchByToJson = (m: MatchBy): MatchByJson => (m.type === "Any" ? { type: "Any" } : { type: m.type, data: m.data });

type Amounts = { readonly base: string; readonly rel: string; readonly baseAmount: Rational; readonly relAmount: Rational };
type AmountsJson = {
  readonly base: string;
  readonly rel: string;
  readonly base_amount: string;
  readonly base_amount_rat: RationalValue;
  readonly rel_amount: string;
  readonly rel_amount_rat: RationalValue;
};
const amountsToJson = (a: Amounts): AmountsJson => ({
  base: a.base,
  rel: a.rel,
  base_amount: toDecimalString(a.baseAmount),
  base_amount_rat: toRationalValue(a.baseAmount),
  rel_amount: toDecimalString(a.relAmount),
  rel_amount_rat: toRationalValue(a.relAmount),
});

/** A taker request inside orders and matches. */
type RequestJson = AmountsJson & {
  readonly action: TakerAction;
  readonly uuid: string;
  readonly method: "request";
  readonly sender_pubkey: string;
  readonly dest_pub_key: string;
  readonly match_by: MatchByJson;
  readonly conf_settings: ConfJson;
};
type RequestFields = Amounts & Pick<TakerRequest, "action" | "uuid" | "matchBy" | "conf">;
const requestToJson = (r: RequestFields, sender: string): RequestJson => ({
  ...amountsToJson(r),
  action: r.action,
  uuid: r.uuid,
  method: "request",
  sender_pubkey: keyX(sender),
  dest_pub_key: NO_KEY,
  match_by: matchByToJson(r.matchBy),
  conf_settings: confToJson(r.conf),
});

export type TakerResultJson = RequestJson & {
  readonly order_type: { readonly type: TakerOrder["orderType"] };
  readonly min_volume: string;
  readonly min_volume_fraction: FractionValue;
  readonly min_volume_rat: RationalValue;
  readonly base_orderbook_ticker: string | null;
  readonly rel_orderbook_ticker: string | null;
};
/** `result` of `buy` and `sell` (reference rpc.md 4.1). `ownKey`: 66 hex. */
export const takerResultToJson = (order: TakerOrder, ownKey: string): TakerResultJson => ({
  ...requestToJson(order, ownKey),
  order_type: { type: order.orderType },
  min_volume: toDecimalString(order.minVolume),
  min_volume_fraction: toFractionValue(order.minVolume),
  min_volume_rat: toRationalValue(order.minVolume),
  base_orderbook_ticker: order.baseOrderbookTicker,
  rel_orderbook_ticker: order.relOrderbookTicker,
});

type ReservedJson = AmountsJson & {
  readonly taker_order_uuid: string;
  readonly maker_order_uuid: string;
  readonly sender_pubkey: string;
  readonly dest_pub_key: string;
  readonly conf_settings: ConfJson;
  readonly method: "reserved";
};
const reservedToJson = (r: MakerReserved, maker: string, taker: string): ReservedJson => ({
  ...amountsToJson(r),
  taker_order_uuid: r.takerOrderUuid,
  maker_order_uuid: r.makerOrderUuid,
  sender_pubkey: keyX(maker),
  dest_pub_key: keyX(taker),
  conf_settings: confToJson(r.conf),
  method: "reserved",
});

type StepJson<M extends string> = {
  readonly taker_order_uuid: string;
  readonly maker_order_uuid: string;
  readonly method: M;
  readonly sender_pubkey: string;
  readonly dest_pub_key: string;
};
const stepToJson = <M extends string>(method: M, r: MakerReserved, from: string, to: string): StepJson<M> => ({
  taker_order_uuid: r.takerOrderUuid,
  maker_order_uuid: r.makerOrderUuid,
  method,
  sender_pubkey: keyX(from),
  dest_pub_key: keyX(to),
});

type MakerMatchJson = {
  readonly request: RequestJson;
  readonly reserved: ReservedJson;
  readonly connect: StepJson<"connect"> | null;
  readonly connected: StepJson<"connected"> | null;
  readonly last_updated: number;
};
const makerMatchToJson = (m: MakerMatch, ownKey: string): MakerMatchJson => ({
  request: requestToJson(m.request, m.taker),
  reserved: reservedToJson(m.reserved, ownKey, m.taker),
  connect: m.connectedAtMs === null ? null : stepToJson("connect", m.reserved, m.taker, ownKey),
  connected: m.connectedAtMs === null ? null : stepToJson("connected", m.reserved, ownKey, m.taker),
  last_updated: m.connectedAtMs ?? m.reservedAtMs,
});

type TakerMatchJson = Omit<MakerMatchJson, "request">;
const takerMatchToJson = (m: TakerMatch, ownKey: string): TakerMatchJson => ({
  reserved: reservedToJson(m.reserved, m.maker, ownKey),
  connect: stepToJson("connect", m.reserved, ownKey, m.maker),
  connected: m.connectedAtMs === null ? null : stepToJson("connected", m.reserved, m.maker, ownKey),
  last_updated: m.connectedAtMs ?? m.connectAtMs,
});

function matchesToJson(order: MakerOrder, ownKey: string): Readonly<Record<string, MakerMatchJson>> {
  return Object.fromEntries([...order.matches].map(([uuid, match]) => [uuid, makerMatchToJson(match, ownKey)]));
}
const takerMatchesToJson = (order: TakerOrder, ownKey: string): Readonly<Record<string, TakerMatchJson>> =>
  order.match ? { [order.match.reserved.makerOrderUuid]: takerMatchToJson(order.match, ownKey) } : {};

export type MakerResultJson = {
  readonly base: string;
  readonly rel: string;
  readonly price: string;
  readonly price_rat: RationalValue;
  readonly max_base_vol: string;
  readonly max_base_vol_rat: RationalValue;
  readonly min_base_vol: string;
  readonly min_base_vol_rat: RationalValue;
  readonly created_at: number;
  readonly updated_at: number;
  readonly matches: Readonly<Record<string, MakerMatchJson>>;
  readonly started_swaps: readonly string[];
  readonly uuid: string;
  readonly conf_settings: ConfJson;
  readonly base_orderbook_ticker: string | null;
  readonly rel_orderbook_ticker: string | null;
};
/** `result` of `setprice`; also a maker order in history (reference rpc.md 4.2, 5.2). `ownKey`: 66 hex. */
export const makerResultToJson = (order: MakerOrder, ownKey: string): MakerResultJson => ({
  base: order.base,
  rel: order.rel,
  price: toDecimalString(order.price),
  price_rat: toRationalValue(order.price),
  max_base_vol: toDecimalString(order.maxBaseVol),
  max_base_vol_rat: toRationalValue(order.maxBaseVol),
  min_base_vol: toDecimalString(order.minBaseVol),
  min_base_vol_rat: toRationalValue(order.minBaseVol),
  created_at: order.createdAtMs,
  updated_at: order.updatedAtMs,
  matches: matchesToJson(order, ownKey),
  started_swaps: order.startedSwaps,
  uuid: order.uuid,
  conf_settings: confToJson(order.conf),
  base_orderbook_ticker: order.baseOrderbookTicker,
  rel_orderbook_ticker: order.relOrderbookTicker,
});

export type LiveMakerJson = MakerResultJson & { readonly cancellable: boolean; readonly available_amount: string };
/** A maker order in `my_orders` and, while live, in `order_status`. */
export const liveMakerToJson = (order: MakerOrder, ownKey: string): LiveMakerJson => ({
  ...makerResultToJson(order, ownKey),
  cancellable: !isHalfMatched(order),
  available_amount: toDecimalString(availableVolume(order)),
});

export type TakerOrderJson = {
  readonly created_at: number;
  readonly request: RequestJson;
  readonly matches: Readonly<Record<string, TakerMatchJson>>;
  readonly order_type: { readonly type: TakerOrder["orderType"] };
  readonly cancellable: boolean;
  readonly base_orderbook_ticker: string | null;
  readonly rel_orderbook_ticker: string | null;
};
/** A taker order in `my_orders` and `order_status`. */
export const takerOrderToJson = (order: TakerOrder, ownKey: string): TakerOrderJson => ({
  created_at: order.createdAtMs,
  request: requestToJson(order, ownKey),
  matches: takerMatchesToJson(order, ownKey),
  order_type: { type: order.orderType },
  cancellable: order.match === null,
  base_orderbook_ticker: order.baseOrderbookTicker,
  rel_orderbook_ticker: order.relOrderbookTicker,
});
