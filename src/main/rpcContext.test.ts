import { expect, test } from "vitest";
import type { DisabledCoin } from "../app/coin/enabling.ts";
import { ok } from "../core/util/result.ts";
import { createRpcContext, type RpcContextParts } from "./rpcContext.ts";

/** What is remembered of the coins of the last run when ETH is disabled so. */
async function remembered(passivized: boolean, tokens: readonly string[], force: boolean): Promise<readonly unknown[]> {
  const told: unknown[] = [];
  const done: DisabledCoin = { cancelledOrders: [], passivized, tokens };
  const lastCoins = {
    whyAway: () => null,
    setAside: async (coin: string, gone: readonly string[]) => void told.push(["aside", coin, gone]),
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
  expect(await remembered(false, [], false)).toEqual([["forget", ["ETH"]]]);
  expect(await remembered(true, [], false)).toEqual([["aside", "ETH", []]]);
  expect(await remembered(false, ["T"], true)).toEqual([["forget", ["ETH", "T"]]]);
  expect(await remembered(true, ["T"], true)).toEqual([["aside", "ETH", ["ETH", "T"]]]);
});
