import { expect, test } from "vitest";
import { VirtualClock } from "../adapters/virtualClock/virtualClock.ts";
import { ExpiringMap } from "./expiringMap.ts";

test("an entry lives as long as was said, from the last time it was set, and the oldest makes room when all places are taken", async () => {
  const clock = new VirtualClock();
  const map = new ExpiringMap<number>(clock, 1_000, 3);
  for (const [i, key] of ["a", "b", "c"].entries()) map.set(key, i);
  await clock.advance(600);
  map.set("b", 10);
  expect(["a", "b", "c"].map((k) => map.get(k))).toEqual([0, 10, 2]);
  map.set("d", 3);
  map.set("e", 4);
  // Setting `b` anew made it younger than `c`.
  expect(["a", "b", "c", "d", "e"].map((k) => map.get(k))).toEqual([undefined, 10, undefined, 3, 4]);
  await clock.advance(999);
  expect(["b", "d", "e"].map((k) => map.get(k))).toEqual([10, 3, 4]);
  await clock.advance(1);
  expect(["b", "d", "e"].map((k) => map.get(k))).toEqual([undefined, undefined, undefined]);
});

test("what nobody asks for again does not stay: the dead go when the next one comes", async () => {
  const clock = new VirtualClock();
  const map = new ExpiringMap<number>(clock, 1_000, 100);
  for (let i = 0; i < 5; i++) map.set(`old ${i}`, i);
  await clock.advance(500);
  map.set("young", 6);
  await clock.advance(500);
  map.set("new", 7);
  expect([map.size, map.get("young"), map.get("new")]).toEqual([2, 6, 7]);
});
