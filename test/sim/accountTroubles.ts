import { afterEach, describe, expect, test } from "vitest";
import { HOUR_MS } from "../../sim/world/simWorld.ts";
import type { Role } from "../../src/core/swap/events.ts";
import { type Books, books } from "./accountAudit.ts";
import { onMined, onSend, type Step } from "./accountMeddling.ts";
import { runSwap } from "./accountRun.ts";
import { type AccountWorld, accountWorld, ETH, type Ticker, TOKEN, UTXO } from "./accountTrade.ts";

const SEED = 20_241_125;
const MINUTE_MS = 60_000;

export type Place = readonly [Ticker, Ticker, Role, Step];
/** Whose transaction of a swap trouble may meet. */
export const ALL_PLACES: readonly Place[] = [
  [TOKEN, UTXO, "maker", "approval"],
  [UTXO, TOKEN, "taker", "approval"],
  [UTXO, ETH, "taker", "fee"],
  [ETH, UTXO, "maker", "payment"],
  [UTXO, TOKEN, "taker", "payment"],
  [UTXO, ETH, "maker", "claim"],
  [TOKEN, UTXO, "taker", "claim"],
];

/** Tests of every kind of trouble a chain may give, at each of these places. */
export function testTroubles(places: readonly Place[]): void {
  describe("trouble at a step", { timeout: 120_000 }, () => {
    let t: AccountWorld;
    let before: Books;
    afterEach(() => t.world.close());
    const chain = () => t.world.accountChain(ETH);

    async function open(pollMs = 5_000): Promise<void> {
      t = await accountWorld({ seed: SEED, pollMs });
      before = books(t);
    }

    const run = (base: Ticker, rel: Ticker, allowances?: bigint): Promise<string> => runSwap(t, before, base, rel, allowances);

    test.each(places)(
      "%s for %s: a reorg that takes the %s's %s back and mines it again in another block does no harm",
      async (base, rel, who, step) => {
        await open();
        let undone = 0;
        onMined(t, t[who], step, () => {
          undone++;
          expect(chain().reorg(1).ok).toBe(true);
        });
        expect(await run(base, rel)).toBe("success success");
        expect(undone).toBe(1);
      },
    );

    test.each(places)("%s for %s: a reorg after which nobody knows the %s's %s any more does no harm", async (base, rel, who, step) => {
      await open();
      let undone = 0;
      onMined(t, t[who], step, ({ txid }) => {
        undone++;
        expect(chain().reorg(1, { forget: [txid] }).ok).toBe(true);
      });
      expect(await run(base, rel)).toBe("success success");
      expect(undone).toBe(1);
    });

    test.each(places)("%s for %s: a pool that forgets the %s's %s again and again gets it again", async (base, rel, who, step) => {
      await open();
      const counted: string[] = [];
      onSend(
        t[who],
        step,
        ({ txid }) => {
          counted.push(txid);
          for (const ms of [10, 2_000, 5_000]) t.world.clock.after(ms, () => chain().pool.remove(txid));
        },
        "after",
        3,
      );
      expect(await run(base, rel)).toBe("success success");
      expect(counted.length).toBeGreaterThan(0);
    });

    test.each(places)("%s for %s: the reply to the %s's %s is lost, and it is not made twice", async (base, rel, who, step) => {
      await open();
      let lost = 0;
      onSend(t[who], step, () => {
        lost++;
        t[who].link(ETH).fault({ kind: "lost_reply" }, { count: 1 });
      });
      expect(await run(base, rel)).toBe("success success");
      expect(lost).toBe(1);
    });

    test.each(places)("%s for %s: the nodes are away for ten minutes from the %s's %s on", async (base, rel, who, step) => {
      await open();
      let away = 0;
      onSend(t[who], step, () => {
        away++;
        t[who].link(ETH).fault({ kind: "http_500" }, { forMs: 10 * MINUTE_MS });
      });
      // An approval that is late by so much leaves no time for the payment.
      expect(["success success", "failed failed"]).toContain(await run(base, rel, 4_000_000n));
      expect(away).toBe(1);
    });

    test.each(places)("%s for %s: gas fifty times as dear from the %s's %s on costs nobody a coin", async (base, rel, who, step) => {
      await open();
      onSend(t[who], step, () => chain().spike(50n, 2 * HOUR_MS));
      expect([
        "success success",
        "failed failed",
        "refunded failed",
        "refunded cancelled",
        "cancelled failed",
        "refunded refunded",
      ]).toContain(await run(base, rel, 4_000_000n));
    });
  });
}
