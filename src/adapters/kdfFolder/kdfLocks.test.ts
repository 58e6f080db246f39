import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { freshLock } from "./kdfLocks.ts";

test("a lock of KDF counts for 40 s after the time it names, and before it", () => {
  const root = mkdtempSync(join(tmpdir(), "swapnode-locks-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  mkdirSync(join(root, "SWAPS", "MY"), { recursive: true });
  writeFileSync(join(root, "SWAPS", "MY", "00000001-0000-4000-8000-000000000000.lock"), "1700000000");
  const isFresh = (ageSec: number): boolean => freshLock(root, 1_700_000_000 + ageSec) !== null;
  expect([-1_000, 0, 39, 40].map(isFresh)).toEqual([true, true, true, false]);
});
