import { expect, test } from "vitest";
import { ended, expectTraded, match, sidesOf } from "../../e2e/support/trade.ts";
import { noAnvil, noAnvilReason } from "../../support/anvil.ts";
import { ETH, TOKEN, UTXO, withAccountNetwork } from "./accountNetwork.ts";

const ALL = [UTXO, ETH, TOKEN];
/** Each side bids by the tips of recent blocks, which here only the two pay: they climb from swap to swap. */
const GAS = "0.2";
/** Both legs on the account chain: every payment, claim and allowance goes through the nonces of one account. */
const TRADE = { base: ETH, rel: TOKEN, price: "1.5", volume: "0.5", taken: "0.5", by: "buy" } as const;
/** Blocks whose tips count for the next bid, or more. */
const QUIET_BLOCKS = 25;
const nameOf = (line: Readonly<Record<string, unknown>>): string => [line.type, line.slot].filter(Boolean).join(" ");

/** A file of its own for each side: a third of an hour is too long for one. */
export function testAccountKills(who: "maker" | "taker"): void {
  test.skipIf(noAnvil)(
    `ETH for ERC-20 on anvil: a ${who} killed at each event it stores finishes every swap after it is started again${noAnvilReason}`,
    async () => {
      await withAccountNetwork({}, async ({ node, logs, revive }, anvil) => {
        const calm = await match(node("maker"), node("taker"), TRADE);
        await ended(node("maker"), node("taker"), calm);
        const stored = logs.all(who, { event: "swap_event", swap: calm });
        const moments = new Map(
          stored.map((line) => [nameOf(line), line.slot ? { type: line.type, slot: line.slot } : { type: line.type }]),
        );
        // Every step of the straight road: an own payment and claim, each signed, attempted, seen and confirmed, and more.
        expect([...moments.keys()]).toEqual(expect.arrayContaining([`tx_signed ${who}Payment`, "finished"]));
        expect(moments.size).toBeGreaterThan(12);
        for (const [name, moment] of moments) {
          const before = await sidesOf(node("maker"), node("taker"), ALL);
          // Tips are bid by what recent blocks paid, and on this chain nobody but the two nodes pays any.
          await anvil.mine(QUIET_BLOCKS);
          const victim = node(who);
          const dying = logs.next(who, { event: "swap_event", ...moment }, () => victim.process.kill("SIGKILL"));
          const uuid = await match(node("maker"), node("taker"), TRADE);
          await dying;
          expect(await victim.process.exited).toBe("SIGKILL");
          await revive(who);
          const done = await ended(node("maker"), node("taker"), uuid);
          expect([done.maker.is_success, done.taker.is_success], `killed at ${name}`).toEqual([true, true]);
          expectTraded(TRADE, before, await sidesOf(node("maker"), node("taker"), ALL), GAS);
        }
      });
    },
    1_200_000,
  );
}
