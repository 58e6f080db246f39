import { z } from "zod";
import type { ConfSettings } from "../core/message/types.ts";
import { addCut, cmp, div, mul, ONE, type Rational, ZERO } from "../core/money/rational.ts";
import type { BookEntry } from "./ctx/orders.ts";
import { detailOf, numberDetail, tripleOf, tripleShape } from "./money.ts";
import { named } from "./named.ts";
import { confSettings, confToJson } from "./orderShapes.ts";
import { remembered } from "./remembered.ts";

/** One side of the book as replies show it: every order in terms of the requested pair; `BookLine` with running sums (reference rpc.md 5.2). */
export type OrderLine = {
  readonly entry: BookEntry;
  /** rel per base of the requested pair */
  readonly price: Rational;
  readonly baseMax: Rational;
  readonly baseMin: Rational;
  readonly relMax: Rational;
  readonly relMin: Rational;
  readonly conf: ConfSettings | null;
};
export type BookLine = OrderLine & { readonly baseSum: Rational; readonly relSum: Rational };
export type BookSide = { readonly lines: readonly BookLine[]; readonly totalBase: Rational; readonly totalRel: Rational };

const worth = remembered(mul);
const inverse = remembered((price, one) => div(one, price));
const plus = remembered((volume, sum) => addCut(sum, volume));

/** Sums run from the best price outwards; asks are then listed highest price first, bids highest first. */
export function bookSide(side: "asks" | "bids", entries: readonly BookEntry[]): BookSide {
  const view = side === "asks" ? askTerms : bidTerms;
  const direction = side === "asks" ? 1 : -1;
  const sorted = entries
    .map((entry) => ({ entry, ...view(entry) }))
    .sort((a, b) => direction * cmp(a.price, b.price) || a.entry.createdAt - b.entry.createdAt || (a.entry.uuid < b.entry.uuid ? -1 : 1));
  let [totalBase, totalRel] = [ZERO, ZERO];
  const lines = sorted.map((line) => {
    totalBase = plus(line.baseMax, totalBase);
    totalRel = plus(line.relMax, totalRel);
    return { ...line, baseSum: totalBase, relSum: totalRel };
  });
  return { lines: side === "asks" ? lines.reverse() : lines, totalBase, totalRel };
}

/** Orders of `best_orders`: `buy` as their makers offer them, `sell` in the terms of whoever sells them the coin. */
export const bestLines = (action: "buy" | "sell", entries: readonly BookEntry[]): readonly OrderLine[] =>
  entries.map((entry) => ({ entry, ...(action === "buy" ? askTerms(entry) : bidTerms(entry)) }));

const askTerms = (o: BookEntry) => ({
  price: o.price,
  baseMax: o.maxVolume,
  baseMin: o.minVolume,
  relMax: worth(o.maxVolume, o.price),
  relMin: worth(o.minVolume, o.price),
  conf: o.conf,
});

/** The maker's base is our rel. */
const bidTerms = (o: BookEntry) => ({
  price: inverse(o.price, ONE),
  baseMax: worth(o.maxVolume, o.price),
  baseMin: worth(o.minVolume, o.price),
  relMax: o.maxVolume,
  relMin: o.minVolume,
  conf: o.conf && { baseConfs: o.conf.relConfs, baseNota: o.conf.relNota, relConfs: o.conf.baseConfs, relNota: o.conf.baseNota },
});

const conf = confSettings.partial().shape;

/** Without running sums: what `best_orders` lists. */
export const flatOrder = named(
  "BestOrder",
  z.object({
    coin: z.string(),
    address: z.string(),
    ...tripleShape("price"),
    maxvolume: z.string().describe("In the maker's base coins."),
    max_volume_rat: tripleShape("v").v_rat,
    max_volume_fraction: tripleShape("v").v_fraction,
    ...tripleShape("min_volume"),
    pubkey: z.string(),
    age: z.number().describe("Seconds since creation."),
    uuid: z.string(),
    is_mine: z.boolean(),
    ...tripleShape("base_max_volume"),
    ...tripleShape("base_min_volume"),
    ...tripleShape("rel_max_volume"),
    ...tripleShape("rel_min_volume"),
    ...conf,
  }),
);

export const flatEntry = named(
  "OrderbookEntry",
  flatOrder.extend({ ...tripleShape("base_max_volume_aggr"), ...tripleShape("rel_max_volume_aggr") }),
);

export function flatOrderToJson(line: OrderLine, coin: string, nowSec: number): z.input<typeof flatOrder> {
  const { entry } = line;
  const max = tripleOf("max_volume", entry.maxVolume);
  return {
    coin,
    address: entry.address ?? "",
    ...tripleOf("price", line.price),
    maxvolume: max.max_volume,
    max_volume_rat: max.max_volume_rat,
    max_volume_fraction: max.max_volume_fraction,
    ...tripleOf("min_volume", entry.minVolume),
    pubkey: entry.pubkey,
    age: Math.max(0, nowSec - entry.createdAt),
    uuid: entry.uuid,
    is_mine: entry.isMine,
    ...tripleOf("base_max_volume", line.baseMax),
    ...tripleOf("base_min_volume", line.baseMin),
    ...tripleOf("rel_max_volume", line.relMax),
    ...tripleOf("rel_min_volume", line.relMin),
    ...(line.conf ? confToJson(line.conf) : {}),
  };
}

export const flatEntryToJson = (line: BookLine, nowSec: number): z.input<typeof flatEntry> => ({
  ...flatOrderToJson(line, line.entry.base, nowSec),
  ...tripleOf("base_max_volume_aggr", line.baseSum),
  ...tripleOf("rel_max_volume_aggr", line.relSum),
});

export const v2Order = named(
  "BestOrderV2",
  z.object({
    coin: z.string(),
    address: z.object({ address_type: z.enum(["Transparent", "Shielded"]), address_data: z.string().optional() }),
    price: numberDetail,
    pubkey: z.string(),
    uuid: z.string(),
    is_mine: z.boolean(),
    base_max_volume: numberDetail,
    base_min_volume: numberDetail,
    rel_max_volume: numberDetail,
    rel_min_volume: numberDetail,
    conf_settings: confSettings.nullable(),
  }),
);

export const v2Entry = named("OrderbookEntryV2", v2Order.extend({ base_max_volume_aggr: numberDetail, rel_max_volume_aggr: numberDetail }));

export const v2OrderToJson = ({ entry, ...line }: OrderLine, coin: string): z.input<typeof v2Order> => ({
  coin,
  address: entry.address === null ? { address_type: "Shielded" } : { address_type: "Transparent", address_data: entry.address },
  price: detailOf(line.price),
  pubkey: entry.pubkey,
  uuid: entry.uuid,
  is_mine: entry.isMine,
  base_max_volume: detailOf(line.baseMax),
  base_min_volume: detailOf(line.baseMin),
  rel_max_volume: detailOf(line.relMax),
  rel_min_volume: detailOf(line.relMin),
  conf_settings: line.conf && confToJson(line.conf),
});

export const v2EntryToJson = (line: BookLine): z.input<typeof v2Entry> => ({
  ...v2OrderToJson(line, line.entry.base),
  base_max_volume_aggr: detailOf(line.baseSum),
  rel_max_volume_aggr: detailOf(line.relSum),
});
