import { z } from "zod";
import type { HistoryOrder } from "../../app/orders/orderLookup.ts";
import { err, ok } from "../../core/util/result.ts";
import type { HistoryRow } from "../../ports/orderStore.ts";
import { defineMethod } from "../define.ts";
import { flag, optional, optionalFlag, optionalText, type Read, readU64 } from "../field.ts";
import { optionalMmNumber } from "../mmNumber.ts";
import { liveMaker, liveMakerToJson, liveTaker, liveTakerToJson, makerResult, makerResultToJson } from "../orderShapes.ts";
import { unknownVariant, wrongType } from "../serdeText.ts";

const oneOf = <T extends string>(...names: readonly T[]) => {
  const read: Read<T> = (value) => {
    if (typeof value !== "string") return err(wrongType(value, "string or map"));
    const name = names.find((n) => n === value);
    return name === undefined ? err(unknownVariant(value, names)) : ok(name);
  };
  return optional(read, { enum: names });
};
const time = () => optional(readU64, { type: "integer", minimum: 0 });

const row = z.object({
  uuid: z.string(),
  order_type: z.string(),
  initial_action: z.string(),
  base: z.string(),
  rel: z.string(),
  price: z.number(),
  volume: z.number(),
  created_at: z.number().describe("Unix milliseconds."),
  last_updated: z.number().describe("Unix milliseconds."),
  was_taker: z.number().describe("1: it began as a taker order."),
  status: z.string().describe("`Created`, `Updated`, or how the order ended."),
});
const detail = z.object({ type: z.enum(["Maker", "Taker"]), order: z.union([liveMaker, liveTaker, makerResult]) });
const warning = z.object({ uuid: z.string(), warning: z.string() });

const rowToJson = (r: HistoryRow): z.input<typeof row> => ({
  uuid: r.uuid,
  order_type: r.kind,
  initial_action: r.initialAction,
  base: r.base,
  rel: r.rel,
  price: r.price,
  volume: r.volume,
  created_at: r.createdAtMs,
  last_updated: r.updatedAtMs,
  was_taker: Number(r.wasTaker),
  status: r.status,
});

function detailToJson({ own, isLive }: HistoryOrder, ownKey: string | null): z.input<typeof detail> {
  if (own.kind === "Taker") return { type: own.kind, order: liveTakerToJson(own.order, ownKey) };
  return { type: own.kind, order: isLive ? liveMakerToJson(own.order, ownKey) : makerResultToJson(own.order, ownKey) };
}

/** Orders whose details one reply has: each may have hundreds of matches. */
const MOST_DETAILS = 1_000;
type TooManyDetails = { readonly kind: "TooManyDetails"; readonly found: number };

export const ordersHistoryByFilter = defineMethod<TooManyDetails>()({
  name: "orders_history_by_filter",
  style: "flat",
  summary: "Orders of this node kept in the history, newest first. Filters combine with AND, and bounds are included.",
  source: "reference rpc.md 5.4",
  params: z.object({
    order_type: oneOf("Maker", "Taker").describe("What the order is now, or was at its end."),
    initial_action: oneOf("Sell", "Buy").describe("What was asked for first."),
    base: optionalText().describe("As first asked for."),
    rel: optionalText().describe("As first asked for."),
    from_price: optionalMmNumber(),
    to_price: optionalMmNumber(),
    from_volume: optionalMmNumber(),
    to_volume: optionalMmNumber(),
    from_timestamp: time().describe("Earliest creation, unix milliseconds."),
    to_timestamp: time().describe("Latest creation, unix milliseconds."),
    was_taker: optionalFlag().describe("Whether it began as a taker order."),
    status: optionalText().describe("`Created`, `Updated`, or how the order ended."),
    include_details: flag(false).describe(`Give the orders themselves, too; of ${MOST_DETAILS} at most.`),
  }),
  result: z.object({
    orders: z.array(row),
    details: z.array(detail).describe("Empty without `include_details`."),
    found_records: z.number(),
    warnings: z.array(warning).describe("Orders whose details could not be given."),
  }),
  async handle(p, { orders, node }) {
    const rows = await orders.history({
      kind: p.order_type,
      initialAction: p.initial_action,
      base: p.base,
      rel: p.rel,
      fromPrice: p.from_price,
      toPrice: p.to_price,
      fromVolume: p.from_volume,
      toVolume: p.to_volume,
      fromMs: p.from_timestamp,
      toMs: p.to_timestamp,
      wasTaker: p.was_taker,
      status: p.status,
    });
    if (p.include_details && rows.length > MOST_DETAILS) return err({ kind: "TooManyDetails", found: rows.length });
    const uuids = p.include_details ? rows.map((r) => r.uuid) : [];
    const found = await orders.historyDetails(uuids);
    return ok({
      orders: rows.map(rowToJson),
      details: uuids.flatMap((uuid) => {
        const order = found.get(uuid);
        return order ? [detailToJson(order, node.publicKey)] : [];
      }),
      found_records: rows.length,
      warnings: uuids.flatMap((uuid) => (found.has(uuid) ? [] : [{ uuid, warning: "The order cannot be read" }])),
    });
  },
  errors: {
    TooManyDetails: {
      http: 400,
      when: `\`include_details\` is set and more than ${MOST_DETAILS} orders match.`,
      text: ({ found }) => `${found} orders match, and one reply has the details of ${MOST_DETAILS} at most: narrow the filter`,
    },
  },
  examples: [
    {
      title: "Orders that sell DOC and were cancelled",
      style: "flat",
      params: { base: "DOC", status: "Cancelled" },
      result: { orders: [], details: [], found_records: 0, warnings: [] },
    },
    { title: "Open orders, with all about them", style: "flat", params: { status: "Created", include_details: true } },
  ],
});
