import { z } from "zod";
import { OneByOne } from "../../core/util/oneByOne.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import { Aborted, mapInTurns } from "../../ports/clock.ts";
import { type BookLine, type BookSide, bookSide, flatEntry, flatEntryToJson, v2Entry, v2EntryToJson } from "../bookView.ts";
import type { RpcContext } from "../ctx.ts";
import { defineMethod } from "../define.ts";
import { ticker } from "../field.ts";
import { detailOf, numberDetail, tripleOf, tripleShape } from "../money.ts";
import { NO_NETWORK } from "../networkFault.ts";

type BookError =
  | { readonly kind: "BaseRelSame" }
  | { readonly kind: "CoinConfigNotFound"; readonly coin: string }
  | { readonly kind: "CoinIsWalletOnly"; readonly coin: string }
  | { readonly kind: "BaseRelSameOrderbookTickersAndProtocols" }
  | { readonly kind: "NoNetwork" };

const params = z.object({ base: ticker(), rel: ticker() });

/** Orders written in one turn of the event loop: each takes a twentieth of a millisecond, and a pair may have thousands. */
const WRITTEN_IN_TURN = 200;
/** Longer books are read and written one at a time, for each is in memory until it is written, and anybody may ask for any number of them: by the node whose books they are. */
const writers = new WeakMap<RpcContext["orderbook"], OneByOne>();

/** One side of a book as it is shown. */
type Written<L> = Omit<BookSide, "lines"> & { readonly lines: L[] };
type WrittenBook<L> = { readonly asks: Written<L>; readonly bids: Written<L>; readonly nowSec: number };

/** Checks of reference rpc.md 5.2 in the order of their texts there. Coins need not be enabled. */
async function readBook<L>(
  { base, rel }: z.output<typeof params>,
  ctx: RpcContext,
  toJson: (line: BookLine, nowSec: number) => L,
  signal: AbortSignal,
): Promise<Result<WrittenBook<L>, BookError>> {
  if (base === rel) return err({ kind: "BaseRelSame" });
  const [baseEntry, relEntry] = [ctx.coins.entry(base), ctx.coins.entry(rel)];
  if (!baseEntry) return err({ kind: "CoinConfigNotFound", coin: base });
  if (!relEntry) return err({ kind: "CoinConfigNotFound", coin: rel });
  if (baseEntry.walletOnly) return err({ kind: "CoinIsWalletOnly", coin: base });
  if (relEntry.walletOnly) return err({ kind: "CoinIsWalletOnly", coin: rel });
  const [baseTicker, relTicker] = [baseEntry.orderbookTicker ?? base, relEntry.orderbookTicker ?? rel];
  if (baseTicker === relTicker && baseEntry.protocol === relEntry.protocol) return err({ kind: "BaseRelSameOrderbookTickersAndProtocols" });
  const book = await ctx.orderbook.pair(baseTicker, relTicker);
  if (!book.ok) return book;
  const { size, read } = book.value;
  const write = async (): Promise<WrittenBook<L>> => {
    if (signal.aborted) throw new Aborted();
    const { asks, bids } = await read(signal);
    const nowSec = Math.floor(ctx.clock.nowMs() / 1000);
    const written = async ({ lines, ...totals }: BookSide): Promise<Written<L>> => ({
      ...totals,
      lines: await mapInTurns(ctx.clock, lines, WRITTEN_IN_TURN, (line) => toJson(line, nowSec), signal),
    });
    return { asks: await written(bookSide("asks", asks)), bids: await written(bookSide("bids", bids)), nowSec };
  };
  return ok(await (size <= WRITTEN_IN_TURN ? write() : writerOf(ctx.orderbook).run(write)));
}

function writerOf(books: RpcContext["orderbook"]): OneByOne {
  const writer = writers.get(books) ?? new OneByOne();
  writers.set(books, writer);
  return writer;
}

const flatResult = z.object({
  askdepth: z.literal(0),
  asks: z.array(flatEntry).describe("Highest price first."),
  base: z.string(),
  biddepth: z.literal(0),
  bids: z.array(flatEntry).describe("Highest price first."),
  netid: z.number(),
  numasks: z.number(),
  numbids: z.number(),
  rel: z.string(),
  timestamp: z.number().describe("Unix seconds."),
  ...tripleShape("total_asks_base_vol"),
  ...tripleShape("total_asks_rel_vol"),
  ...tripleShape("total_bids_base_vol"),
  ...tripleShape("total_bids_rel_vol"),
});

export const orderbook = defineMethod<BookError>()({
  name: "orderbook",
  style: "flat",
  flatReply: "bare",
  access: "public",
  needsKeys: false,
  summary: "Show the orderbook of a pair. Coins need not be enabled, only configured.",
  source: "reference rpc.md 5.2",
  params,
  result: flatResult,
  async handle(p, ctx, { signal }) {
    const book = await readBook(p, ctx, flatEntryToJson, signal);
    if (!book.ok) return book;
    const { asks, bids, nowSec } = book.value;
    return ok({
      askdepth: 0,
      asks: asks.lines,
      base: p.base,
      biddepth: 0,
      bids: bids.lines,
      netid: ctx.node.netid,
      numasks: asks.lines.length,
      numbids: bids.lines.length,
      rel: p.rel,
      timestamp: nowSec,
      ...tripleOf("total_asks_base_vol", asks.totalBase),
      ...tripleOf("total_asks_rel_vol", asks.totalRel),
      ...tripleOf("total_bids_base_vol", bids.totalBase),
      ...tripleOf("total_bids_rel_vol", bids.totalRel),
    });
  },
  errors: {
    BaseRelSame: { http: 400, when: "`base` and `rel` are the same coin.", text: () => "Base and rel must be different coins" },
    CoinConfigNotFound: { http: 400, when: "The coins file has no such coin.", text: ({ coin }) => `Coin ${coin} is not found in config` },
    CoinIsWalletOnly: { http: 400, when: "A coin is marked `wallet_only`.", text: ({ coin }) => `Base Coin ${coin} is wallet only` },
    BaseRelSameOrderbookTickersAndProtocols: {
      http: 400,
      when: "Both coins share one orderbook ticker and protocol.",
      text: () => "Base and rel coins have the same orderbook tickers and protocols.",
    },
    NoNetwork: NO_NETWORK,
  },
  examples: [
    { title: "One own order", style: "flat", params: { base: "DOC", rel: "MARTY" } },
    { title: "An unknown coin", style: "flat", params: { base: "NOSUCH", rel: "MARTY" }, error: "CoinConfigNotFound" },
    { title: "A coin for the wallet only", style: "flat", params: { base: "DOC", rel: "WALLET" }, error: "CoinIsWalletOnly" },
  ],
});

const v2Result = z.object({
  asks: z.array(v2Entry).describe("Highest price first."),
  base: z.string(),
  bids: z.array(v2Entry).describe("Highest price first."),
  net_id: z.number(),
  num_asks: z.number(),
  num_bids: z.number(),
  rel: z.string(),
  timestamp: z.number().describe("Unix seconds."),
  total_asks_base_vol: numberDetail,
  total_asks_rel_vol: numberDetail,
  total_bids_base_vol: numberDetail,
  total_bids_rel_vol: numberDetail,
});

export const orderbookV2 = defineMethod<BookError>()({
  name: "orderbook",
  style: "v2",
  access: "public",
  struct: "OrderbookRequest",
  needsKeys: false,
  summary: "Show the orderbook of a pair. Coins need not be enabled, only configured.",
  source: "reference rpc.md 5.2",
  params,
  result: v2Result,
  async handle(p, ctx, { signal }) {
    const book = await readBook(p, ctx, v2EntryToJson, signal);
    if (!book.ok) return book;
    const { asks, bids, nowSec } = book.value;
    return ok({
      asks: asks.lines,
      base: p.base,
      bids: bids.lines,
      net_id: ctx.node.netid,
      num_asks: asks.lines.length,
      num_bids: bids.lines.length,
      rel: p.rel,
      timestamp: nowSec,
      total_asks_base_vol: detailOf(asks.totalBase),
      total_asks_rel_vol: detailOf(asks.totalRel),
      total_bids_base_vol: detailOf(bids.totalBase),
      total_bids_rel_vol: detailOf(bids.totalRel),
    });
  },
  errors: {
    BaseRelSame: { http: 400, when: "`base` and `rel` are the same coin.", text: () => "BaseRelSame" },
    CoinConfigNotFound: { http: 400, when: "The coins file has no such coin.", text: (e) => e.coin, data: (e) => e.coin },
    CoinIsWalletOnly: { http: 400, when: "A coin is marked `wallet_only`.", text: (e) => e.coin, data: (e) => e.coin },
    BaseRelSameOrderbookTickersAndProtocols: {
      http: 400,
      when: "Both coins share one orderbook ticker and protocol.",
      text: () => "BaseRelSameOrderbookTickersAndProtocols",
    },
    NoNetwork: { ...NO_NETWORK, type: "P2PSubscribeError", data: NO_NETWORK.text },
  },
  examples: [
    { title: "One own order", style: "v2", params: { base: "DOC", rel: "MARTY" } },
    { title: "An unknown coin", style: "v2", params: { base: "NOSUCH", rel: "MARTY" }, error: "CoinConfigNotFound" },
    { title: "A coin for the wallet only", style: "v2", params: { base: "DOC", rel: "WALLET" }, error: "CoinIsWalletOnly" },
    { title: "One coin twice", style: "v2", params: { base: "DOC", rel: "DOC" }, error: "BaseRelSame" },
  ],
});
