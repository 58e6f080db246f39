import { expect, test } from "vitest";
import type { Log, LogFields } from "../../ports/log.ts";
import { UnreadRecords } from "./unreadRecords.ts";

function recorder(): { readonly log: Log; readonly told: string[] } {
  const told: string[] = [];
  const note = (event: string, fields?: LogFields): void => void told.push(`${event} ${fields?.swap}: ${fields?.error}`);
  const log: Log = { debug: note, info: note, warn: note, error: note, child: () => log };
  return { log, told };
}

test("a record that cannot be read is told of once, and again when it cannot be read for another reason", () => {
  const { log, told } = recorder();
  const unread = new UnreadRecords(log);
  unread.tell("a", new Error("torn"));
  unread.tell("a", new Error("torn"));
  unread.tell("b", "no sum");
  unread.tell("a", new Error("unknown event"));
  expect(told).toEqual(["swap_not_read a: torn", "swap_not_read b: no sum", "swap_not_read a: unknown event"]);
});

test("no more than two hundred are remembered: the first of more is told of again", () => {
  const { log, told } = recorder();
  const unread = new UnreadRecords(log);
  for (let n = 0; n <= 200; n++) unread.tell(`${n}`, "torn");
  unread.tell("200", "torn");
  expect(told.length).toBe(201);
  unread.tell("0", "torn");
  expect(told.length).toBe(202);
});
