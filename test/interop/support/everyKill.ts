import { expect } from "vitest";
import type { TestNetwork } from "../../e2e/support/network.ts";
import { ended, expectTraded, match, sidesOf, type Trade } from "../../e2e/support/trade.ts";

/** @param minerFees whole coins a side may have paid for one swap, at most; a default for script chains */
export type EveryKill = {
  readonly who: "maker" | "taker";
  readonly trade: Trade;
  readonly coins: readonly string[];
  readonly minerFees?: string;
  /** Done before each swap but the first. */
  readonly between?: () => Promise<void>;
};

const nameOf = (line: Readonly<Record<string, unknown>>): string => [line.type, line.slot].filter(Boolean).join(" ");

/** A calm swap tells which events a side stores; then a swap for each of them, at which that side is killed and started again. */
export async function killAtEachEvent({ node, logs, revive }: TestNetwork, options: EveryKill): Promise<void> {
  const { who, trade, coins, minerFees, between } = options;
  const calm = await match(node("maker"), node("taker"), trade);
  await ended(node("maker"), node("taker"), calm);
  const stored = logs.all(who, { event: "swap_event", swap: calm });
  const moments = new Map(stored.map((line) => [nameOf(line), line.slot ? { type: line.type, slot: line.slot } : { type: line.type }]));
  // Every step of the straight road: an own payment and claim, each signed, attempted, seen and confirmed, and more.
  expect([...moments.keys()]).toEqual(expect.arrayContaining([`tx_signed ${who}Payment`, "finished"]));
  expect(moments.size).toBeGreaterThan(12);
  const former = [calm];
  for (const [name, moment] of moments) {
    const before = await sidesOf(node("maker"), node("taker"), coins);
    await between?.();
    const victim = node(who);
    // Swaps of before are watched until nothing can undo them, and may store the same event meanwhile.
    const swap = new RegExp(`^(?!${former.join("|")})`);
    const dying = logs.next(who, { event: "swap_event", ...moment, swap }, () => victim.process.kill("SIGKILL"));
    const uuid = await match(node("maker"), node("taker"), trade);
    former.push(uuid);
    await dying;
    expect(await victim.process.exited).toBe("SIGKILL");
    await revive(who);
    const done = await ended(node("maker"), node("taker"), uuid);
    expect([done.maker.is_success, done.taker.is_success], `killed at ${name}`).toEqual([true, true]);
    expectTraded(trade, before, await sidesOf(node("maker"), node("taker"), coins), minerFees);
  }
}
