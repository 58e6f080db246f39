import { z } from "zod";
import type { HistoryPage, PageStart } from "../../app/coin/txHistory.ts";
import { err, ok } from "../../core/util/result.ts";
import { AWAITED, activeCoin, type NoSuchCoin, noSuchCoin, withWhy } from "../coinFaults.ts";
import { defineMethod } from "../define.ts";
import { defaulted, flag, optional, type Read, readNonZero, readString, readUsize, ticker } from "../field.ts";
import { historyToJson, historyTx, syncStatus, syncStatusOf } from "../historyShape.ts";
import { isJsonObject } from "../jsonNumber.ts";
import { MISSING, unknownVariant, wrongType } from "../serdeText.ts";

/** What is answered for a coin enabled without `tx_history`. */
const NOT_ENABLED = { state: "NotEnabled" as const };
const NO_PAGE: HistoryPage = { txs: [], skipped: 0, total: 0 };
const SUMMARY =
  "The transactions of a UTXO coin's wallet, newest first, if it was enabled with `tx_history`: those of the addresses watched since. Without it the list is empty and `sync_status` is `NotEnabled`; so for account chains.";

/** Most transactions of one page. `limit` of a reply says so where it cuts, and `total_pages` that there are more. */
const MAX_PAGE = 10_000;
const pagesOf = (total: number, limit: number): number => (limit === 0 ? 0 : Math.ceil(total / limit));

const limit = () => defaulted(readUsize, 10, { type: "integer", minimum: 0, default: 10 });
const transactions = z.array(historyTx);

export const myTxHistory = defineMethod<NoSuchCoin | { readonly kind: "UnknownFromId"; readonly id: string }>()({
  name: "my_tx_history",
  style: "flat",
  summary: SUMMARY,
  source: "reference rpc.md 5.4",
  params: z.object({
    coin: ticker(),
    limit: limit(),
    max: flag(false).describe("All there are, the newest 10,000 at most; `from_id` gets at those behind them."),
    from_id: optional(readString, { type: "string" }),
    page_number: optional(readNonZero, { type: "integer", minimum: 1 }),
  }),
  result: z.object({
    transactions,
    limit: z.number(),
    skipped: z.number(),
    from_id: z.string().nullable(),
    total: z.number(),
    current_block: z.number(),
    sync_status: syncStatus,
    page_number: z.number().nullable(),
    total_pages: z.number(),
  }),
  async handle(p, ctx, { signal }) {
    const coin = activeCoin(ctx, p.coin);
    if (!coin.ok) return coin;
    const start: PageStart =
      p.from_id !== undefined ? { kind: "after", txid: p.from_id.toLowerCase() } : { kind: "page", number: p.page_number ?? 1 };
    const limit = p.max ? MAX_PAGE : Math.min(p.limit, MAX_PAGE);
    const read = coin.value.history();
    const page = read ? await read(start, limit, signal) : NO_PAGE;
    if (!page) return err({ kind: "UnknownFromId", id: p.from_id ?? "" });
    return ok({
      transactions: await historyToJson(p.coin, page.txs, ctx.clock, signal),
      limit: p.max ? Math.min(page.total, MAX_PAGE) : limit,
      skipped: page.skipped,
      from_id: p.from_id ?? null,
      total: page.total,
      current_block: coin.value.tipHeight(),
      sync_status: syncStatusOf(read !== null, coin.value.scanProgress()),
      page_number: p.page_number ?? null,
      total_pages: pagesOf(page.total, limit),
    });
  },
  errors: {
    NoSuchCoin: noSuchCoin(true),
    UnknownFromId: { http: 400, when: "The history has no transaction `from_id`.", text: ({ id }) => `from_id ${id} is not found` },
  },
  examples: [
    {
      title: "Enabled without `tx_history`",
      style: "flat",
      params: { coin: "DOC", limit: 5 },
      result: {
        transactions: [],
        limit: 5,
        skipped: 0,
        from_id: null,
        total: 0,
        current_block: 100,
        sync_status: NOT_ENABLED,
        page_number: null,
        total_pages: 0,
      },
    },
    { title: "The coin is not enabled", style: "flat", params: { coin: "KMD" }, error: "NoSuchCoin" },
  ],
});

/** Where the page begins, as the caller wrote it. */
type Paging = { readonly FromId: string } | { readonly PageNumber: number };

const readPaging: Read<Paging> = (value) => {
  if (!isJsonObject(value)) return err(wrongType(value, "enum PagingOptionsEnum"));
  const [name, inner] = Object.entries(value)[0] ?? [];
  if (name === undefined || Object.keys(value).length > 1) return err(wrongType(value, "map with a single key"));
  if (name === "FromId") return typeof inner === "string" ? ok({ FromId: inner }) : err(wrongType(inner, "a string"));
  if (name !== "PageNumber") return err(unknownVariant(name, ["FromId", "PageNumber"]));
  const page = readNonZero(inner);
  return page.ok ? ok({ PageNumber: page.value }) : page;
};

type Target = { readonly type: "iguana" };

const readTarget: Read<Target> = (value) => {
  if (!isJsonObject(value)) return err(wrongType(value, "internally tagged enum MyTxHistoryTarget"));
  const { type } = value;
  if (type === undefined) return err(`${MISSING} \`type\``);
  if (typeof type !== "string") return err(wrongType(type, "variant identifier"));
  return type === "iguana" ? ok({ type }) : err(unknownVariant(type, ["iguana"]));
};

const PAGING = {
  oneOf: [
    { type: "object", properties: { FromId: { type: "string" } }, required: ["FromId"] },
    { type: "object", properties: { PageNumber: { type: "integer", minimum: 1 } }, required: ["PageNumber"] },
  ],
};

export const myTxHistoryV2 = defineMethod<{ readonly kind: "CoinIsNotActive"; readonly coin: string; readonly why: string | null }>()({
  name: "my_tx_history",
  style: "v2",
  struct: "MyTxHistoryRequestV2",
  summary: SUMMARY,
  source: "reference rpc.md 5.4",
  params: z.object({
    coin: ticker(),
    limit: limit(),
    paging_options: defaulted<Paging>(readPaging, { PageNumber: 1 }, PAGING),
    target: defaulted<Target>(readTarget, { type: "iguana" }, { type: "object", properties: { type: { const: "iguana" } } }),
  }),
  result: z.object({
    coin: z.string(),
    target: z.object({ type: z.literal("iguana") }),
    current_block: z.number(),
    transactions,
    sync_status: syncStatus,
    limit: z.number(),
    skipped: z.number(),
    total: z.number(),
    total_pages: z.number(),
    paging_options: z.union([z.object({ FromId: z.string() }), z.object({ PageNumber: z.number() })]),
  }),
  async handle(p, ctx, { signal }) {
    const coin = ctx.coins.active(p.coin);
    if (!coin) return err({ kind: "CoinIsNotActive", coin: p.coin, why: ctx.coins.whyAway(p.coin) });
    const { paging_options: paging } = p;
    const start: PageStart =
      "FromId" in paging ? { kind: "after", txid: paging.FromId.toLowerCase() } : { kind: "page", number: paging.PageNumber };
    const limit = Math.min(p.limit, MAX_PAGE);
    const read = coin.history();
    // Behind a transaction that is not there comes nothing.
    const page = (read && (await read(start, limit, signal))) ?? NO_PAGE;
    return ok({
      coin: p.coin,
      target: p.target,
      current_block: coin.tipHeight(),
      transactions: await historyToJson(p.coin, page.txs, ctx.clock, signal),
      sync_status: syncStatusOf(read !== null, coin.scanProgress()),
      limit,
      skipped: page.skipped,
      total: page.total,
      total_pages: pagesOf(page.total, limit),
      paging_options: p.paging_options,
    });
  },
  errors: {
    CoinIsNotActive: {
      http: 404,
      when: `The coin is not enabled. ${AWAITED}`,
      text: ({ coin, why }) => withWhy(coin, why),
      data: ({ coin }) => coin,
    },
  },
  examples: [
    {
      title: "Enabled without `tx_history`",
      style: "v2",
      params: { coin: "DOC" },
      result: {
        coin: "DOC",
        target: { type: "iguana" },
        current_block: 100,
        transactions: [],
        sync_status: NOT_ENABLED,
        limit: 10,
        skipped: 0,
        total: 0,
        total_pages: 0,
        paging_options: { PageNumber: 1 },
      },
    },
    { title: "The coin is not enabled", style: "v2", params: { coin: "KMD" }, error: "CoinIsNotActive" },
  ],
});
