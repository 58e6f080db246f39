import { afterEach, expect, test } from "vitest";
import { HOUR_MS } from "../../sim/world/simWorld.ts";
import { type AccountWorld, accountWorld, ETH, match, type Ticker, TOKEN, TOKEN_AT, USDT, UTXO } from "./accountTrade.ts";

const SEED = 20_241_122;
let t: AccountWorld;
afterEach(() => t.world.close());

const isOver = (uuid: string) => (): boolean => t.maker.outcome(uuid) !== null && t.taker.outcome(uuid) !== null;

test.each([
  [UTXO, ETH],
  [ETH, UTXO],
  [UTXO, TOKEN],
  [TOKEN, UTXO],
  [TOKEN, ETH],
  [ETH, TOKEN],
  [USDT, TOKEN],
] as const satisfies readonly (readonly [Ticker, Ticker])[])("a swap of %s for %s succeeds for both sides", async (base, rel) => {
  t = await accountWorld({ seed: SEED });
  const uuid = await match(t, base, rel, "4", "0.5");
  await t.world.runUntil("the swap ends for both", isOver(uuid), 2 * HOUR_MS);
  expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["success", "success"]);
});

test.each([
  [false, 0n],
  [true, 2n ** 256n - 1n],
])("with unlimited_allowances %s the contract may take %i units of the token after a swap of it", async (unlimitedAllowances, left) => {
  t = await accountWorld({ seed: SEED }, { unlimitedAllowances });
  const uuid = await match(t, TOKEN, UTXO, "4", "0.5");
  await t.world.runUntil("the swap ends for both", isOver(uuid), 2 * HOUR_MS);
  const chain = t.world.accountChain(ETH);
  const [contract] = chain.swapContracts;
  expect([t.maker.outcome(uuid), contract && chain.allowance(TOKEN_AT, t.maker.account, contract)]).toEqual(["success", left]);
});

test("a swap whose facts cannot be stored is tried again after growing pauses, and goes on when they can", async () => {
  t = await accountWorld({ seed: SEED });
  const uuid = await match(t, UTXO, ETH, "4", "0.5");
  let refused = 0;
  t.taker.storeFault = (_uuid, { event }) => {
    if (event.type !== "tx_seen" || event.slot !== "makerPayment") return undefined;
    // A swap that wakes itself out of its pause never lets time pass: it is let go, and the count tells.
    return ++refused > 200 ? undefined : "refuse";
  };
  await t.world.runUntil("it was refused", () => refused > 0, HOUR_MS);
  await t.world.advance(10 * 60_000);
  expect(refused).toBeLessThan(100);
  t.taker.storeFault = () => undefined;
  await t.world.runUntil("the swap ends for both", isOver(uuid), 2 * HOUR_MS);
  expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["success", "success"]);
});
