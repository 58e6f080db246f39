import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { hangDisk, noStrace, stateOf } from "../../test/e2e/support/strace.ts";
import { tempFolder } from "../../test/fakes/tempFolder.ts";

const CLI = fileURLToPath(new URL("./cli.ts", import.meta.url));

const CONFIG = { rpc_password: "StrongPass123*", passphrase: "some words", disable_p2p: true, rpcport: 0, coins: [], dbdir: "DB" };

function startNode(cwd = tempFolder(), env: { readonly MM_LOG?: string } = {}): ChildProcessWithoutNullStreams {
  const child = spawn(process.execPath, [CLI, "start", "-"], { cwd, env: { PATH: process.env.PATH, HOME: cwd, ...env } });
  child.stdin.end(JSON.stringify(CONFIG));
  return child;
}

/** Runs a node until it has started, sends it the signal, and stops it once its standard error says something of that. */
async function signalled(signal: NodeJS.Signals): Promise<{ code: number | null; log: string }> {
  const child = startNode();
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const steps: readonly [RegExp, NodeJS.Signals][] = [
    [/"started"/, signal],
    [/"signal_ignored"|Debugger/, "SIGTERM"],
  ];
  let log = "";
  let done = 0;
  for await (const part of child.stderr) {
    log += String(part);
    for (let step = steps[done]; step?.[0].test(log); step = steps[++done]) child.kill(step[1]);
  }
  return { code: await exited, log };
}

test("SIGUSR1, which log rotation is often set to send, opens no debugger", async () => {
  const { code, log } = await signalled("SIGUSR1");
  expect(code).toBe(0);
  expect(log).toContain('"signal_ignored"');
  expect(log).not.toContain("Debugger");
});

test("after SIGHUP, which log rotation sends, the node goes on with a log file of the old name", async () => {
  const cwd = tempFolder();
  const path = join(cwd, "node.log");
  const child = startNode(cwd, { MM_LOG: path });
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  child.stderr.resume();
  const logged = (file: string): string => (existsSync(file) ? readFileSync(file, "utf8") : "");
  await expect.poll(() => logged(path), { timeout: 20_000 }).toContain('"started"');
  renameSync(path, `${path}.1`);
  child.kill("SIGHUP");
  await expect.poll(() => logged(path)).toContain('"log_reopened"');
  child.kill("SIGTERM");
  expect(await exited).toBe(0);
  expect(logged(path)).toContain('"stopped"');
  expect(logged(`${path}.1`)).not.toContain('"stopping"');
});

// `script` (util-linux) gives the node a terminal, and closes it when it is ended itself.
test.runIf(existsSync("/usr/bin/script"))("a terminal that is closed stops the node cleanly", async () => {
  const cwd = tempFolder();
  const path = join(cwd, "node.log");
  writeFileSync(join(cwd, "MM2.json"), JSON.stringify(CONFIG));
  writeFileSync(join(cwd, "coins"), "[]");
  const terminal = spawn("/usr/bin/script", ["-qec", `exec '${process.execPath}' '${CLI}' start`, "/dev/null"], {
    cwd,
    env: { PATH: process.env.PATH, HOME: cwd, MM_LOG: path },
    stdio: ["ignore", "ignore", "ignore"],
  });
  const log = (): string => (existsSync(path) ? readFileSync(path, "utf8") : "");
  await expect.poll(log, { timeout: 20_000 }).toContain('"started"');
  terminal.kill("SIGKILL");
  await expect.poll(log, { timeout: 10_000 }).toContain('"stopped"');
  expect(log()).toContain('"signal":"SIGHUP"');
});

test.skipIf(noStrace !== "")(`a second signal ends the process at once, also on a disk that does not answer${noStrace}`, async () => {
  const child = startNode();
  const hasSaid = async (event: string): Promise<void> => {
    for (let log = ""; !log.includes(event); )
      log += await new Promise<string>((resolve) => child.stderr.once("data", (part) => resolve(String(part))));
  };
  await hasSaid('"started"');
  const strace = await hangDisk(child.pid ?? 0);
  try {
    child.kill("SIGTERM");
    await hasSaid('"stopping"');
    // Those that come too soon count as the same request. Only strace keeps what is left of it then.
    const endAgain = (): unknown => child.kill("SIGTERM") && stateOf(child.pid);
    await expect.poll(endAgain, { timeout: 5_000 }).toBe("Z");
  } finally {
    strace.kill("SIGKILL");
    child.kill("SIGKILL");
  }
});
