import { expect, test } from "vitest";
import { PendingVerdicts } from "./pendingVerdicts.ts";

function setUp() {
  const told: string[] = [];
  const pending = new PendingVerdicts((peer, isCrowded) => told.push(`${peer} ${isCrowded ? "waits" : "goes on"}`));
  let count = 0;
  const enter = (peer: string, times: number) => Array.from({ length: times }, () => pending.enter(`k${count++}`, peer, 100, 0));
  return { told, pending, enter };
}

test("a peer with more than 512 waiting messages is told to wait once, and to go on once few are left", () => {
  const { told, pending, enter } = setUp();
  const waiting = enter("a", 512);
  enter("b", 10);
  expect(told).toEqual([]);
  waiting.push(...enter("a", 50));
  expect(told).toEqual(["a waits"]);
  for (const entry of waiting.slice(0, 306)) pending.leave(entry);
  expect(told).toEqual(["a waits"]);
  for (const entry of waiting.slice(306)) pending.leave(entry);
  expect(told).toEqual(["a waits", "a goes on"]);
});

test("when many peers fill half of the places each may only have a few", () => {
  const { told, pending, enter } = setUp();
  for (let peer = 0; peer < 9; peer++) enter(`p${peer}`, 500);
  expect(told.filter((line) => line !== "p8 waits")).toEqual([]);
  const late = enter("late", 17);
  expect(told).toContain("late waits");
  for (const entry of late.slice(0, 9)) pending.leave(entry);
  expect(told).not.toContain("late goes on");
  pending.leave(late[9] ?? late[0] ?? (enter("x", 1)[0] as never));
  expect(told).toContain("late goes on");
});

test("messages given up after 30 s let their peer go on", () => {
  const { told, pending, enter } = setUp();
  enter("a", 600);
  expect(pending.expire(30_000)).toBe(600);
  expect(told).toEqual(["a waits", "a goes on"]);
});
