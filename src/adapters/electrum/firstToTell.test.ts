import { expect, test } from "vitest";
import { VirtualClock } from "../virtualClock/virtualClock.ts";
import { firstToTell } from "./firstToTell.ts";
import type { RemoteServer } from "./remoteServer.ts";

const servers = ["a", "b", "c", "d"].map((name) => ({ name }) as RemoteServer);

/** What each comes to after so many ms; those of which nothing is said never end. */
type Ends = Readonly<Record<string, readonly [afterMs: number, found: string | null]>>;

test.each<readonly [string, Ends, string | null | undefined, string]>([
  ["the first that comes to something is enough", { a: [500, "A"], b: [0, "B"] }, "A", "a"],
  ["the next is tried at once where one comes to nothing", { a: [500, null], b: [500, "B"] }, "B", "ab"],
  ["and beside one that takes long, of which two may be in a row", { c: [1, "C"] }, "C", "abc"],
  ["one that took long may still be the first", { a: [3_000, "A"] }, "A", "ab"],
  ["there is nothing once all came to nothing", { a: [0, null], b: [0, null], c: [2_500, null], d: [0, null] }, null, "abcd"],
  ["and not before", { a: [0, null], c: [0, null], d: [0, null] }, undefined, "abcd"],
])("%s", async (_, ends, expected, tried) => {
  const clock = new VirtualClock();
  const begun: string[] = [];
  let found: string | null | undefined;
  void firstToTell(clock, servers, ({ name }) => {
    begun.push(name);
    const [afterMs, what] = ends[name] ?? [];
    return new Promise<string | null>((resolve) => {
      if (afterMs !== undefined) clock.after(afterMs, () => resolve(what ?? null));
    });
  }).then((value) => {
    found = value;
  });
  await clock.advance(20_000);
  expect([found, begun.join("")]).toEqual([expected, tried]);
});

test("of nobody nothing is found", async () => {
  expect(await firstToTell(new VirtualClock(), [], async () => "A")).toBeNull();
});
