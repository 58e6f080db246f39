import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const work = mkdtempSync(join(tmpdir(), "swapnode-pack-"));
afterAll(() => rmSync(work, { recursive: true, force: true }));

/** The machine's own Node and npm: npm puts the pinned Node of this checkout first, which an installed package has not. */
const PATH = (process.env.PATH ?? "")
  .split(delimiter)
  .filter((folder) => !folder.includes("node_modules"))
  .join(delimiter);

function run(command: string, args: readonly string[], cwd: string, timeoutMs = 240_000) {
  const env = { PATH, HOME: process.env.HOME ?? work, npm_config_update_notifier: "false" };
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, env, encoding: "utf8", timeout: timeoutMs });
  return { status, stdout, stderr: error === undefined ? stderr : `${stderr}\n${error.message}` };
}

const registry = run("npm", ["ping", "--fetch-retries=0", "--fetch-timeout=15000"], work, 60_000);
const skipped = registry.status === 0 ? "" : " (skipped: the npm registry cannot be reached)";

/** Packs the checkout, installs it into an empty folder and trades with it there. */
function packInstallTrade(folder: string): void {
  const place = mkdtempSync(join(work, folder));
  const packed = run("npm", ["pack", "--pack-destination", place], ROOT);
  expect(packed.status, packed.stderr).toBe(0);
  const archive = readdirSync(place).find((name) => name.endsWith(".tgz"));
  if (archive === undefined) throw new Error("npm pack made no archive");
  const installed = run("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", join(place, archive)], place);
  expect(installed.status, installed.stderr).toBe(0);

  const command = join(place, "node_modules", ".bin", "swapnode");
  const version = run(command, ["--version"], place);
  expect(version).toMatchObject({ status: 0, stdout: expect.stringMatching(/^swapnode \d+\.\d+\.\d+\n$/) });
  const demo = run(command, ["demo"], place, 120_000);
  expect(demo.status, `${demo.stdout}\n${demo.stderr}`).toBe(0);
}

test.skipIf(skipped !== "")(`the built package, installed into an empty folder, answers and trades${skipped}`, () => {
  expect(Number.parseInt(run("node", ["--version"], work).stdout.slice(1), 10)).toBeGreaterThanOrEqual(20);
  const built = run("npm", ["run", "build"], ROOT);
  expect(built.status, built.stderr).toBe(0);
  packInstallTrade("built-");
});

test.skipIf(skipped !== "")(`a package packed without a build (npm runs none under ignore-scripts) answers and trades${skipped}`, () => {
  rmSync(join(ROOT, "dist"), { recursive: true, force: true });
  packInstallTrade("source-");
});
