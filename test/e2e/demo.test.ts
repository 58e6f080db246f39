import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, expect, test, vi } from "vitest";
import { main } from "../../src/devnet/demo.ts";
import { until } from "../../src/devnet/devnet.ts";
import { noAnvil, noAnvilReason } from "../support/anvil.ts";

const CLI = fileURLToPath(new URL("../../src/main/cli.ts", import.meta.url));
/** What the demo may take, from the command to the last line. */
const LIMIT_MS = 60_000;

const work = mkdtempSync(join(tmpdir(), "swapnode-demo-test-"));
const running = new Set<ChildProcess>();
afterEach(() => {
  for (const child of running) child.kill("SIGKILL");
});
afterAll(() => rmSync(work, { recursive: true, force: true }));

function demo(args: readonly string[], temporary: string) {
  const child = spawn(process.execPath, [CLI, "demo", ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, TMPDIR: temporary },
  });
  running.add(child);
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (data: Buffer) => {
      said += data;
    });
  }
  const exited = new Promise<number | string>((resolve) => child.once("close", (code, signal) => resolve(code ?? signal ?? "unknown")));
  void exited.then(() => running.delete(child));
  return { child, said: () => said, exited };
}

test("demo --keep shows the swap and the balances within a minute, its curl lines work as printed, and Ctrl-C leaves nothing", async () => {
  const run = demo(["--keep"], work);
  const over = run.exited.then((code) => Promise.reject(new Error(`the demo ended with ${code}\n${run.said()}`)));
  over.catch(() => undefined);
  await Promise.race([until("it stays up", async () => (run.said().includes('"my_balance"') ? true : null), LIMIT_MS), over]);
  const said = run.said();
  for (const [who, step] of [
    ["bob", "TakerFeeSent"],
    ["alice", "MakerPaymentSent"],
    ["bob", "TakerPaymentSent"],
    ["alice", "TakerPaymentSpent"],
    ["bob", "MakerPaymentSpent"],
  ]) {
    expect(said).toMatch(new RegExp(`^\\d+\\.\\d\\d s +${who} +${step} +\\d+ on (DOC|MARTY) +[0-9a-f]{64}$`, "m"));
  }
  expect(said).toMatch(/^Balances before\n {2}alice +100 DOC +100 MARTY *\n {2}bob +100 DOC +100 MARTY *$/m);
  expect(said).toMatch(/^Balances after\n {2}alice +95\.99\d+ DOC +101\.99\d+ MARTY *\n {2}bob +103\.99\d+ DOC +97\.99\d+ MARTY *$/m);

  const lines = said.split("\n").filter((line) => line.startsWith("  curl "));
  expect(lines.length).toBeGreaterThan(2);
  const hasCurl = spawnSync("curl", ["--version"]).status === 0;
  for (const line of hasCurl ? lines : []) {
    const { status, stdout, stderr } = spawnSync("sh", ["-c", line], { encoding: "utf8", timeout: LIMIT_MS });
    expect(status, `${line}\n${stderr}`).toBe(0);
    expect(JSON.parse(stdout), line).not.toHaveProperty("error");
  }
  run.child.kill("SIGINT");
  expect(await run.exited).toBe(0);
  expect(readdirSync(work)).toEqual([]);
});

test("a demo that cannot be carried out, or is interrupted, says why and ends with 1", async () => {
  const inTheWay = join(work, "file");
  writeFileSync(inTheWay, "");
  const refused = demo([], inTheWay);
  expect(await refused.exited).toBe(1);
  expect(refused.said()).toMatch(/^The demo failed: .+$/m);
  rmSync(inTheWay);

  const interrupted = demo([], work);
  await until("it has begun", async () => (interrupted.said().includes("nodes answer") ? true : null), LIMIT_MS);
  interrupted.child.kill("SIGTERM");
  expect(await interrupted.exited).toBe(1);
  expect(interrupted.said()).toMatch(/^The demo failed: interrupted/m);
  expect(readdirSync(work)).toEqual([]);
});

test.skipIf(noAnvil).each([
  ["UTXO/ERC20", "DOC", "TEST-ERC20"],
  ["ERC20/ETH", "TEST-ERC20", "ETH"],
  ["eth/utxo", "ETH", "DOC"],
])(`demo --pair %s swaps %s for %s on anvil and shows what the chain says${noAnvilReason}`, async (pair, base, rel) => {
  const run = demo(["--pair", pair], work);
  expect(await run.exited, run.said()).toBe(0);
  const said = run.said();
  const chainOf = (coin: string): string => (coin === "DOC" ? "DOC" : "ETH");
  expect(said).toMatch(new RegExp(`^\\d+\\.\\d\\d s +alice +MakerPaymentSent +[1-9]\\d* on ${chainOf(base)} +[0-9a-f]{64}$`, "m"));
  expect(said).toMatch(new RegExp(`^\\d+\\.\\d\\d s +bob +TakerPaymentSent +[1-9]\\d* on ${chainOf(rel)} +[0-9a-f]{64}$`, "m"));
  const [before = "", after = ""] = said.split(/^Balances (?:before|after)$/m).slice(1);
  const had = (text: string, who: string, coin: string): number =>
    Number(new RegExp(`^ {2}${who} .*?([\\d.]+) ${coin}(?: |$)`, "m").exec(text)?.[1]);
  for (const [who, coin, change] of [
    ["alice", base, -4],
    ["alice", rel, 2],
    ["bob", base, 4],
    ["bob", rel, -2],
  ] as const) {
    expect(had(before, who, coin)).toBe(100);
    expect(Math.abs(had(after, who, coin) - 100 - change), `${who}'s ${coin}`).toBeLessThan(0.01);
  }
  expect(readdirSync(work)).toEqual([]);
});

test("demo --backend electrum swaps without any node talking to a daemon, and another backend is refused in one sentence", async () => {
  const run = demo(["--backend", "electrum"], work);
  expect(await run.exited, run.said()).toBe(0);
  expect(run.said()).toMatch(/^ {2}chain DOC is up, with 3 Electrum servers$/m);
  expect(run.said()).toMatch(/^Balances after\n {2}alice +95\.99\d+ DOC +101\.99\d+ MARTY *\n {2}bob +103\.99\d+ DOC +97\.99\d+ MARTY *$/m);
  expect(readdirSync(work)).toEqual([]);
  const refused = demo(["--backend", "light"], work);
  expect(await refused.exited).toBe(2);
  expect(refused.said()).toMatch(/^swapnode demo: --backend takes daemon or electrum, not "light"[^\n]*\n$/);
});

test("a demo of account coins without anvil says so in one sentence and ends with 1, and one of a pair it does not know with 2", async () => {
  const said: string[] = [];
  const stderr = vi.spyOn(process.stderr, "write").mockImplementation((text) => said.push(String(text)) > 0);
  const codes = [
    await main(["--pair", "UTXO/ETH"], () => null),
    await main(["--pair", "UTXO/UTXO"]),
    await main(["--pair", "KMD/ETH"]),
    await main(["--pair", "UTXO/ETH/ERC20"]),
  ];
  stderr.mockRestore();
  expect(codes).toEqual([1, 2, 2, 2]);
  expect(said).toHaveLength(4);
  expect(said[0]).toMatch(/^swapnode demo: [^\n]*need the program anvil[^\n]*\n$/);
  for (const line of said.slice(1)) expect(line).toMatch(/^swapnode demo: --pair takes two different ones of UTXO, ETH, ERC20[^\n]*\n$/);
});
