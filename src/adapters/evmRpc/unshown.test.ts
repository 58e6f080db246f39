import { expect, test } from "vitest";
import { Unshown } from "./unshown.ts";

const at = (height: number) => ({ height, hash: `${height}` });
const sent = (height: number, events: "complete" | "searching" | "missing" = "missing") =>
  ({ state: "sent", events, block: at(height) }) as const;

test("what no node shows for a minute stands from then on, through repeated searches, until it is shown or the contract says otherwise", () => {
  const unshown = new Unshown();
  expect(unshown.sinceBlock("a", sent(1, "searching"), 0)).toBeNull();
  expect(unshown.sinceBlock("a", sent(1), 1_000)).toBeNull();
  expect(unshown.sinceBlock("a", sent(5), 60_999)).toBeNull();
  expect(unshown.sinceBlock("a", sent(6, "searching"), 61_000)).toEqual(at(6));
  expect(unshown.sinceBlock("a", sent(9), 80_000)).toEqual(at(6));
  expect(unshown.sinceBlock("a", { ...sent(9), state: "spent" }, 80_000)).toBeNull();
  expect(unshown.sinceBlock("a", { ...sent(14), state: "spent" }, 140_000)).toEqual(at(14));
  expect(unshown.sinceBlock("a", { ...sent(14, "complete"), state: "spent" }, 140_000)).toBeNull();
  expect(unshown.sinceBlock("a", { ...sent(14), state: "spent" }, 140_000)).toBeNull();
});

test("after a reorganisation only what stood in a final block stands", () => {
  const unshown = new Unshown();
  const look = (key: string, height: number, nowMs: number) => unshown.sinceBlock(key, sent(height), nowMs);
  look("a", 1, 0);
  look("b", 1, 60_000);
  expect(look("a", 10, 60_000)).toEqual(at(10));
  expect(look("b", 20, 120_000)).toEqual(at(20));
  unshown.reorganised(10);
  expect([look("a", 19, 120_000), look("b", 19, 120_000)]).toEqual([at(10), null]);
  unshown.reorganised(null);
  expect(look("a", 19, 120_000)).toBeNull();
});

test("payments that are watched no more are forgotten", () => {
  const unshown = new Unshown();
  unshown.sinceBlock("a", sent(1), 0);
  unshown.keepOnly(new Set(["b"]));
  expect(unshown.sinceBlock("a", sent(9), 60_000)).toBeNull();
});
