import { expect, test } from "vitest";
import { ended, expectTraded, match, sidesOf } from "../e2e/support/trade.ts";
import { isSkipped, skipReason } from "./support/programs.ts";
import { withRealChains } from "./support/realNetwork.ts";
import { BTC, LTC } from "./support/regtestChains.ts";

const BOTH = [LTC.coin, BTC.coin];
const nameOf = (line: Readonly<Record<string, unknown>>): string => [line.type, line.slot].filter(Boolean).join(" ");

for (const who of ["maker", "taker"] as const) {
  test.skipIf(isSkipped)(
    `litecoind and btcd: a ${who} killed at each event it stores finishes every swap after it is started again${skipReason}`,
    async () => {
      await withRealChains({}, async ({ node, logs, revive }) => {
        const trade = { base: LTC.coin, rel: BTC.coin, price: "0.5", volume: "0.2", taken: "0.2", by: "buy" } as const;
        const calm = await match(node("maker"), node("taker"), trade);
        await ended(node("maker"), node("taker"), calm);
        const stored = logs.all(who, { event: "swap_event", swap: calm });
        const moments = new Map(
          stored.map((line) => [nameOf(line), line.slot ? { type: line.type, slot: line.slot } : { type: line.type }]),
        );
        // Every step of the straight road: an own payment and claim, each signed, attempted, seen and confirmed, and more.
        expect([...moments.keys()]).toEqual(expect.arrayContaining([`tx_signed ${who}Payment`, "finished"]));
        expect(moments.size).toBeGreaterThan(12);
        for (const [name, moment] of moments) {
          const before = await sidesOf(node("maker"), node("taker"), BOTH);
          const victim = node(who);
          const dying = logs.next(who, { event: "swap_event", ...moment }, () => victim.process.kill("SIGKILL"));
          const uuid = await match(node("maker"), node("taker"), trade);
          await dying;
          expect(await victim.process.exited).toBe("SIGKILL");
          await revive(who);
          const done = await ended(node("maker"), node("taker"), uuid);
          expect([done.maker.is_success, done.taker.is_success], `killed at ${name}`).toEqual([true, true]);
          expectTraded(trade, before, await sidesOf(node("maker"), node("taker"), BOTH));
        }
      });
    },
    1_200_000,
  );
}
