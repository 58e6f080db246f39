import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { Aborted, type Stoppable, sleep, withDeadline, withStop } from "../../ports/clock.ts";
import { randomBelow, shuffled } from "../../ports/rng.ts";
import { seededRng } from "./seededRng.ts";
import { VirtualClock } from "./virtualClock.ts";

test("timers run in order of due time, then of creation", async () => {
  const clock = new VirtualClock(1000);
  const ran: string[] = [];
  clock.after(20, () => ran.push(`c@${clock.nowMs()}`));
  clock.after(10, () => ran.push(`a@${clock.nowMs()}`));
  clock.after(10, () => ran.push(`b@${clock.nowMs()}`));
  expect(await clock.run()).toBe("idle");
  expect(ran).toEqual(["a@1010", "b@1010", "c@1020"]);
});

test("the time is always a whole millisecond, whatever the delays", async () => {
  const clock = new VirtualClock(0);
  const seen: number[] = [];
  clock.after(0.25, () => {
    seen.push(clock.nowMs());
    clock.after(1.5, () => seen.push(clock.nowMs()));
  });
  await clock.run();
  expect(seen).toEqual([1, 3]);
});

test("continuations of one timer are all done before the next timer of the same moment", async () => {
  const clock = new VirtualClock(0);
  const ran: string[] = [];
  const work = async (name: string): Promise<void> => {
    await sleep(clock, 5);
    for (let i = 0; i < 20; i++) await Promise.resolve();
    ran.push(name);
  };
  void work("a");
  clock.after(5, () => ran.push("b"));
  await clock.run();
  expect(ran).toEqual(["a", "b"]);
});

test("a cancelled timer does not run, cancelling twice is fine", async () => {
  const clock = new VirtualClock(0);
  const cancel = clock.after(5, () => expect.unreachable());
  cancel();
  cancel();
  expect(await clock.run()).toBe("idle");
  expect(clock.nowMs()).toBe(0);
});

test("run stops at the time, at the condition, and goes on later", async () => {
  const clock = new VirtualClock(0);
  let ticks = 0;
  const tick = (): void => {
    ticks++;
    clock.after(10, tick);
  };
  clock.after(10, tick);
  expect(await clock.run({ untilMs: 35 })).toBe("time");
  expect([clock.nowMs(), ticks]).toEqual([35, 3]);
  expect(await clock.run({ until: () => ticks === 5 })).toBe("until");
  expect(clock.nowMs()).toBe(50);
  expect(await clock.advance(25)).toBe("time");
  expect([clock.nowMs(), ticks]).toEqual([75, 7]);
});

test("deadlines work on virtual time", async () => {
  const clock = new VirtualClock(0);
  const outcome = withDeadline(clock, 1000, undefined, () => new Promise(() => undefined)).catch((e: unknown) => e);
  await clock.run();
  expect(await outcome).toBeInstanceOf(Aborted);
  expect(clock.nowMs()).toBe(1000);
});

test("a thousand shuffled timers come in order", async () => {
  const rng = seededRng(7);
  const clock = new VirtualClock(0);
  const delays = Array.from({ length: 1000 }, () => randomBelow(rng, 300));
  const ran: number[] = [];
  for (const delay of delays) clock.after(delay, () => ran.push(delay));
  await clock.run();
  expect(ran).toEqual([...delays].sort((a, b) => a - b));
});

test("timers that are left after thousands were cancelled come in order", async () => {
  const rng = seededRng(8);
  const clock = new VirtualClock(0);
  const ran: number[] = [];
  const kept: number[] = [];
  for (let i = 0; i < 5_000; i++) {
    const delay = randomBelow(rng, 1_000);
    const cancel = clock.after(delay, () => ran.push(delay));
    if (i % 10 === 0) kept.push(delay);
    else cancel();
  }
  await clock.run();
  expect(ran).toEqual(kept.sort((a, b) => a - b));
});

test("the same seed gives the same bytes, another seed others", () => {
  expect(seededRng(1).bytes(33)).toEqual(seededRng(1).bytes(33));
  expect(seededRng(1).bytes(33)).not.toEqual(seededRng(2).bytes(33));
  const rng = seededRng(3);
  const seen = new Set(Array.from({ length: 200 }, () => randomBelow(rng, 10)));
  expect(seen.size).toBe(10);
  expect(shuffled(rng, [1, 2, 3, 4, 5]).sort()).toEqual([1, 2, 3, 4, 5]);
});

test("withDeadline does not begin what is called off already", async () => {
  const clock = new VirtualClock(0);
  let begun = 0;
  const work = async (): Promise<void> => void begun++;
  await expect(withDeadline(clock, 1_000, AbortSignal.abort(), work)).rejects.toThrow(Aborted);
  expect(begun).toBe(0);
});

test("withDeadline ends with any of its parents and lets go of all of them", async () => {
  const clock = new VirtualClock(0);
  for (const which of [0, 1]) {
    const parents = [new AbortController(), new AbortController()];
    const signals = parents.map((p) => p.signal);
    let inner: AbortSignal | null = null;
    const outcome = withDeadline(clock, 1_000, signals, (signal) => {
      inner = signal;
      return new Promise(() => undefined);
    });
    parents[which]?.abort();
    await expect(outcome).rejects.toThrow("aborted");
    expect(inner).toMatchObject({ aborted: true });
    // The listener that all who wait for a signal share may stay.
    for (const signal of signals) expect(getEventListeners(signal, "abort").length).toBeLessThanOrEqual(1);
  }
});

test("a signal that is waited for a thousand times has one listener, and tells only who still waits", async () => {
  const clock = new VirtualClock(0);
  const parent = new AbortController();
  const ended = Array.from({ length: 500 }, () => withDeadline(clock, 10, parent.signal, async () => "done"));
  const slept = Array.from({ length: 500 }, () => sleep(clock, 10, parent.signal));
  await clock.run();
  expect(await Promise.all(ended)).toHaveLength(500);
  await Promise.all(slept);
  const waits = sleep(clock, 10, parent.signal).catch((cause: unknown) => cause);
  const given: Stoppable[] = [];
  const stopped = withStop(clock, 10, parent.signal, (one) => {
    given.push(one);
    return new Promise(() => undefined);
  }).catch((cause: unknown) => cause);
  expect(getEventListeners(parent.signal, "abort")).toHaveLength(1);
  parent.abort();
  expect(await waits).toBeInstanceOf(Aborted);
  expect(await stopped).toBeInstanceOf(Aborted);
  expect(given[0]?.signal.aborted).toBe(true);
  expect(await clock.run()).toBe("idle");
  expect(clock.nowMs()).toBe(10);
});

test("a run inside another one ends in its own turn, whenever it began", async () => {
  const clock = new VirtualClock(0);
  const late: number[] = [];
  const inside = async (): Promise<void> => {
    const atMs = clock.nowMs();
    await clock.run({ until: () => true });
    if (clock.nowMs() > atMs + 1) late.push(atMs);
  };
  for (let ms = 1; ms <= 600; ms++) clock.after(ms, () => void (ms % 3 === 0 ? Promise.all([inside(), inside()]) : inside()));
  for (let ms = 601; ms <= 700; ms++) clock.after(ms, () => undefined);
  await clock.run({ untilMs: 700 });
  expect(late).toEqual([]);
});
