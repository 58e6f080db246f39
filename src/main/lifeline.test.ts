import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LIFELINE_VARIABLE, ORPHAN_FOLDER_VARIABLE } from "../devnet/nodeProcess.ts";

const MODULE = new URL("./lifeline.ts", import.meta.url).href;
const PROGRAM = `const { followLifeline } = await import(${JSON.stringify(MODULE)}); followLifeline();
if (process.argv[1] === "listens") process.on("SIGTERM", () => process.exit(0));
process.stdout.write(String(process.env.${LIFELINE_VARIABLE})); setInterval(() => {}, 1000);`;

test("a process that listens to SIGTERM stops by it when whoever holds its lifeline is gone, and does not pass the name on", {
  timeout: 30_000,
}, async () => {
  const child = spawn(process.execPath, ["--input-type=module", "-e", PROGRAM, "listens"], {
    stdio: ["ignore", "pipe", "inherit", "pipe"],
    env: { ...process.env, [LIFELINE_VARIABLE]: "3" },
  });
  const said = await new Promise((resolve) => child.stdout?.once("data", (data) => resolve(String(data))));
  expect(said).toBe("undefined");
  const ended = new Promise((resolve) => child.once("exit", (code) => resolve(code)));
  child.stdio[3]?.destroy();
  expect(await ended).toBe(0);
});

test.each([
  ["listens", 0],
  ["is not that far yet", 1],
] as const)(
  "a process that %s removes its folder when its parent is gone, and the last one the folder around",
  { timeout: 30_000 },
  async (state, code) => {
    const root = mkdtempSync(join(tmpdir(), "swapnode-orphans-"));
    try {
      const folders = ["a", "b"].map((name) => join(root, name));
      for (const folder of folders) {
        mkdirSync(folder);
        writeFileSync(join(folder, "MM2.json"), "{}");
      }
      for (const [i, folder] of folders.entries()) {
        const child = spawn(process.execPath, ["--input-type=module", "-e", PROGRAM, state], {
          stdio: ["ignore", "pipe", "inherit", "pipe"],
          env: { ...process.env, [LIFELINE_VARIABLE]: "3", [ORPHAN_FOLDER_VARIABLE]: folder },
        });
        await new Promise((resolve) => child.stdout?.once("data", resolve));
        expect(existsSync(folder)).toBe(true);
        const ended = new Promise((resolve) => child.once("exit", (status) => resolve(status)));
        child.stdio[3]?.destroy();
        expect([await ended, existsSync(folder), existsSync(root)]).toEqual([code, false, i === 0]);
      }
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  },
);
