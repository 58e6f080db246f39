import { expect, test } from "vitest";
import { VirtualClock } from "../../adapters/virtualClock/virtualClock.ts";
import { Resender } from "./resender.ts";

/** Seconds at which a message goes out within `seconds`, looked at every half second. */
async function sentAt(resender: Resender, clock: VirtualClock, seconds: number, asks: (sec: number) => boolean): Promise<number[]> {
  const out: number[] = [];
  let isAsked = false;
  for (const startMs = clock.nowMs(); clock.nowMs() <= startMs + seconds * 1_000; await clock.advance(500)) {
    const sec = (clock.nowMs() - startMs) / 1_000;
    isAsked ||= asks(sec);
    if (!resender.isDue(isAsked)) continue;
    isAsked = false;
    out.push(sec);
  }
  return out;
}

test("a peer that is silent hears the message ever more rarely", async () => {
  const clock = new VirtualClock(0);
  expect(await sentAt(new Resender(clock, 15, () => -1), clock, 1_000, () => false)).toEqual([0, 15, 45, 105, 225, 465, 705, 945]);
});

test("a peer that shows that it waits is answered at once, and from then on as in the beginning", async () => {
  const clock = new VirtualClock(0);
  const asks = (sec: number): boolean => sec === 300;
  expect(await sentAt(new Resender(clock, 15, () => -1), clock, 400, asks)).toEqual([0, 15, 45, 105, 225, 300, 315, 345]);
});

test("a question that crossed the message is answered a second after it at the earliest; many at once get one answer", async () => {
  const clock = new VirtualClock(0);
  const asks = (sec: number): boolean => sec > 0 && sec <= 2;
  expect(await sentAt(new Resender(clock, 15, () => -1), clock, 30, asks)).toEqual([0, 1, 2, 17]);
});

test("a wall clock set back makes the message due at once, never late", async () => {
  const clock = new VirtualClock(100_000);
  let skewMs = 0;
  const skewed = { nowMs: () => clock.nowMs() + skewMs, after: clock.after.bind(clock) };
  const resender = new Resender(skewed, 15, () => -1);
  expect(resender.isDue(false)).toBe(true);
  expect(resender.leftMs).toBe(15_000);
  skewMs = -50_000;
  expect(resender.leftMs).toBe(1);
  expect(resender.isDue(false)).toBe(true);
});
