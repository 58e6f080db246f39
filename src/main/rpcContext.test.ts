import { expect, test } from "vitest";
import { PromptClock } from "../../test/fakes/promptClock.ts";
import type { DisabledCoin } from "../app/coin/enabling.ts";
import { ok } from "../core/util/result.ts";
import type { OrderbookApi } from "../rpc/ctx/orders.ts";
import { createRpcContext, type RpcContextParts } from "./rpcContext.ts";

const COUNT = 130;

/** What is remembered of the coins of the last run when ETH is disabled so. */
async function remembered(kept: readonly string[], tokens: readonly string[], force: boolean): Promise<readonly unknown[]> {
  const told: unknown[] = [];
  const done: DisabledCoin = { cancelledOrders: [], passivized: kept.includes("ETH"), tokens, kept };
  const lastCoins = {
    whyAway: () => null,
    beside: () => [],
    instead: (_: readonly string[], work: () => unknown) => work(),
    setAside: async (coins: readonly string[]) => void told.push(["aside", coins]),
    forget: async (coins: readonly string[]) => void told.push(["forget", coins]),
  };
  const parts = {
    node: { coins: { disable: async () => ok(done), wallet: () => undefined } },
    p2p: null,
    lastCoins,
  } as unknown as RpcContextParts;
  expect(await createRpcContext(parts).coins.disable("ETH", force)).toEqual(ok(done));
  return told;
}

test("a coin that stays for its tokens or for swaps when it is disabled comes back for them after a start, and nothing else does", async () => {
  expect(await remembered([], [], false)).toEqual([["forget", ["ETH"]]]);
  expect(await remembered(["ETH"], [], false)).toEqual([["aside", ["ETH"]]]);
  expect(await remembered([], ["T"], true)).toEqual([["forget", ["ETH", "T"]]]);
  expect(await remembered(["ETH"], ["T"], true)).toEqual([
    ["aside", ["ETH"]],
    ["forget", ["T"]],
  ]);
});

/** What an API shows of `COUNT` orders, and in how many turns of the event loop. */
async function shownOf<T>(ask: (api: OrderbookApi) => Promise<T>): Promise<readonly [T, number]> {
  const entry = (n: number) => ({ item: { uuid: String(n), pubkey: "", base: "AAA", rel: "BBB" }, conf: null, isMine: false });
  const entries = Array.from({ length: COUNT }, (_, n) => entry(n));
  const clock = new PromptClock();
  let turns = 1;
  clock.onTurn = () => turns++;
  const node = {
    book: {
      subscribePair: async () => undefined,
      depth: () => ({ asks: COUNT, bids: 0 }),
      entries: (base: string) => (base === "AAA" ? entries : []),
      bestOrders: async () => new Map(entries.map((e) => [`C${e.item.uuid}`, [e]])),
    },
    makerAddresses: async () => (ticker: string) => ticker,
  };
  const parts = { node, p2p: {}, clock } as unknown as RpcContextParts;
  return [await ask(createRpcContext(parts).orderbook), turns];
}

test("of a full book the addresses of fifty makers are worked out in a turn, for strangers may have an order each", async () => {
  const { signal } = new AbortController();
  const [pair, turns] = await shownOf(async (api) => {
    const book = await api.pair("AAA", "BBB");
    return book.ok ? { size: book.value.size, ...(await book.value.read(signal)) } : null;
  });
  expect(pair?.size).toBe(COUNT);
  expect([pair?.asks.map(({ uuid }) => Number(uuid)), turns]).toEqual([Array.from({ length: COUNT }, (_, n) => n), 3]);
  const [best, turnsOfBest] = await shownOf((api) => api.best("AAA", "buy", { count: 1 }, signal));
  const shown = best.ok ? [...best.value].map(([other, lines]) => [other, lines.map(({ uuid, address }) => `${uuid} ${address}`)]) : [];
  expect([shown, turnsOfBest]).toEqual([Array.from({ length: COUNT }, (_, n) => [`C${n}`, [`${n} C${n}`]]), 3]);
});
