import { spawnSync } from "node:child_process";
import { rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { tempFolder } from "../../test/fakes/tempFolder.ts";
import { packageVersion } from "./version.ts";

const CLI = fileURLToPath(new URL("./cli.ts", import.meta.url));
const LAUNCHER = fileURLToPath(new URL("../../bin/swapnode.cjs", import.meta.url));
const cwd = tempFolder();

function run(file: string, args: readonly string[], input = "") {
  const env = { PATH: process.env.PATH, HOME: cwd };
  const { status, stdout, stderr } = spawnSync(process.execPath, [file, ...args], { cwd, env, input, encoding: "utf8" });
  return { status, stdout, stderr };
}

test.each(["--version", "-v"])("%s prints name and version, also through the launcher", (flag) => {
  const expected = { status: 0, stdout: `swapnode ${packageVersion()}\n`, stderr: "" };
  expect(run(CLI, [flag])).toEqual(expected);
  expect(run(LAUNCHER, [flag])).toEqual(expected);
});

test("--help names every command and fits a terminal", () => {
  const { status, stdout } = run(CLI, ["--help"]);
  expect(status).toBe(0);
  for (const word of ["start", "wallet create", "demo", "devnet", "chain", "MM_CONF_PATH", "MM_COINS_PATH", "MM_LOG"])
    expect(stdout).toContain(word);
  for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
});

test("a wrong command is a usage error that names the right one", () => {
  const { status, stderr } = run(CLI, ["strat"]);
  expect(status).toBe(2);
  expect(stderr).toContain("did you mean start?");
});

test.each([
  [["start", '{"rpc_password":"password"}'], "Password can't contain the word password"],
  [['{"rpc_password":"StrongPass123*","netid":7777}'], "Invalid netid: 7777 netid is deprecated."],
  [["not json, but{"], "unknown command"],
  [["{not json"], "Couldn't parse mm2 config to JSON format!"],
])("start %j is refused with one sentence", (args, text) => {
  const { status, stdout, stderr } = run(CLI, args);
  expect(status).toBeGreaterThan(0);
  expect(stdout).toBe("");
  expect(stderr).toContain(text);
  expect(stderr.trim().split("\n")).toHaveLength(1);
});

test.each([[["start", "--dbdir", "x"]], [["start", "--port=1"]], [["--dbdir"]], [["start", "{}", "more"]], [["{}", "more"]]])(
  "%j is a usage error",
  (args) => {
    const { status, stderr } = run(CLI, args);
    expect(status).toBe(2);
    expect(stderr).toContain("start takes at most one argument, the configuration as JSON");
  },
);

test("the configuration is read from a pipe, with - and when there is no other", () => {
  const config = '{"rpc_password":"StrongPass123*","netid":7777}';
  for (const args of [["start", "-"], ["-"], ["start"], []]) expect(run(CLI, args, config).stderr).toContain("7777 netid is deprecated.");
});

test("wallet create makes a wallet that wallet show opens; the phrase goes to standard output only", () => {
  const password = "StrongPass123*\n";
  const made = run(CLI, ["wallet", "create", "--name", "main", "--dbdir", "db"], password);
  expect(made.status).toBe(0);
  const phrase = made.stdout.trim();
  expect(phrase.split(" ")).toHaveLength(12);
  expect(made.stderr).not.toContain(phrase);
  expect(statSync(join(cwd, "db", "WALLETS", "main.json")).mode & 0o777).toBe(0o600);
  expect(run(CLI, ["wallet", "show", "--name", "main", "--dbdir", "db"], password).stdout.trim()).toBe(phrase);
  expect(run(CLI, ["wallet", "show", "--name", "main", "--dbdir", "db"], "OtherPass123*\n").stderr).toContain(
    "password of wallet main is wrong",
  );
  expect(run(CLI, ["wallet", "create", "--name", "main", "--dbdir", "db"], password).stderr).toContain("exists already");
});

test("wallet create puts the wallet where the node of this folder looks for it, and nowhere while that cannot be known", () => {
  const password = "StrongPass123*\n";
  const file = join(cwd, "MM2.json");
  try {
    writeFileSync(file, '{"dbdir":"elsewhere","wallet_name":"mine"}');
    const made = run(CLI, ["wallet", "create", "--name", "mine"], password);
    expect(made.stderr).toContain(join(cwd, "elsewhere", "WALLETS", "mine.json"));
    expect(run(CLI, ["wallet", "show", "--name", "mine"], password).stdout).toBe(made.stdout);
    writeFileSync(file, '{"dbdir":"elsewhere",');
    const refused = run(CLI, ["wallet", "create", "--name", "mine"], password);
    expect([refused.status, refused.stdout]).toEqual([1, ""]);
    expect(refused.stderr).toContain(`the dbdir in ${file} cannot be read: mend it, or name the folder with --dbdir`);
  } finally {
    rmSync(file);
  }
});

test.each([
  [["wallet", "create"], "weak"],
  [["wallet", "destroy", "--name", "x"], "StrongPass123*"],
  [["wallet", "create", "--name", "../x"], "StrongPass123*"],
  [["wallet", "create", "--nmae", "x"], "StrongPass123*"],
])("%j is a usage error", (args, input) => {
  const { status, stderr } = run(CLI, args, `${input}\n`);
  expect(status).toBe(2);
  expect(stderr).toContain("usage: swapnode wallet");
});

test("a weak wallet password is refused with KDF's text", () => {
  expect(run(CLI, ["wallet", "create", "--name", "w"], "weak\n")).toMatchObject({
    status: 1,
    stderr: expect.stringContaining("Password length should be at least 8 characters long"),
  });
});
