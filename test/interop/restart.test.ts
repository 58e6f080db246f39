import { expect, test } from "vitest";
import { MOMENTS } from "../e2e/support/moments.ts";
import { ended, expectTraded, match, sidesOf } from "../e2e/support/trade.ts";
import { isSkipped, skipReason } from "./support/programs.ts";
import { withRealChains } from "./support/realNetwork.ts";
import { BTC, LTC } from "./support/regtestChains.ts";

const BOTH = [LTC.coin, BTC.coin];

for (const who of ["maker", "taker"] as const) {
  test.skipIf(isSkipped)(
    `litecoind and btcd: a ${who} killed at three moments finishes each swap after it is started again${skipReason}`,
    async () => {
      await withRealChains({}, async ({ node, logs, revive }) => {
        const moments = MOMENTS.filter((m) => m.who === who);
        expect(moments).toHaveLength(3);
        for (const [i, { moment, line }] of moments.entries()) {
          // Both chains get to be the maker's.
          const [base, rel] = i % 2 === 0 ? [LTC.coin, BTC.coin] : [BTC.coin, LTC.coin];
          const trade = { base, rel, price: "0.5", volume: "2", taken: "2", by: "buy" } as const;
          const before = await sidesOf(node("maker"), node("taker"), BOTH);
          const victim = node(who);
          const dying = logs.next(who, line, () => victim.process.kill("SIGKILL"));
          const uuid = await match(node("maker"), node("taker"), trade);
          await dying;
          expect(await victim.process.exited).toBe("SIGKILL");
          await revive(who);
          const done = await ended(node("maker"), node("taker"), uuid);
          expect([done.maker.is_success, done.taker.is_success], `killed ${moment}`).toEqual([true, true]);
          expectTraded(trade, before, await sidesOf(node("maker"), node("taker"), BOTH));
        }
      });
    },
  );
}
