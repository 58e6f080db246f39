import { spawn } from "node:child_process";
import { expect, test } from "vitest";
import { LIFELINE_VARIABLE } from "../devnet/nodeProcess.ts";

const MODULE = new URL("./lifeline.ts", import.meta.url).href;
const PROGRAM = `const { followLifeline } = await import(${JSON.stringify(MODULE)}); followLifeline();
process.stdout.write(String(process.env.${LIFELINE_VARIABLE})); setInterval(() => {}, 1000);`;

test("a process stops when whoever holds its lifeline is gone, and does not pass the name on", { timeout: 30_000 }, async () => {
  const child = spawn(process.execPath, ["--input-type=module", "-e", PROGRAM], {
    stdio: ["ignore", "pipe", "inherit", "pipe"],
    env: { ...process.env, [LIFELINE_VARIABLE]: "3" },
  });
  const said = await new Promise((resolve) => child.stdout?.once("data", (data) => resolve(String(data))));
  expect(said).toBe("undefined");
  const ended = new Promise((resolve) => child.once("exit", (_, signal) => resolve(signal)));
  child.stdio[3]?.destroy();
  expect(await ended).toBe("SIGTERM");
});
