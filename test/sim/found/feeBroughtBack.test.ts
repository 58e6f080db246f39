import { expect, test } from "vitest";
import { HOUR_MS } from "../../../sim/world/simWorld.ts";
import { expectNobodyLost, isOver, purses, txidOf } from "../audit.ts";
import { match, tradingWorld } from "../trade.ts";

// Seen while following seed 3 of `npm run sim -- --seeds 3 --orders 80`: the maker had given its coin and could not take the other,
// although it had every byte. The taker, whose swap had long ended, did not send its fee again.
test("a reorg takes the fee, the taker payment built on it and the claim out of their blocks while the taker is gone: the maker puts all three back", async () => {
  const t = await tradingWorld({ seed: 31 });
  const { world, maker, taker } = t;
  const before = purses(t);
  const uuid = await match(t, "4", "0.5");
  await world.runUntil("the swap ends for both", () => isOver(t, uuid), HOUR_MS);
  taker.crash();
  const { chain } = world.chain("MARTY");
  const slots = ["fee", "takerPayment", "takerPaymentSpend"] as const;
  const txids = slots.map((slot) => txidOf(slot === "takerPaymentSpend" ? maker : taker, uuid, slot) ?? "");
  const first = Math.min(...txids.map((id) => chain.state.blockOfTx(id)?.height ?? 0));
  expect(first).toBeGreaterThan(0);
  world.chain("MARTY").reorg(chain.state.tip.height - first + 1, txids);
  expect(txids.map((id) => chain.state.blockOfTx(id))).toEqual([undefined, undefined, undefined]);
  await world.runUntil("all three are in blocks again", () => txids.every((id) => chain.state.blockOfTx(id)), HOUR_MS);
  await taker.start(["DOC", "MARTY"]);
  expectNobodyLost(t, uuid, before);
  await world.close();
});
