import { z } from "zod";
import { addCut, isPositive, lt, type Rational, sub, ZERO } from "../../core/money/rational.ts";
import { parseRationalValue } from "../../core/money/rationalValue.ts";
import type { MakerOrder } from "../../core/order/makerOrder.ts";
import type { TakerOrder } from "../../core/order/takerOrder.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import type { OwnOrder } from "../orders/orderRecord.ts";
import { kdfTicker, kdfUuid } from "./savedSwap.ts";

/** Matches and swaps of one order that are read. */
const MAX_ENTRIES = 10_000;

const number = z.unknown().transform((value, ctx): Rational => {
  const read = parseRationalValue(value);
  if (read) return read;
  ctx.addIssue({ code: "custom", message: "not a fraction as KDF stores it" });
  return z.NEVER;
});
const confs = z.number().int().min(0).max(0xffffffff);
const conf = z.object({ base_confs: confs, base_nota: z.boolean(), rel_confs: confs, rel_nota: z.boolean() });
const orderbookTicker = kdfTicker.nullish();
const timeMs = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const ownKey = z.null({ error: "it uses a key of its own, which this node does not" }).optional();

const makerFile = z.object({
  uuid: kdfUuid,
  base: kdfTicker,
  rel: kdfTicker,
  max_base_vol: number,
  min_base_vol: number,
  price: number,
  created_at: timeMs,
  updated_at: timeMs.nullish(),
  matches: z
    .record(z.string().max(36), z.object({ reserved: z.object({ base_amount: number }), connected: z.unknown().optional() }))
    .refine((m) => Object.keys(m).length <= MAX_ENTRIES, "too many matches"),
  started_swaps: z.array(kdfUuid).max(MAX_ENTRIES),
  conf_settings: conf.nullish(),
  save_in_history: z.boolean().default(true),
  base_orderbook_ticker: orderbookTicker,
  rel_orderbook_ticker: orderbookTicker,
  timeout_in_minutes: z.number().int().min(0).max(0xffffffff).nullish(),
  p2p_privkey: ownKey,
});

const texts = z.array(z.string().max(100)).max(MAX_ENTRIES);
const matchBy = z.discriminatedUnion("type", [
  z.object({ type: z.literal("Any") }),
  z.object({ type: z.literal("Orders"), data: texts }),
  z.object({ type: z.literal("Pubkeys"), data: texts }),
]);
const takerFile = z.object({
  created_at: timeMs,
  request: z.object({
    uuid: kdfUuid,
    base: kdfTicker,
    rel: kdfTicker,
    base_amount: number,
    rel_amount: number,
    action: z.enum(["Buy", "Sell"]),
    match_by: matchBy.default({ type: "Any" }),
    conf_settings: conf.nullish(),
  }),
  matches: z.record(z.string().max(36), z.unknown()),
  min_volume: number,
  order_type: z.object({ type: z.enum(["GoodTillCancelled", "FillOrKill"]) }),
  timeout: z.number().int().min(0).max(0xffffffff),
  save_in_history: z.boolean().default(true),
  base_orderbook_ticker: orderbookTicker,
  rel_orderbook_ticker: orderbookTicker,
  p2p_privkey: ownKey,
});
const endedFile = z.discriminatedUnion("type", [
  z.object({ type: z.literal("Maker"), order: makerFile }),
  z.object({ type: z.literal("Taker"), order: takerFile }),
]);

export type BadOrder = { readonly kind: "BadOrder"; readonly reason: string };
const bad = (reason: string) => err<BadOrder>({ kind: "BadOrder", reason });

/** Settings KDF takes for an order without any: one confirmation, no notarization. */
const toConf = (c: z.infer<typeof conf> | null | undefined) => ({
  baseConfs: c?.base_confs ?? 1,
  baseNota: c?.base_nota ?? false,
  relConfs: c?.rel_confs ?? 1,
  relNota: c?.rel_nota ?? false,
});

function firstIssue(error: z.ZodError): Result<never, BadOrder> {
  const [issue] = error.issues;
  return bad(`${issue?.path.join(".") || "the order"}: ${issue?.message ?? "not as KDF has it"}`.slice(0, 200));
}

function toMaker(f: z.infer<typeof makerFile>, maxBaseVol: Rational): MakerOrder {
  return {
    uuid: f.uuid,
    base: f.base,
    rel: f.rel,
    baseOrderbookTicker: f.base_orderbook_ticker ?? null,
    relOrderbookTicker: f.rel_orderbook_ticker ?? null,
    price: f.price,
    maxBaseVol,
    minBaseVol: f.min_base_vol,
    conf: toConf(f.conf_settings),
    createdAtMs: f.created_at,
    updatedAtMs: f.updated_at ?? f.created_at,
    timeoutMinutes: f.timeout_in_minutes ?? null,
    saveInHistory: f.save_in_history,
    matches: new Map(),
    startedSwaps: f.started_swaps,
  };
}

function toTaker(f: z.infer<typeof takerFile>): TakerOrder {
  const r = f.request;
  return {
    uuid: r.uuid,
    action: r.action,
    base: r.base,
    rel: r.rel,
    baseOrderbookTicker: f.base_orderbook_ticker ?? null,
    relOrderbookTicker: f.rel_orderbook_ticker ?? null,
    baseAmount: r.base_amount,
    relAmount: r.rel_amount,
    matchBy: r.match_by,
    conf: toConf(r.conf_settings),
    orderType: f.order_type.type,
    minVolume: f.min_volume,
    createdAtMs: f.created_at,
    timeoutSec: f.timeout,
    saveInHistory: f.save_in_history,
    match: null,
  };
}

/**
 * An open maker order of KDF's file with the volume it has left. What a connected match has taken stays taken, whatever became of
 * its swap, as KDF has it; an answer nobody connected to is void 30 s after KDF stopped, and its volume is free.
 */
export function parseKdfMaker(json: unknown): Result<OwnOrder, BadOrder> {
  const read = makerFile.safeParse(json);
  if (!read.success) return firstIssue(read.error);
  const file = read.data;
  if (!isPositive(file.price) || !isPositive(file.max_base_vol) || lt(file.min_base_vol, ZERO))
    return bad("its price or volume is not above zero");
  let taken = ZERO;
  for (const match of Object.values(file.matches)) {
    if (!isPositive(match.reserved.base_amount)) return bad("a match of it takes no volume");
    if (match.connected !== null && match.connected !== undefined) taken = addCut(taken, match.reserved.base_amount);
  }
  const left = sub(file.max_base_vol, taken);
  if (!isPositive(left) || lt(left, file.min_base_vol)) return bad("nothing above its minimum is left of it");
  return ok({ kind: "Maker", order: toMaker(file, left) });
}

/** An open taker order of KDF's file. One that is being matched is KDF's to end: a maker may have begun a swap for it. */
export function parseKdfTaker(json: unknown): Result<OwnOrder, BadOrder> {
  const read = takerFile.safeParse(json);
  if (!read.success) return firstIssue(read.error);
  const { request, matches } = read.data;
  if (!isPositive(request.base_amount) || !isPositive(request.rel_amount)) return bad("its amounts are not above zero");
  if (Object.keys(matches).length > 0)
    return bad("it was being matched when KDF stopped; it is void, place it again if it is still wanted");
  return ok({ kind: "Taker", order: toTaker(read.data) });
}

/** An order that ended, as its history file has it, for what `order_status` shows; its matches are left out. */
export function parseKdfEnded(json: unknown): Result<OwnOrder, BadOrder> {
  const read = endedFile.safeParse(json);
  if (!read.success) return firstIssue(read.error);
  const { data } = read;
  return ok(
    data.type === "Maker"
      ? { kind: "Maker", order: toMaker(data.order, data.order.max_base_vol) }
      : { kind: "Taker", order: toTaker(data.order) },
  );
}
