import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readKdfDatabase } from "./kdfDatabase.ts";

let root = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "swapnode-kdf-db-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const uuidOf = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;

/** Swaps 1 to `swaps`, all but the last one finished. */
function write(swaps: number): void {
  const db = new DatabaseSync(join(root, "MM2.db"));
  db.exec(
    "CREATE TABLE my_swaps (id INTEGER PRIMARY KEY, my_coin TEXT, other_coin TEXT, uuid TEXT UNIQUE, started_at INTEGER, is_finished BOOLEAN)",
  );
  const row = db.prepare("INSERT INTO my_swaps (my_coin, other_coin, uuid, started_at, is_finished) VALUES ('DOC', 'MARTY', ?, ?, ?)");
  for (let n = 1; n <= swaps; n++) row.run(uuidOf(n), 1_700_000_000 + n, Number(n < swaps));
  db.close();
}

test.each([5, 7, 8, 10, 12])("of %i swaps the newest five are read, oldest first, and the number left out is said", (swaps) => {
  write(swaps);
  const read = readKdfDatabase(root, 5);
  expect(read.swaps.map((s) => s.uuid)).toEqual([4, 3, 2, 1, 0].map((back) => uuidOf(swaps - back)));
  expect(read.swaps.map((s) => s.isFinished)).toEqual([true, true, true, true, false]);
  expect(read.faults).toEqual(swaps === 5 ? [] : [`the ${swaps - 5} oldest rows of my_swaps are left out: no more than 5 are taken`]);
});
