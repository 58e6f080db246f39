import { expect, test } from "vitest";
import { swapTerms } from "../../../../test/fakes/swapTerms.ts";
import { VirtualClock } from "../../../adapters/virtualClock/virtualClock.ts";
import type { StoredEvent } from "../../../core/swap/events.ts";
import { fold } from "../../../core/swap/swapState.ts";
import { SwapTask, type SwapTaskDeps } from "../swapTask.ts";
import { noteSeen } from "./noteSeen.ts";

/** A taker's swap, on a clock of its own. `open`: the same, taken up from what it has stored. */
function begin(): { readonly task: SwapTask; readonly log: StoredEvent[]; readonly clock: VirtualClock; readonly open: () => SwapTask } {
  const clock = new VirtualClock();
  const log: StoredEvent[] = [{ v: 1, atMs: clock.nowMs(), event: { type: "started", terms: swapTerms("taker", { secretSalt: null }) } }];
  const deps = {
    clock,
    log: { info: () => undefined },
    store: { append: async (_uuid: string, _seq: number, event: StoredEvent) => void log.push(event) },
    onEvent: () => undefined,
  } as unknown as SwapTaskDeps;
  const open = (): SwapTask => new SwapTask(deps, log);
  return { task: open(), log, clock, open };
}

const id = (n: number): string => n.toString(16).padStart(64, "0");
const blockOf = (n: number): { height: number; hash: string } => ({ height: 100, hash: id(1_000 + n) });
const digitsOf = (log: readonly StoredEvent[]): number => log.reduce((n, { event }) => n + ("raw" in event ? event.raw.length : 0), 0);

test("the bytes of a payment or spend are stored once, whatever block it is shown in, and the state has them", async () => {
  for (const slot of ["makerPayment", "takerPaymentSpend"] as const) {
    const { task, log } = begin();
    for (let n = 0; n < 10; n++) for (const tx of [1, 2]) await noteSeen(task, { slot, txid: id(tx), raw: `0${tx}aa`, block: blockOf(n) });
    expect(digitsOf(log)).toBe(8);
    expect(fold(log.map(({ event }) => event)).facts[slot]).toEqual({ txid: id(2), raw: "02aa", block: blockOf(9), confirmed: false });
  }
});

test("a payment that moves from block to block all day is stored some forty times an hour, also when the node restarts, and then as it is", async () => {
  const world = begin();
  let { task } = world;
  const seen = { slot: "makerPayment", txid: id(1), raw: "aa" } as const;
  for (let n = 0; n < 24 * 360; n++) {
    if (n % 1_000 === 0) task = world.open();
    await noteSeen(task, { ...seen, block: blockOf(n) });
    await world.clock.advance(10_000);
  }
  expect(world.log.length).toBeGreaterThan(24 * 15);
  expect(world.log.length).toBeLessThan(24 * 42);
  await world.clock.advance(180_000);
  expect(await noteSeen(task, { ...seen, block: blockOf(-1) })).toBe(true);
  expect(task.state.facts.makerPayment?.block).toEqual(blockOf(-1));
});

test("of payments as large as a block may hold eight are stored at once, then four an hour; small forms are not held up by them for long", async () => {
  const { task, log, clock } = begin();
  const big = "ab".repeat(200_000);
  for (let n = 0; n < 360; n++) {
    await noteSeen(task, { slot: "makerPayment", txid: id(n), raw: big, block: null });
    await clock.advance(10_000);
  }
  expect(digitsOf(log) / big.length).toBeGreaterThanOrEqual(8);
  expect(digitsOf(log) / big.length).toBeLessThan(14);
  await clock.advance(180_000);
  expect(await noteSeen(task, { slot: "makerPayment", txid: id(999), raw: "aa", block: null })).toBe(true);
});

test("each of the first forms of a payment is stored though another one moved from block to block before", async () => {
  const { task } = begin();
  for (let n = 0; n < 100; n++) await noteSeen(task, { slot: "makerPayment", txid: id(1), raw: "aa", block: blockOf(n) });
  expect(await noteSeen(task, { slot: "makerPayment", txid: id(1), raw: "aa", block: blockOf(-1) })).toBe(false);
  for (let n = 2; n < 9; n++) expect(await noteSeen(task, { slot: "makerPayment", txid: id(n), raw: "aa", block: null })).toBe(true);
  expect(task.state.forms.makerPayment).toHaveLength(8);
});
