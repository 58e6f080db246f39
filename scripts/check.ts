import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { ROOT } from "./sourceFiles.ts";

// npm run check: everything that can be checked without running the program, step by step. Exactly what CI runs.

const bin = (name: string): string => join(ROOT, "node_modules", ".bin", name);
const node = process.execPath;
const script = (name: string, ...args: string[]): string[] => [node, join(ROOT, "scripts", name), ...args];

const STEPS: readonly (readonly [name: string, command: readonly string[]])[] = [
  ["types of core", [bin("tsc"), "-p", "src/core"]],
  ["types", [bin("tsc"), "-p", "."]],
  ["format and lint", [join(ROOT, "node_modules/@biomejs/cli-linux-x64/biome"), "check", "."]],
  ["what Node runs", script("check-strip.ts")],
  ["layers", script("check-layers.ts")],
  ["clock, chance, console", script("check-ambient.ts")],
  ["native code", script("check-native.ts")],
  ["folders in ARCHITECTURE.md", script("check-folders.ts")],
  ["links, files and commands in documents", script("check-links.ts")],
  ["generated files", script("gen.ts", "--check")],
  ["unused code and packages", script("check-unused.ts")],
  ["build", script("build.ts")],
];

const failed: string[] = [];
for (const [name, [command = "", ...args]] of STEPS) {
  process.stdout.write(`-- ${name}\n`);
  const { status } = spawnSync(command, args, { cwd: ROOT, stdio: "inherit" });
  if (status !== 0) failed.push(name);
}
process.stdout.write(failed.length === 0 ? `check: ${STEPS.length} steps, all well\n` : `check failed: ${failed.join("; ")}\n`);
process.exit(failed.length === 0 ? 0 : 1);
