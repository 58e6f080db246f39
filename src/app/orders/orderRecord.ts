import { z } from "zod";
import type { Rational } from "../../core/money/rational.ts";
import type { MakerMatch, MakerOrder } from "../../core/order/makerOrder.ts";
import type { TakerOrder } from "../../core/order/takerOrder.ts";
import { fromHex, toHex } from "../../core/util/bytes.ts";
import type { OrderRecord, StoredOrder } from "../../ports/orderStore.ts";
import { StorageError } from "../../ports/sql.ts";

/** Version of the stored form. A new one gets a new schema beside the old; old records are read for ever. */
const VERSION = 1;
/** Digits of one integer. Sums of a hostile taker's odd fractions are the longest. */
const MAX_INTEGER_CHARS = 1_000_000;

const rationalText = z.codec(
  z
    .string()
    .max(2 * MAX_INTEGER_CHARS)
    .regex(/^-?\d+\/[1-9]\d*$/),
  z.custom<Rational>(),
  {
    decode: (text) => {
      const [n = "0", d = "1"] = text.split("/");
      return { n: BigInt(n), d: BigInt(d) };
    },
    encode: ({ n, d }) => (d < 0n ? `${-n}/${-d}` : `${n}/${d}`),
  },
);
const bytes = z.codec(
  z
    .string()
    .regex(/^([0-9a-f]{2})*$/)
    .max(10_000),
  z.custom<Uint8Array>((value) => value instanceof Uint8Array),
  { decode: fromHex, encode: toHex },
);
const uuid = z.string().max(36);
const ticker = z.string().max(200);
const timeMs = z.number().int();
const conf = z.object({ baseConfs: z.number(), baseNota: z.boolean(), relConfs: z.number(), relNota: z.boolean() }).readonly();
const list = z.array(z.string().max(100)).max(10_000).readonly();
const matchBy = z.discriminatedUnion("type", [
  z.object({ type: z.literal("Any") }).readonly(),
  z.object({ type: z.literal("Orders"), data: list }).readonly(),
  z.object({ type: z.literal("Pubkeys"), data: list }).readonly(),
]);
const action = z.enum(["Buy", "Sell"]);
const infos = { baseProtocolInfo: z.exactOptional(bytes), relProtocolInfo: z.exactOptional(bytes) };
const amounts = { base: ticker, rel: ticker, baseAmount: rationalText, relAmount: rationalText };
const request = z.object({ ...amounts, action, uuid, matchBy, conf, ...infos, swapVersion: z.number() });
const reserved = z.object({ ...amounts, takerOrderUuid: uuid, makerOrderUuid: uuid, conf, ...infos, swapVersion: z.number() });
const common = { uuid, base: ticker, rel: ticker, baseOrderbookTicker: ticker.nullable(), relOrderbookTicker: ticker.nullable(), conf };

const makerMatch = z.object({ request, taker: z.string(), reserved, reservedAtMs: timeMs, connectedAtMs: timeMs.nullable() });
const matches = z.codec(z.array(makerMatch), z.custom<ReadonlyMap<string, MakerMatch>>(), {
  decode: (entries) => new Map(entries.map((m) => [m.reserved.takerOrderUuid, m])),
  encode: (map) => [...map.values()],
});

const maker = z.object({
  version: z.literal(VERSION),
  order: z.object({
    ...common,
    price: rationalText,
    maxBaseVol: rationalText,
    minBaseVol: rationalText,
    createdAtMs: timeMs,
    updatedAtMs: timeMs,
    timeoutMinutes: z.number().nullable(),
    saveInHistory: z.boolean(),
    matches,
    startedSwaps: z.array(uuid).readonly(),
  }),
});

const taker = z.object({
  version: z.literal(VERSION),
  order: z.object({
    ...common,
    action,
    baseAmount: rationalText,
    relAmount: rationalText,
    matchBy,
    orderType: z.enum(["GoodTillCancelled", "FillOrKill"]),
    minVolume: rationalText,
    createdAtMs: timeMs,
    timeoutSec: z.number(),
    saveInHistory: z.boolean(),
    match: z.object({ reserved, maker: z.string(), connectAtMs: timeMs, connectedAtMs: timeMs.nullable() }).nullable(),
  }),
});

/** An own order of either kind. */
export type OwnOrder = { readonly kind: "Maker"; readonly order: MakerOrder } | { readonly kind: "Taker"; readonly order: TakerOrder };

const NO_MATCHES: ReadonlyMap<string, MakerMatch> = new Map();
/** An order is stored whole with each new match, and has up to two hundred that do not change. */
const encodedMatches = new WeakMap<MakerMatch, object>();
function encodeMatch(match: MakerMatch): object {
  let encoded = encodedMatches.get(match);
  if (encoded === undefined) {
    encoded = z.encode(makerMatch, match);
    encodedMatches.set(match, encoded);
  }
  return encoded;
}

function encodeMaker(order: MakerOrder): object {
  const content = z.encode(maker, { version: VERSION, order: { ...order, matches: NO_MATCHES } });
  return { ...content, order: { ...content.order, matches: [...order.matches.values()].map(encodeMatch) } };
}

/** The text the store keeps. */
export function orderToRecord(own: OwnOrder): OrderRecord {
  const content = own.kind === "Maker" ? encodeMaker(own.order) : z.encode(taker, { version: VERSION, order: own.order });
  return { uuid: own.order.uuid, kind: own.kind, record: JSON.stringify(content) };
}

/**
 * Reads what `orderToRecord` wrote. Throws `StorageError` `Corrupt` on anything else, naming the order: the database is damaged
 * or from a newer version.
 */
export function parseOrderRecord({ uuid: id, kind, record }: StoredOrder): OwnOrder {
  const damaged = (detail: string, cause?: unknown): StorageError =>
    new StorageError("Corrupt", `the stored order ${id} is damaged: ${detail}`, { cause });
  if (kind !== "Maker" && kind !== "Taker") throw damaged("it is neither a maker's nor a taker's");
  let own: OwnOrder;
  try {
    const content: unknown = JSON.parse(record);
    own = kind === "Maker" ? { kind, order: maker.parse(content).order } : { kind, order: taker.parse(content).order };
  } catch (cause) {
    throw damaged("its record is not of the shape this version knows", cause);
  }
  // Under another name it could never be ended: what is stored goes by this one.
  if (own.order.uuid !== id) throw damaged("its record is another order's");
  return own;
}
