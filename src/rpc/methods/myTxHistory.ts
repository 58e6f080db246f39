import { z } from "zod";
import { err, ok } from "../../core/util/result.ts";
import { activeCoin, type NoSuchCoin, noSuchCoin } from "../coinFaults.ts";
import { defineMethod } from "../define.ts";
import { defaulted, flag, optional, type Read, readNonZero, readString, readUsize, text } from "../field.ts";
import { isJsonObject } from "../jsonNumber.ts";
import { MISSING, unknownVariant, wrongType } from "../serdeText.ts";

/** This node keeps no history of transactions: what KDF answers for a coin enabled without `tx_history`. */
const NOT_ENABLED = { state: "NotEnabled" as const };

const limit = () => defaulted(readUsize, 10, { type: "integer", minimum: 0, default: 10 });
const noTransactions = z.array(z.never()).describe("Always empty.");
const syncStatus = z.object({ state: z.literal("NotEnabled") });

export const myTxHistory = defineMethod<NoSuchCoin>()({
  name: "my_tx_history",
  style: "flat",
  summary: "The transactions of a coin's wallet. This node keeps no such history and says so: `sync_status` is `NotEnabled`.",
  source: "reference rpc.md 5.4",
  params: z.object({
    coin: text(),
    limit: limit(),
    max: flag(false).describe("All there are."),
    from_id: optional(readString, { type: "string" }),
    page_number: optional(readNonZero, { type: "integer", minimum: 1 }),
  }),
  result: z.object({
    transactions: noTransactions,
    limit: z.number(),
    skipped: z.number(),
    from_id: z.string().nullable(),
    total: z.number(),
    current_block: z.number(),
    sync_status: syncStatus,
    page_number: z.number().nullable(),
    total_pages: z.number(),
  }),
  async handle(p, ctx) {
    const coin = activeCoin(ctx, p.coin);
    if (!coin.ok) return coin;
    return ok({
      transactions: [],
      limit: p.max ? 0 : p.limit,
      skipped: 0,
      from_id: p.from_id ?? null,
      total: 0,
      current_block: coin.value.tipHeight(),
      sync_status: NOT_ENABLED,
      page_number: p.page_number ?? null,
      total_pages: 0,
    });
  },
  errors: { NoSuchCoin: noSuchCoin(true) },
  examples: [
    {
      title: "No history is kept",
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

export const myTxHistoryV2 = defineMethod<{ readonly kind: "CoinIsNotActive"; readonly coin: string }>()({
  name: "my_tx_history",
  style: "v2",
  struct: "MyTxHistoryRequestV2",
  summary: "The transactions of a coin's wallet. This node keeps no such history and says so: `sync_status` is `NotEnabled`.",
  source: "reference rpc.md 5.4",
  params: z.object({
    coin: text(),
    limit: limit(),
    paging_options: defaulted<Paging>(readPaging, { PageNumber: 1 }, PAGING),
    target: defaulted<Target>(readTarget, { type: "iguana" }, { type: "object", properties: { type: { const: "iguana" } } }),
  }),
  result: z.object({
    coin: z.string(),
    target: z.object({ type: z.literal("iguana") }),
    current_block: z.number(),
    transactions: noTransactions,
    sync_status: syncStatus,
    limit: z.number(),
    skipped: z.number(),
    total: z.number(),
    total_pages: z.number(),
    paging_options: z.union([z.object({ FromId: z.string() }), z.object({ PageNumber: z.number() })]),
  }),
  async handle(p, ctx) {
    const coin = ctx.coins.active(p.coin);
    if (!coin) return err({ kind: "CoinIsNotActive", coin: p.coin });
    return ok({
      coin: p.coin,
      target: p.target,
      current_block: coin.tipHeight(),
      transactions: [],
      sync_status: NOT_ENABLED,
      limit: p.limit,
      skipped: 0,
      total: 0,
      total_pages: 0,
      paging_options: p.paging_options,
    });
  },
  errors: {
    CoinIsNotActive: { http: 404, when: "The coin is not enabled.", text: ({ coin }) => coin, data: ({ coin }) => coin },
  },
  examples: [
    {
      title: "No history is kept",
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
