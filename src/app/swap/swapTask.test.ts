import { expect, test } from "vitest";
import { quietLog } from "../../../test/fakes/quietLog.ts";
import { SilentLog } from "../../../test/fakes/silentLog.ts";
import { swapTerms } from "../../../test/fakes/swapTerms.ts";
import { VirtualClock } from "../../adapters/virtualClock/virtualClock.ts";
import { Aborted } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { SwapStore } from "../../ports/swapStore.ts";
import { type NewsOf, SwapTask, type SwapTaskDeps } from "./swapTask.ts";

const STARTED = { v: 1, atMs: 0, event: { type: "started", terms: swapTerms("maker") } } as const;
const FAILURE = { event: "NegotiateFailed", reason: "nobody answered" };

/** A task of which every duty waits for news and notes how its wait ended. Nothing of the coins is asked. */
function waitingTask(
  clock: VirtualClock,
  waitMs: number,
  of: NewsOf = "chain",
  log: Log = quietLog,
): { readonly task: SwapTask; readonly ends: string[] } {
  const ends: string[] = [];
  const deps: Partial<SwapTaskDeps> = {
    clock,
    log,
    store: { append: async () => undefined } as Partial<SwapStore> as SwapStore,
    onEvent: () => undefined,
    runDuty: (task, duty, signal) =>
      task.news(task.seen(of), waitMs, signal).then(
        () => void ends.push(`${duty.do} woken at ${clock.nowMs()}`),
        (cause: unknown) => {
          ends.push(`${duty.do} ${cause instanceof Aborted ? "called off" : String(cause)} at ${clock.nowMs()}`);
          throw cause;
        },
      ),
  };
  return { task: new SwapTask(deps as SwapTaskDeps, [STARTED]), ends };
}

test("a duty that the state no longer demands does not wait for its time, nor does one whose swap is stopped", async () => {
  const clock = new VirtualClock(0);
  const { task, ends } = waitingTask(clock, 60_000);
  task.run();
  await clock.advance(1_000);
  await task.emit({ type: "abandoned", failure: FAILURE });
  await clock.advance(1_000);
  expect(ends).toEqual(["negotiate called off at 1000"]);

  const other = waitingTask(clock, 60_000);
  other.task.run();
  await clock.advance(1_000);
  await other.task.stop();
  await clock.advance(1_000);
  expect(other.ends).toEqual(["negotiate called off at 3000"]);
});

test("how long a swap has run is no less for a clock that is set back after a start", () => {
  let nowMs = 8 * 3_600_000;
  const clock = { nowMs: () => nowMs, after: () => () => undefined };
  const task = new SwapTask({ clock } as unknown as SwapTaskDeps, [STARTED]);
  nowMs = 0;
  expect(task.ranSec()).toBe(0);
  nowMs = 61_000;
  expect(task.ranSec()).toBe(61);
});

test("the same trouble, tried again and again, is logged once a minute", async () => {
  const clock = new VirtualClock(0);
  const log = new SilentLog();
  const { task } = waitingTask(clock, 60_000, "chain", log);
  for (let i = 0; i < 121; i++) {
    task.trouble("refused");
    await clock.advance(1_000);
  }
  task.trouble("refused otherwise");
  expect(task.lastTrouble).toBe("refused otherwise");
  expect(log.lines.map(({ fields }) => fields.what)).toEqual(["refused", "refused", "refused", "refused otherwise"]);
});

test("news ends the wait of every duty, and so does its time", async () => {
  const clock = new VirtualClock(0);
  const { task, ends } = waitingTask(clock, 60_000);
  task.run();
  await clock.advance(1_000);
  task.wake("chain");
  await clock.advance(62_000);
  expect(ends).toEqual(["negotiate woken at 1000", "negotiate woken at 61000"]);
  await task.stop();
});

test.each([
  ["chain", { chain: true, peer: false, log: true }],
  ["messages", { chain: false, peer: true, log: true }],
  ["anything", { chain: true, peer: true, log: true }],
] as const)("who waits for news of %s is woken by such and by what the swap stores, and by nothing else", async (of, wakes) => {
  for (const from of ["chain", "peer", "log"] as const) {
    const clock = new VirtualClock(0);
    const { task } = waitingTask(clock, 60_000, of);
    const woken: number[] = [];
    const { signal } = new AbortController();
    void task.news(task.seen(of), 60_000, signal).then(() => woken.push(clock.nowMs()));
    await clock.advance(1_000);
    task.wake(from);
    await clock.advance(1_000);
    expect(woken).toEqual(wakes[from] ? [1_000] : []);
  }
});

test.each([
  ["chain", "chain"],
  ["messages", "peer"],
  ["anything", "chain"],
  ["anything", "peer"],
  ["messages", "log"],
] as const)("news that comes between the look and the wait is not missed: %s, by %s", async (of, from) => {
  const clock = new VirtualClock(0);
  const { task } = waitingTask(clock, 60_000, of);
  const seen = task.seen(of);
  task.wake(from);
  await task.news(seen, 60_000, new AbortController().signal);
  expect(clock.nowMs()).toBe(0);
});

test("an outcome that the disk refuses is tried after pauses that grow, and stored within a minute of there being room", async () => {
  const clock = new VirtualClock(0);
  const { task } = waitingTask(clock, 60_000);
  let [isFull, tries] = [false, 0];
  const append: SwapStore["append"] = async (_uuid, _seq, { event }) => {
    if (event.type !== "finished") return;
    tries++;
    if (isFull) throw new Error("the disk is full");
  };
  Object.assign(task.deps.store, { append, log: async () => [] });
  task.run();
  isFull = true;
  await task.emit({ type: "abandoned", failure: FAILURE });
  await clock.advance(3_600_000);
  expect(tries).toBeGreaterThan(50);
  expect(tries).toBeLessThan(80);
  expect(task.state.finished).toBeNull();
  isFull = false;
  await clock.advance(60_000);
  expect(task.state.finished).toBe("failed");
  await task.stop();
});

test("an event that is stored wakes who waits for messages and who waits for the chain", async () => {
  const clock = new VirtualClock(0);
  const { task } = waitingTask(clock, 60_000);
  const { signal } = new AbortController();
  const waits = (["chain", "messages", "anything"] as const).map((of) => task.news(task.seen(of), 60_000, signal));
  await task.emit({ type: "abandoned", failure: FAILURE });
  await Promise.all(waits);
  expect(clock.nowMs()).toBe(0);
});

test("of the other side's messages those are kept that the swap reads", () => {
  const { task } = waitingTask(new VirtualClock(0), 60_000);
  task.hear({ type: "MakerPayment", tx: { data: Uint8Array.of(1) } });
  task.hear({ type: "TakerFee", tx: { data: Uint8Array.of(2) } });
  expect([task.mailbox.take("MakerPayment"), task.mailbox.take("TakerFee")?.tx.data[0]]).toEqual([undefined, 2]);
});
