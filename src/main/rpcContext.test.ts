import { expect, test } from "vitest";
import type { DisabledCoin } from "../app/coin/enabling.ts";
import { ok } from "../core/util/result.ts";
import { createRpcContext, type RpcContextParts } from "./rpcContext.ts";

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
