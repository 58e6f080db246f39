import { afterEach, expect, test } from "vitest";
import type { StoredEvent } from "../../src/core/swap/events.ts";
import { SwapWorld } from "../fakes/swapWorld.ts";

SwapWorld.backend = "electrum";

let world: SwapWorld;
afterEach(() => world.close());

test("nothing pays for a maker's late claim that never left once the taker's payment is back: the claim would go before it", async () => {
  world = await SwapWorld.withPolicy("child");
  const { maker, taker } = world;
  maker.rpcOf("BBB").instead.set("sendrawtransaction", { ok: false, error: { kind: "unreachable", message: "no" } });
  const uuid = await world.start();
  await world.until("the mark", async () => (await maker.state(uuid)).own.takerPaymentSpend?.attempted === true);
  await maker.stop();
  maker.rpcOf("BBB").instead.clear();
  await world.withheld(taker, uuid, "takerPaymentRefund");
  const isBack = ({ event: e }: StoredEvent): boolean => e.type === "tx_seen" && e.slot === "takerPaymentRefund";
  await world.until("the taker's refund", async () => (await taker.events(uuid)).some(isBack));
  const before = maker.log.lines.length;
  const sent = () => maker.log.lines.slice(before).filter((l) => l.event === "broadcast" && l.fields.coin === "BBB");
  await maker.restart();
  await world.advance(120);
  expect(sent()).toEqual([]);
  world.chain("BBB").held.clear();
  expect(await world.finish(uuid)).toEqual({ maker: "refunded", taker: "refunded" });
  expect(sent()).toEqual([]);
});
