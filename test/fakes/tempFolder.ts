import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

const made: string[] = [];
afterAll(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A new folder among the system's temporary ones; gone when the test file that asked for it is done. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "swapnode-test-"));
  made.push(folder);
  return folder;
}
