import { chmodSync, mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeLock } from "../../../test/fakes/kdfFolder.ts";
import { tempFolder } from "../../../test/fakes/tempFolder.ts";
import { freshLock } from "./kdfLocks.ts";

const AT_SEC = 1_700_000_000;

function folder(): { readonly root: string; readonly lock: string } {
  const root = tempFolder();
  mkdirSync(join(root, "SWAPS", "MY"), { recursive: true });
  return { root, lock: join(root, "SWAPS", "MY", "00000001-0000-4000-8000-000000000000.lock") };
}

test("a lock of KDF counts for 40 s after the time it names, and before it", () => {
  const { root, lock } = folder();
  writeLock(lock, String(AT_SEC));
  const isFresh = (ageSec: number): boolean => freshLock(root, AT_SEC + ageSec) !== null;
  expect([-1_000, 0, 39, 40].map(isFresh)).toEqual([true, true, true, false]);
});

test.each([
  ["is empty, for KDF is writing it", "", 0o600],
  ["cannot be read", String(AT_SEC), 0],
  ["names the time of a clock that is behind", String(AT_SEC - 1_000), 0o600],
])("a lock of KDF that %s counts for 40 s after it was written", (_, text, mode) => {
  const { root, lock } = folder();
  writeFileSync(lock, text);
  utimesSync(lock, AT_SEC, AT_SEC);
  chmodSync(lock, mode);
  expect([0, 39, 40].map((ageSec) => freshLock(root, AT_SEC + ageSec)?.ageSec)).toEqual([0, 39, undefined]);
});

test("the name of a lock is told without what a terminal acts on", () => {
  const { root } = folder();
  writeLock(join(root, "SWAPS", "MY", "\u001b[2J.lock"), String(AT_SEC));
  expect(freshLock(root, AT_SEC)?.name).toBe('SWAPS/MY/"\\u001b[2J.lock"');
});
