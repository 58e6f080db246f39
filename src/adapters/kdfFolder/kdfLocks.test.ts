import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../../../test/fakes/tempFolder.ts";
import { freshLock } from "./kdfLocks.ts";

test("a lock of KDF counts for 40 s after the time it names, and before it", () => {
  const root = tempFolder();
  mkdirSync(join(root, "SWAPS", "MY"), { recursive: true });
  writeFileSync(join(root, "SWAPS", "MY", "00000001-0000-4000-8000-000000000000.lock"), "1700000000");
  const isFresh = (ageSec: number): boolean => freshLock(root, 1_700_000_000 + ageSec) !== null;
  expect([-1_000, 0, 39, 40].map(isFresh)).toEqual([true, true, true, false]);
});

test("the name of a lock is told without what a terminal acts on", () => {
  const root = tempFolder();
  mkdirSync(join(root, "SWAPS", "MY"), { recursive: true });
  writeFileSync(join(root, "SWAPS", "MY", "\u001b[2J.lock"), "1700000000");
  expect(freshLock(root, 1_700_000_000)?.name).toBe('SWAPS/MY/"\\u001b[2J.lock"');
});
