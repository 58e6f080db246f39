import { z } from "zod";
import type { BestOrdersLimit } from "../../core/book/selection.ts";
import type { BestOrdersAction } from "../../core/message/requestMessage.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import { bestLines, flatOrder, flatOrderToJson, type OrderLine, v2Order, v2OrderToJson } from "../bookView.ts";
import type { RpcContext } from "../ctx.ts";
import { defineMethod } from "../define.ts";
import type { FaultTable } from "../fault.ts";
import { flag, type Read, readUsize, required, ticker } from "../field.ts";
import { isJsonObject } from "../jsonNumber.ts";
import { mmNumber, readMmNumber } from "../mmNumber.ts";
import { NO_NETWORK } from "../networkFault.ts";
import { MISSING, unknownVariant, wrongType } from "../serdeText.ts";

type BestOrdersError =
  | { readonly kind: "CoinIsWalletOnly"; readonly coin: string }
  | { readonly kind: "NoPeerAnswered" }
  | { readonly kind: "NoNetwork" };

const ACTIONS: readonly BestOrdersAction[] = ["buy", "sell"];
const readAction: Read<BestOrdersAction> = (value) => {
  if (typeof value !== "string") return err(wrongType(value, "string or map"));
  const action = ACTIONS.find((name) => name === value);
  return action ? ok(action) : err(unknownVariant(value, ACTIONS));
};
const action = () => required(readAction, { enum: ACTIONS });

const LIMITS = ["volume", "number"] as const;
const readRequestBy: Read<BestOrdersLimit> = (value) => {
  if (!isJsonObject(value)) return err(wrongType(value, "adjacently tagged enum RequestBestOrdersBy"));
  const { type, value: content } = value;
  if (type === undefined) return err(`${MISSING} \`type\``);
  if (typeof type !== "string") return err(wrongType(type, "variant identifier"));
  const by = LIMITS.find((name) => name === type);
  if (by === undefined) return err(unknownVariant(type, LIMITS));
  if (content === undefined) return err(`${MISSING} \`value\``);
  if (by === "volume") {
    const volume = readMmNumber(content);
    return volume.ok ? ok({ volume: volume.value }) : volume;
  }
  const count = readUsize(content);
  return count.ok ? ok({ count: count.value }) : count;
};
const BY = (name: string, value: object) => ({
  type: "object",
  properties: { type: { const: name }, value },
  required: ["type", "value"],
});
const requestBy = () =>
  required(readRequestBy, {
    title: "RequestBestOrdersBy",
    oneOf: [BY("volume", {}), BY("number", { type: "integer", minimum: 0 })],
  });

type Best = readonly (readonly [ticker: string, lines: readonly OrderLine[]])[];

/** Coins that nobody here could trade, since the coins file has none of the name or keeps it for the wallet, are left out. */
async function readBest(
  p: { readonly coin: string; readonly action: BestOrdersAction; readonly limit: BestOrdersLimit; readonly excludeMine: boolean },
  { coins, orderbook }: RpcContext,
  signal: AbortSignal,
): Promise<Result<Best, BestOrdersError>> {
  const entry = coins.entry(p.coin);
  if (entry?.walletOnly !== false) return err({ kind: "CoinIsWalletOnly", coin: p.coin });
  const best = await orderbook.best(entry.orderbookTicker ?? p.coin, p.action, p.limit, signal);
  if (!best.ok) return best;
  const shown: (readonly [string, readonly OrderLine[]])[] = [];
  for (const [ticker, entries] of best.value) {
    if (coins.entry(ticker)?.walletOnly !== false) continue;
    const lines = bestLines(
      p.action,
      entries.filter(({ isMine }) => !(p.excludeMine && isMine)),
    );
    if (lines.length > 0) shown.push([ticker, lines]);
  }
  return ok(shown);
}

const originalTickers = z
  .record(z.string(), z.array(z.string()))
  .describe("Coins of the coins file that trade under another ticker, by that ticker.");
const mutable = (tickers: { readonly [ticker: string]: readonly string[] }): Record<string, string[]> =>
  Object.fromEntries(Object.entries(tickers).map(([ticker, coins]) => [ticker, [...coins]]));

const SUMMARY = "The best orders between a coin and every other coin, as a relay knows them.";
const FAULTS: FaultTable<BestOrdersError> = {
  CoinIsWalletOnly: {
    http: 400,
    when: "The coin is marked `wallet_only` or is not in the coins file.",
    text: ({ coin }) => `Coin ${coin} is wallet only`,
    data: ({ coin }) => coin,
  },
  NoPeerAnswered: {
    http: 500,
    type: "P2PError",
    when: "No relay answered, or none has ever heard of the coin.",
    text: () => "No response from any peer",
    data: () => "No response from any peer",
  },
  NoNetwork: { ...NO_NETWORK, type: "P2PError", data: NO_NETWORK.text },
};

const flatResult = z.object({
  result: z.record(z.string(), z.array(flatOrder)).describe("By ticker of the other coin, best price first."),
  original_tickers: originalTickers,
});

export const bestOrders = defineMethod<BestOrdersError>()({
  name: "best_orders",
  style: "flat",
  flatReply: "bare",
  needsKeys: false,
  summary: SUMMARY,
  source: "reference rpc.md 5.4",
  params: z.object({
    coin: ticker().describe("The coin to buy or to sell."),
    action: action().describe("`buy`: orders that sell the coin; `sell`: orders that ask for it."),
    volume: mmNumber().describe("Units of the coin wanted of each other coin's orders."),
  }),
  result: flatResult,
  async handle(p, ctx, { signal }) {
    const best = await readBest({ coin: p.coin, action: p.action, limit: { volume: p.volume }, excludeMine: false }, ctx, signal);
    if (!best.ok) return best;
    const nowSec = Math.floor(ctx.clock.nowMs() / 1000);
    return ok({
      result: Object.fromEntries(best.value.map(([ticker, lines]) => [ticker, lines.map((line) => flatOrderToJson(line, ticker, nowSec))])),
      original_tickers: mutable(ctx.orderbook.originalTickers()),
    });
  },
  errors: FAULTS,
  examples: [
    { title: "Who sells DOC", style: "flat", params: { coin: "DOC", action: "buy", volume: "1" } },
    {
      title: "A coin that is only kept, not traded",
      style: "flat",
      params: { coin: "WALLET", action: "buy", volume: "1" },
      error: "CoinIsWalletOnly",
    },
    {
      title: "A coin no peer tells of",
      style: "flat",
      params: { coin: "KMD", action: "sell", volume: "1" },
      error: "NoPeerAnswered",
    },
  ],
});

const v2Result = z.object({
  orders: z.record(z.string(), z.array(v2Order)).describe("By ticker of the other coin, best price first."),
  original_tickers: originalTickers,
});

export const bestOrdersV2 = defineMethod<BestOrdersError>()({
  name: "best_orders",
  style: "v2",
  struct: "BestOrdersRequestV2",
  needsKeys: false,
  summary: SUMMARY,
  source: "reference rpc.md 5.4",
  params: z.object({
    coin: ticker().describe("The coin to buy or to sell."),
    action: action().describe("`buy`: orders that sell the coin; `sell`: orders that ask for it."),
    request_by: requestBy().describe("How much of each other coin's orders: units of the coin, or a number of orders."),
    exclude_mine: flag(false).describe("Leave out orders of this node."),
  }),
  result: v2Result,
  async handle(p, ctx, { signal }) {
    const best = await readBest({ coin: p.coin, action: p.action, limit: p.request_by, excludeMine: p.exclude_mine }, ctx, signal);
    if (!best.ok) return best;
    return ok({
      orders: Object.fromEntries(best.value.map(([ticker, lines]) => [ticker, lines.map((line) => v2OrderToJson(line, ticker))])),
      original_tickers: mutable(ctx.orderbook.originalTickers()),
    });
  },
  errors: FAULTS,
  examples: [
    {
      title: "The cheapest order for DOC in each coin",
      style: "v2",
      params: { coin: "DOC", action: "buy", request_by: { type: "number", value: 1 } },
    },
    {
      title: "Orders that take 5 MARTY, but for own ones",
      style: "v2",
      params: { coin: "MARTY", action: "sell", request_by: { type: "volume", value: "5" }, exclude_mine: true },
      result: { orders: {}, original_tickers: {} },
    },
    {
      title: "A coin that is only kept, not traded",
      style: "v2",
      params: { coin: "WALLET", action: "buy", request_by: { type: "number", value: 1 } },
      error: "CoinIsWalletOnly",
    },
    {
      title: "A coin no peer tells of",
      style: "v2",
      params: { coin: "KMD", action: "sell", request_by: { type: "number", value: 1 } },
      error: "NoPeerAnswered",
    },
  ],
});
