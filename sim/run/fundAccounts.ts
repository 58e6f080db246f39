import { transferCall } from "../../src/core/evm/erc20.ts";
import type { SimNode } from "../world/simNode.ts";
import type { SimWorld } from "../world/simWorld.ts";
import { accountUnit, chainTickerOf, FINAL_DEPTH, tokenAt } from "./simAccounts.ts";

/** What nodes were given of the coins of account chains, base units, and where the chains stood then. */
export type AccountFunds = {
  /** By ticker and node. */
  readonly purses: ReadonlyMap<string, ReadonlyMap<string, bigint>>;
  /** By chain: its next height, and what the faucet had paid for gas. */
  readonly since: ReadonlyMap<string, { readonly height: number; readonly gasPaid: bigint }>;
};

/** Less than nonces of the faucet that may wait. */
const PER_BLOCK = 50;

/** Wei or tokens of a node at the tip. */
export function accountBalance(world: SimWorld, ticker: string, address: SimNode["account"]): bigint {
  const chain = world.accountChain(chainTickerOf(ticker));
  const token = tokenAt(ticker);
  return token === null ? chain.balance(address) : chain.tokenBalance(token, address);
}

/** Pays everybody so many whole coins of each of the coins, in blocks of their own. */
export function fundAccounts(
  world: SimWorld,
  tickers: readonly string[],
  people: readonly { readonly name: string; readonly coins: bigint }[],
): AccountFunds {
  const purses = new Map<string, Map<string, bigint>>();
  for (const ticker of tickers) {
    const chain = world.accountChain(chainTickerOf(ticker));
    const token = tokenAt(ticker);
    const given = new Map<string, bigint>();
    for (const { name, coins } of people) {
      const units = coins * accountUnit(ticker);
      const { account } = world.node(name);
      if (token === null) chain.payFromFaucet(account, units);
      else chain.payFromFaucet(token, 0n, transferCall(account, units));
      given.set(name, units);
      if (chain.pool.ids().length >= PER_BLOCK) chain.mine();
    }
    purses.set(ticker, given);
  }
  // No reorganisation takes back what was given.
  for (const chain of world.accountChains.values()) chain.mine(1 + FINAL_DEPTH);
  const since = [...world.accountChains].map(
    ([ticker, chain]) => [ticker, { height: chain.tip.height + 1, gasPaid: chain.burned + chain.earned }] as const,
  );
  return { purses, since: new Map(since) };
}
