import { z } from "zod";
import type { ConfSettings, MakerReserved, MatchBy, TakerAction } from "../core/message/types.ts";
import { toDecimalString } from "../core/money/rational.ts";
import { availableVolume, isHalfMatched, type MakerMatch, type MakerOrder } from "../core/order/makerOrder.ts";
import type { TakerMatch, TakerOrder } from "../core/order/takerOrder.ts";
import { decimalText, pairOf, pairShape, tripleOf, tripleShape } from "./money.ts";
import { named } from "./named.ts";

/** Orders as replies show them (interface document, "Taker request result", "Maker order result"; reference rpc.md 4.1, 4.2, 5.2). */

const ANY_NODE = "0".repeat(64);
/** The 32-byte X coordinate names a node in order messages; `key` is the compressed form, 66 hex. */
const xOf = (key: string | null): string => (key ?? `00${ANY_NODE}`).slice(2);

export const confSettings = named(
  "ConfSettings",
  z.object({
    base_confs: z.number(),
    base_nota: z.boolean(),
    rel_confs: z.number(),
    rel_nota: z.boolean(),
  }),
);
export const confToJson = (c: ConfSettings) => ({
  base_confs: c.baseConfs,
  base_nota: c.baseNota,
  rel_confs: c.relConfs,
  rel_nota: c.relNota,
});

const matchByShape = named("MatchByShown", z.object({ type: z.enum(["Any", "Orders", "Pubkeys"]), data: z.array(z.string()).optional() }));
const orderTypeShape = z.object({ type: z.enum(["GoodTillCancelled", "FillOrKill"]) });
const tickers = { base_orderbook_ticker: z.string().nullable(), rel_orderbook_ticker: z.string().nullable() };
const tickersToJson = (o: { readonly baseOrderbookTicker: string | null; readonly relOrderbookTicker: string | null }) => ({
  base_orderbook_ticker: o.baseOrderbookTicker,
  rel_orderbook_ticker: o.relOrderbookTicker,
});
const matchByToJson = (m: MatchBy) => (m.type === "Any" ? { type: m.type } : { type: m.type, data: [...m.data] });

const requestShape = named(
  "TakerRequest",
  z.object({
    base: z.string(),
    rel: z.string(),
    ...pairShape("base_amount"),
    ...pairShape("rel_amount"),
    action: z.enum(["Buy", "Sell"]),
    uuid: z.string(),
    method: z.literal("request"),
    sender_pubkey: z.string().describe("X coordinate of the sender's key, 64 hex."),
    dest_pub_key: z.string().describe("Always zeros."),
    match_by: matchByShape,
    conf_settings: confSettings,
  }),
);

type RequestLike = Pick<TakerOrder, "base" | "rel" | "baseAmount" | "relAmount" | "uuid" | "matchBy" | "conf"> & {
  readonly action: TakerAction;
};

const requestToJson = (r: RequestLike, sender: string): z.input<typeof requestShape> => ({
  base: r.base,
  rel: r.rel,
  ...pairOf("base_amount", r.baseAmount),
  ...pairOf("rel_amount", r.relAmount),
  action: r.action,
  uuid: r.uuid,
  method: "request",
  sender_pubkey: sender,
  dest_pub_key: ANY_NODE,
  match_by: matchByToJson(r.matchBy),
  conf_settings: confToJson(r.conf),
});

/** Reply of `buy` and `sell`. */
export const takerResult = named(
  "TakerOrder",
  requestShape.extend({ order_type: orderTypeShape, ...tripleShape("min_volume"), ...tickers }),
);

export const takerResultToJson = (o: TakerOrder, ownKey: string | null): z.input<typeof takerResult> => ({
  ...requestToJson(o, xOf(ownKey)),
  order_type: { type: o.orderType },
  ...tripleOf("min_volume", o.minVolume),
  ...tickersToJson(o),
});

const parties = { sender_pubkey: z.string(), dest_pub_key: z.string() };
const step = named("MatchStep", z.object({ taker_order_uuid: z.string(), maker_order_uuid: z.string(), method: z.string(), ...parties }));
const reservedShape = named(
  "MakerReserved",
  z.object({
    base: z.string(),
    rel: z.string(),
    ...pairShape("base_amount"),
    ...pairShape("rel_amount"),
    taker_order_uuid: z.string(),
    maker_order_uuid: z.string(),
    ...parties,
    conf_settings: confSettings,
    method: z.literal("reserved"),
  }),
);
const takerMatch = named(
  "TakerMatch",
  z.object({ reserved: reservedShape, connect: step, connected: step.nullable(), last_updated: z.number() }),
);
const makerMatch = named("MakerMatch", takerMatch.extend({ request: requestShape, connect: step.nullable() }));

/** `maker` and `taker`: X coordinates. */
const reservedToJson = (r: MakerReserved, maker: string, taker: string): z.input<typeof reservedShape> => ({
  base: r.base,
  rel: r.rel,
  ...pairOf("base_amount", r.baseAmount),
  ...pairOf("rel_amount", r.relAmount),
  taker_order_uuid: r.takerOrderUuid,
  maker_order_uuid: r.makerOrderUuid,
  sender_pubkey: maker,
  dest_pub_key: taker,
  conf_settings: confToJson(r.conf),
  method: "reserved",
});
const stepToJson = (r: MakerReserved, method: "connect" | "connected", sender: string, dest: string): z.input<typeof step> => ({
  taker_order_uuid: r.takerOrderUuid,
  maker_order_uuid: r.makerOrderUuid,
  method,
  sender_pubkey: sender,
  dest_pub_key: dest,
});

function makerMatchToJson(m: MakerMatch, own: string): z.input<typeof makerMatch> {
  const taker = xOf(m.taker);
  return {
    request: requestToJson(m.request, taker),
    reserved: reservedToJson(m.reserved, own, taker),
    connect: m.connectedAtMs === null ? null : stepToJson(m.reserved, "connect", taker, own),
    connected: m.connectedAtMs === null ? null : stepToJson(m.reserved, "connected", own, taker),
    last_updated: m.connectedAtMs ?? m.reservedAtMs,
  };
}

function takerMatchToJson(m: TakerMatch, own: string): z.input<typeof takerMatch> {
  const maker = xOf(m.maker);
  return {
    reserved: reservedToJson(m.reserved, maker, own),
    connect: stepToJson(m.reserved, "connect", own, maker),
    connected: m.connectedAtMs === null ? null : stepToJson(m.reserved, "connected", maker, own),
    last_updated: m.connectedAtMs ?? m.connectAtMs,
  };
}

/** Reply of `setprice`. */
export const makerResult = named(
  "MakerOrder",
  z.object({
    base: z.string(),
    rel: z.string(),
    ...pairShape("price"),
    ...pairShape("max_base_vol"),
    ...pairShape("min_base_vol"),
    created_at: z.number().describe("Unix milliseconds."),
    updated_at: z.number().describe("Unix milliseconds."),
    matches: z.record(z.string(), makerMatch).describe("Ongoing and finished matches by the taker request's uuid."),
    started_swaps: z.array(z.string()),
    uuid: z.string(),
    conf_settings: confSettings,
    ...tickers,
  }),
);

export const makerResultToJson = (o: MakerOrder, ownKey: string | null): z.input<typeof makerResult> => ({
  base: o.base,
  rel: o.rel,
  ...pairOf("price", o.price),
  ...pairOf("max_base_vol", o.maxBaseVol),
  ...pairOf("min_base_vol", o.minBaseVol),
  created_at: o.createdAtMs,
  updated_at: o.updatedAtMs,
  matches: Object.fromEntries([...o.matches].map(([uuid, m]) => [uuid, makerMatchToJson(m, xOf(ownKey))])),
  started_swaps: [...o.startedSwaps],
  uuid: o.uuid,
  conf_settings: confToJson(o.conf),
  ...tickersToJson(o),
});

/** A live maker order, as `my_orders` and `order_status` show it. */
export const liveMaker = named("LiveMakerOrder", makerResult.extend({ cancellable: z.boolean(), available_amount: decimalText }));

export const liveMakerToJson = (o: MakerOrder, ownKey: string | null): z.input<typeof liveMaker> => ({
  ...makerResultToJson(o, ownKey),
  cancellable: !isHalfMatched(o),
  available_amount: toDecimalString(availableVolume(o)),
});

/** A taker order, as `my_orders` and `order_status` show it. */
export const liveTaker = named(
  "LiveTakerOrder",
  z.object({
    created_at: z.number().describe("Unix milliseconds."),
    request: requestShape,
    matches: z.record(z.string(), takerMatch).describe("By the maker order's uuid."),
    order_type: orderTypeShape,
    cancellable: z.boolean(),
    ...tickers,
  }),
);

export const liveTakerToJson = (o: TakerOrder, ownKey: string | null): z.input<typeof liveTaker> => ({
  created_at: o.createdAtMs,
  request: requestToJson(o, xOf(ownKey)),
  matches: o.match ? { [o.match.reserved.makerOrderUuid]: takerMatchToJson(o.match, xOf(ownKey)) } : {},
  order_type: { type: o.orderType },
  cancellable: o.match === null,
  ...tickersToJson(o),
});
