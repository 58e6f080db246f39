import { expect, test } from "vitest";
import { quietLog } from "../../../test/fakes/quietLog.ts";
import { swapTerms } from "../../../test/fakes/swapTerms.ts";
import { VirtualClock } from "../../adapters/virtualClock/virtualClock.ts";
import { Aborted } from "../../ports/clock.ts";
import type { SwapStore } from "../../ports/swapStore.ts";
import { SwapTask, type SwapTaskDeps } from "./swapTask.ts";

const STARTED = { v: 1, atMs: 0, event: { type: "started", terms: swapTerms("maker") } } as const;
const FAILURE = { event: "NegotiateFailed", reason: "nobody answered" };

/** A task of which every duty waits for news and notes how its wait ended. Nothing of the coins is asked. */
function waitingTask(clock: VirtualClock, waitMs: number): { readonly task: SwapTask; readonly ends: string[] } {
  const ends: string[] = [];
  const deps: Partial<SwapTaskDeps> = {
    clock,
    log: quietLog,
    store: { append: async () => undefined } as Partial<SwapStore> as SwapStore,
    onEvent: () => undefined,
    runDuty: (task, duty, signal) =>
      task.news(task.version, waitMs, signal).then(
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

test("news ends the wait of every duty, and so does its time", async () => {
  const clock = new VirtualClock(0);
  const { task, ends } = waitingTask(clock, 60_000);
  task.run();
  await clock.advance(1_000);
  task.wake();
  await clock.advance(62_000);
  expect(ends).toEqual(["negotiate woken at 1000", "negotiate woken at 61000"]);
  await task.stop();
});
