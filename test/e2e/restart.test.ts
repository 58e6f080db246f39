import { expect, test } from "vitest";
import { MOMENTS } from "./support/moments.ts";
import { topologyOf, withNetwork } from "./support/network.ts";
import { ended, expectTraded, match, sidesOf } from "./support/trade.ts";

const BOTH = ["DOC", "MARTY"];
const funded = (name: string) => ({ name, enable: BOTH, fund: { DOC: "100", MARTY: "100" } });
const PAIR = topologyOf({ block_time_s: 0.5, nodes: [{ name: "seed", seed: true }, funded("maker"), funded("taker")] });
const TRADE = { base: "DOC", rel: "MARTY", price: "0.5", volume: "10", taken: "4", by: "buy" } as const;

for (const { who, moment, line } of MOMENTS) {
  test(`a ${who} killed ${moment} finishes the swap after it is started again`, async () => {
    await withNetwork(PAIR, async ({ node, logs, revive }) => {
      const before = await sidesOf(node("maker"), node("taker"), BOTH);
      const victim = node(who);
      const dying = logs.next(who, line, () => victim.process.kill("SIGKILL"));
      const uuid = await match(node("maker"), node("taker"), TRADE);
      await dying;
      expect(await victim.process.exited).toBe("SIGKILL");
      const again = await revive(who);
      const { result } = await again.rpc.call("coins_needed_for_kick_start");
      expect([...(result as string[])].sort()).toEqual(BOTH);
      const [maker, taker] = [node("maker"), node("taker")];
      const done = await ended(maker, taker, uuid);
      expect([done.maker.is_success, done.taker.is_success]).toEqual([true, true]);
      // Repeated or lost events would show: KDF's list holds each once.
      for (const { events } of [done.maker, done.taker]) expect(new Set(events.map((e) => e.event.type)).size).toBe(events.length);
      expectTraded(TRADE, before, await sidesOf(maker, taker, BOTH));
    });
  });
}

test("both nodes killed at once, with both payments locked, finish the swap after they are started again", async () => {
  await withNetwork(PAIR, async ({ node, logs, revive }) => {
    const before = await sidesOf(node("maker"), node("taker"), BOTH);
    const [maker, taker] = [node("maker"), node("taker")];
    const dying = logs.next("taker", { type: "tx_attempted", slot: "takerPayment" }, () => {
      for (const n of [maker, taker]) n.process.kill("SIGKILL");
    });
    const uuid = await match(maker, taker, TRADE);
    await dying;
    await Promise.all([maker, taker].map((n) => n.process.exited));
    await Promise.all(["maker", "taker"].map(revive));
    const done = await ended(node("maker"), node("taker"), uuid);
    expect([done.maker.is_success, done.taker.is_success]).toEqual([true, true]);
    expectTraded(TRADE, before, await sidesOf(node("maker"), node("taker"), BOTH));
  });
});
