import { queryObjects } from "node:v8";
import { expect, test } from "vitest";
import { VirtualClock } from "../adapters/virtualClock/virtualClock.ts";
import { sleep } from "./clock.ts";
import { withParents } from "./withParents.ts";

test("work stops with any of its parents, also with one that fired before", async () => {
  const clock = new VirtualClock();
  for (const which of [0, 1]) {
    const parents = [new AbortController(), new AbortController()];
    const asked = withParents(
      parents.map(({ signal }) => signal),
      (signal) => sleep(clock, 1_000, signal),
    );
    parents[which]?.abort();
    await expect(asked).rejects.toMatchObject({ name: "Aborted" });
  }
  const over = withParents([new AbortController().signal, AbortSignal.abort()], async (signal) => signal.aborted);
  expect(await over).toBe(true);
});

test("work that is done keeps nothing of its signal, however long its parents live and whatever listened to it", async () => {
  const clock = new VirtualClock();
  const parents = [new AbortController().signal, new AbortController().signal];
  const before = queryObjects(AbortSignal, { format: "count" });
  for (let i = 0; i < 100; i++) {
    const done = withParents(parents, (signal) => sleep(clock, 1, signal));
    await clock.advance(1);
    await done;
  }
  expect(queryObjects(AbortSignal, { format: "count" }) - before).toBeLessThan(20);
});
