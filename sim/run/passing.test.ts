import { expect, test } from "vitest";
import { VirtualClock } from "../../src/adapters/virtualClock/virtualClock.ts";
import { Passing } from "./passing.ts";

test("of faults that overlap the latest holds, and after the last of them what was there before", async () => {
  const clock = new VirtualClock(0);
  const passing = new Passing(clock);
  let skew = 7;
  const begin = (value: number, forMs: number): number =>
    passing.set("skew", value, skew, forMs, (now) => {
      skew = now;
    });
  const seen: number[] = [];
  const at = async (ms: number): Promise<void> => {
    await clock.advance(ms);
    seen.push(skew);
  };
  begin(100, 50);
  await at(10);
  begin(200, 60);
  await at(10);
  // The first is over, the second is not.
  await at(40);
  // So it is.
  await at(20);
  begin(300, 50);
  begin(400, 10);
  await at(20);
  await at(40);
  expect(seen).toEqual([100, 200, 200, 7, 300, 7]);
});
