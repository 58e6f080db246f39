import { expect, test } from "vitest";
import { dropOldest } from "./dropOldest.ts";

test("the oldest go, as many as are too many, and each is told of once", () => {
  const [map, set] = [new Map([1, 2, 3, 4, 5].map((key) => [key, key])), new Set(["a", "b", "c"])];
  const dropped: number[] = [];
  dropOldest(map, 2, (key) => dropped.push(key));
  expect([[...map.keys()], dropped]).toEqual([
    [4, 5],
    [1, 2, 3],
  ]);
  dropOldest(map, 2, (key) => dropped.push(key));
  dropOldest(set, 2);
  expect([dropped.length, [...set]]).toEqual([3, ["b", "c"]]);
  dropOldest(set, 0);
  expect(set.size).toBe(0);
});
