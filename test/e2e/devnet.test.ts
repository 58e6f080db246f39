import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, expect, test } from "vitest";
import { type Devnet, until } from "../../src/devnet/devnet.ts";
import { readyText } from "../../src/devnet/main.ts";
import { createRpcClient } from "../../src/devnet/rpcClient.ts";
import { backendOf, DEFAULT_TOPOLOGY, needsElectrum, parseTopology } from "../../src/devnet/topology.ts";
import { noAnvil, noAnvilReason } from "../support/anvil.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const CLI = join(ROOT, "src", "main", "cli.ts");

type Ready = {
  readonly ready: true;
  readonly nodes: Readonly<
    Record<string, { url: string; userpass: string; pubkey: string; addresses: Record<string, string>; data_dir: string; pid: number }>
  >;
  readonly chains: Readonly<Record<string, { rpc_url: string }>>;
};

type Run = {
  readonly child: ChildProcess;
  /** Everything it printed, once it has ended. */
  readonly stdout: Promise<string>;
  readonly stderr: Promise<string>;
  readonly exited: Promise<number | string>;
  /** The first line on standard output. */
  readonly ready: Promise<Ready>;
};

const work = mkdtempSync(join(tmpdir(), "swapnode-devnet-test-"));
const running = new Set<ChildProcess>();
afterEach(() => {
  for (const child of running) child.kill("SIGKILL");
});
afterAll(() => rmSync(work, { recursive: true, force: true }));

const devnet = (...args: readonly string[]): Run => run(process.execPath, [CLI, "devnet", ...args]);

function run(command: string, args: readonly string[], isGroup = false): Run {
  const child = spawn(command, args, {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "pipe"],
    detached: isGroup,
    // What a killed one leaves goes with the rest.
    env: { ...process.env, TMPDIR: work },
  });
  running.add(child);
  const exited = new Promise<number | string>((resolve) => child.once("exit", (code, signal) => resolve(code ?? signal ?? "unknown")));
  void exited.then(() => running.delete(child));
  const [stdout, stderr] = [text(child.stdout), text(child.stderr)];
  let line = "";
  const ready = new Promise<Ready>((resolve, reject) => {
    child.stdout.on("data", (data: Buffer) => {
      line += data;
      if (line.includes("\n")) resolve(JSON.parse(line) as Ready);
    });
    void exited.then(async (code) => reject(new Error(`devnet ended with ${code}: ${await stderr}`)));
  });
  ready.catch(() => undefined);
  return { child, stdout, stderr, exited, ready };
}

function topologyFile(content: unknown): string {
  const file = join(mkdtempSync(join(work, "topology-")), "topology.json");
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
}

/** A process that has ended may stand as a zombie until somebody reaps it. */
function isAlive(pid: number): boolean {
  if (existsSync("/proc/self/stat")) {
    if (!existsSync(`/proc/${pid}/stat`)) return false;
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  }
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const allGone = (pids: readonly number[]): Promise<true> =>
  until("every node is gone", async () => (pids.some(isAlive) ? null : true), 30_000);

const SEED = { name: "seed", seed: true };
const PLATFORM = { coin: "ETH", mm2: 1, is_testnet: true, protocol: { type: "ETH", protocol_data: { chain_id: 1_234 } } };
const TOKEN = { coin: "TOK", mm2: 1, is_testnet: true, decimals: 8, protocol: { type: "ERC20", protocol_data: { platform: "ETH" } } };
const WRONG: readonly (readonly [string, unknown, RegExp])[] = [
  ["text that is not JSON", "{", /^the topology is not JSON: /],
  ["no nodes", { nodes: [] }, /^topology: nodes: /],
  ["no seed among the nodes", { nodes: [{ name: "A" }] }, /^topology: one node must be a seed/],
  ["a name twice", { nodes: [SEED, SEED] }, /^topology: two nodes are called seed$/],
  ["a name that is no file name", { nodes: [{ ...SEED, name: "../x" }] }, /^topology: nodes\.0\.name: letters, digits/],
  ["an unknown key", { nodes: [{ ...SEED, sed: true }] }, /^topology: nodes\.0: .*sed/],
  ["a coin that is not there", { nodes: [{ ...SEED, enable: ["BTC"] }] }, /^topology: node seed uses BTC, which is not among the coins$/],
  [
    "funds of a coin that is not enabled",
    { nodes: [{ ...SEED, fund: { DOC: "1" } }] },
    /^topology: node seed is funded with DOC but does not enable it$/,
  ],
  ["an amount that is no text", { nodes: [{ ...SEED, enable: ["DOC"], fund: { DOC: 1 } }] }, /^topology: nodes\.0\.fund\.DOC: /],
  [
    "an amount with nine decimals",
    { nodes: [{ ...SEED, enable: ["DOC"], fund: { DOC: "0.000000001" } }] },
    /^topology: nodes\.0\.fund\.DOC: a decimal amount/,
  ],
  ["blocks that never come", { block_time_s: 0, nodes: [SEED] }, /^topology: block_time_s: /],
  [
    "a token without its platform coin",
    { coins: [TOKEN], nodes: [SEED] },
    /^topology: the token TOK needs its platform coin ETH among the coins$/,
  ],
  [
    "a token enabled before its platform coin",
    { coins: [PLATFORM, TOKEN], nodes: [{ ...SEED, enable: ["TOK", "ETH"] }] },
    /^topology: node seed enables TOK, which needs ETH enabled before it$/,
  ],
  ["a backend that is none", { backend: "light", nodes: [SEED] }, /^topology: backend: /],
  ["a node's backend that is none", { nodes: [{ ...SEED, backend: "light" }] }, /^topology: nodes\.0\.backend: "daemon" or "electrum"/],
  [
    "a backend for a coin that is not enabled",
    { nodes: [{ ...SEED, enable: ["DOC"], backend: { MARTY: "electrum" } }] },
    /^topology: node seed names a backend for MARTY but does not enable it$/,
  ],
  ["a coin without a name", { coins: [{}], nodes: [SEED] }, /^topology: coins\.0\.coin: /],
];

test.each(WRONG)("a topology with %s is refused in one sentence that names the place", (_what, content, sentence) => {
  const parsed = parseTopology(typeof content === "string" ? content : JSON.stringify(content));
  expect(parsed.ok ? "accepted" : parsed.error).toMatch(sentence);
});

test("a node's backend goes before the network's, and a ticker's before both", () => {
  const parsed = parseTopology(
    JSON.stringify({
      backend: "electrum",
      nodes: [SEED, { name: "A", enable: ["DOC", "MARTY"], backend: { DOC: "daemon" } }, { name: "B", enable: ["DOC"], backend: "daemon" }],
    }),
  );
  if (!parsed.ok) throw new Error(parsed.error);
  const [, a, b] = parsed.value.nodes;
  if (!a || !b) throw new Error("two nodes and a seed");
  expect([backendOf(parsed.value, a, "DOC"), backendOf(parsed.value, a, "MARTY"), backendOf(parsed.value, b, "DOC")]).toEqual([
    ...["daemon", "electrum", "daemon"],
  ]);
  expect([needsElectrum(parsed.value, "DOC"), needsElectrum(parsed.value, "MARTY")]).toEqual([false, true]);
});

test("without --json a person is given a call for each node, and told how the network ends", () => {
  const rpc = { url: "http://127.0.0.1:7783", userpass: "Dev-1z" };
  const net = { nodes: new Map([["seed", { name: "seed", rpc }]]) } as unknown as Devnet;
  expect(readyText(net)).toBe(
    `seed: curl -s http://127.0.0.1:7783 -d '{"userpass":"Dev-1z","method":"version"}'\nThe network stays up until Ctrl-C.`,
  );
});

test("devnet with a bad topology, a coin no chain imitates, or a wrong option says so on standard error and ends with 1 or 2", async () => {
  const coin = { coin: "POS", isPoS: 1, protocol: { type: "UTXO" } };
  const cases = [
    [["--json", "--topology", topologyFile({ nodes: [{ name: "A" }] })], /^topology: one node must be a seed/, 1],
    [["--json", "--topology", join(work, "missing.json")], /missing\.json/, 1],
    [["--json", "--topology", topologyFile({ coins: [coin], nodes: [SEED] })], /^coin POS: .*proof-of-stake/, 1],
    [["--jsn"], /^swapnode devnet: Unknown option '--jsn' \(see/, 2],
    [["--topology"], /^swapnode devnet: .*--topology/, 2],
  ] as const;
  for (const [args, sentence, code] of cases) {
    const run = devnet(...args);
    expect(await run.exited).toBe(code);
    expect(await run.stdout).toBe("");
    expect(await run.stderr).toMatch(sentence);
    expect((await run.stderr).trim().split("\n")).toHaveLength(1);
  }
});

test("devnet --json prints one line when everything is ready, all else on standard error, and stops clean on SIGTERM", async () => {
  const run = devnet("--json");
  const ready = await run.ready;
  const node = (addresses: object) => ({
    url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    userpass: expect.any(String),
    pubkey: expect.stringMatching(/^0[23][0-9a-f]{64}$/),
    addresses,
    data_dir: expect.any(String),
    pid: expect.any(Number),
  });
  const both = { DOC: expect.stringMatching(/^R/), MARTY: expect.stringMatching(/^R/) };
  const chain = { rpc_url: expect.stringMatching(/^http:\/\/[^:@]+:[^:@]+@127\.0\.0\.1:\d+$/) };
  expect(ready).toEqual({
    ready: true,
    nodes: { seed: node({}), alice: node(both), bob: node(both) },
    chains: { DOC: chain, MARTY: chain },
  });

  // Ready means: it answers, it is connected, its coins are active and its funds confirmed.
  for (const [name, { url, userpass, addresses }] of Object.entries(ready.nodes)) {
    const rpc = createRpcClient(url, userpass);
    const { result: peers } = await rpc.call("get_directly_connected_peers");
    expect(Object.keys(peers as object).length).toBeGreaterThan(0);
    const wanted = DEFAULT_TOPOLOGY.nodes.find((n) => n.name === name);
    for (const coin of wanted?.enable ?? []) {
      expect(await rpc.call("my_balance", { coin })).toMatchObject({ address: addresses[coin], balance: wanted?.fund[coin] });
    }
  }
  const { rpc_url } = ready.chains.DOC ?? { rpc_url: "" };
  const { username, password, host } = new URL(rpc_url);
  const answer = await fetch(`http://${host}/`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${username}:${password}`)}` },
    body: JSON.stringify({ id: 1, method: "getblockcount", params: [] }),
  });
  expect(await answer.json()).toMatchObject({ result: expect.any(Number), error: null });

  const dirs = Object.values(ready.nodes).map((n) => n.data_dir);
  expect(dirs.every((dir) => existsSync(dir))).toBe(true);
  run.child.kill("SIGTERM");
  expect(await run.exited).toBe(0);
  expect(Object.values(ready.nodes).filter((n) => isAlive(n.pid))).toEqual([]);
  expect(dirs.filter((dir) => existsSync(dir))).toEqual([]);
  expect((await run.stdout).match(/\n/g)).toHaveLength(1);
  expect(await run.stderr).toContain("funds are confirmed");
});

test("a topology file decides names, keys, coins and any field of a node's configuration; --keep-data keeps what the nodes stored and logged", async () => {
  const kept = mkdtempSync(join(work, "kept-"));
  const passphrase = "a phrase of the topology's own";
  const file = topologyFile({
    coins: [{ coin: "ONE", pubtype: 30, p2shtype: 22, wiftype: 158, txfee: 1000, mm2: 1, is_testnet: true, protocol: { type: "UTXO" } }],
    block_time_s: 0.2,
    nodes: [
      SEED,
      { name: "A", passphrase, enable: ["ONE"], fund: { ONE: "1.5" }, config: { gui: "of-my-own", rpc_password: "Of-My-0wn-choice" } },
      { name: "B", passphrase: "another", enable: ["ONE"], config: { rpc_local_only: false } },
    ],
  });
  const [first, again] = [await keepingData(), await keepingData()];
  expect(first.nodes.A).toMatchObject({
    userpass: "Of-My-0wn-choice",
    data_dir: join(kept, "A"),
    addresses: { ONE: expect.stringMatching(/^D/) },
  });
  expect(again.nodes.A?.pubkey).toBe(first.nodes.A?.pubkey);
  expect(first.nodes.B?.pubkey).not.toBe(first.nodes.A?.pubkey);
  expect(readdirSync(kept).sort()).toEqual(["A", "A.log", "B", "B.log", "seed", "seed.log"]);
  expect(readFileSync(join(kept, "A.log"), "utf8").match(/"event":"started"/g)).toHaveLength(2);
  expect(JSON.parse(readFileSync(join(kept, "A", "MM2.json"), "utf8"))).toMatchObject({ gui: "of-my-own", passphrase });
  expect(readdirSync(join(kept, "A", "DB"), { recursive: true }).map(String)).toContainEqual(expect.stringMatching(/swapnode\.db$/));

  async function keepingData(): Promise<Ready> {
    const run = devnet("--json", "--topology", file, "--keep-data", kept);
    const ready = await run.ready;
    const { url = "", userpass = "" } = ready.nodes.A ?? {};
    expect(await createRpcClient(url, userpass).call("my_balance", { coin: "ONE" })).toMatchObject({ balance: "1.5" });
    run.child.kill("SIGINT");
    expect(await run.exited).toBe(0);
    return ready;
  }
});

test.skipIf(noAnvil)(
  `account coins in a topology bring anvil, with the swap contract and each token deployed, and nothing of it outlives kill -9${noAnvilReason}`,
  async () => {
    const coins = [PLATFORM, TOKEN, { ...TOKEN, coin: "TOK2", decimals: 0 }];
    const nodes = [SEED, { name: "A", enable: ["ETH", "TOK", "TOK2"], fund: { ETH: "2.5", TOK: "1.00000001", TOK2: "7" } }];
    const run = devnet("--json", "--topology", topologyFile({ coins, nodes }));
    const { nodes: ready, chains } = await run.ready;
    const address = expect.stringMatching(/^0x[0-9a-fA-F]{40}$/);
    const chain = { rpc_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/), swap_contract_address: address };
    expect(chains).toEqual({ ETH: chain, TOK: { ...chain, contract_address: address }, TOK2: { ...chain, contract_address: address } });
    const rpc = createRpcClient(ready.A?.url ?? "", ready.A?.userpass ?? "");
    for (const [coin, balance] of [
      ["ETH", "2.5"],
      ["TOK", "1.00000001"],
      ["TOK2", "7"],
    ]) {
      expect(await rpc.call("my_balance", { coin })).toMatchObject({ balance, address: ready.A?.addresses.ETH });
    }
    const url = chains.ETH?.rpc_url ?? "";
    const ask = (): Promise<unknown> =>
      fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_chainId", params: [] }),
      }).then((r) => r.json());
    expect(await ask()).toMatchObject({ result: "0x4d2" });
    run.child.kill("SIGKILL");
    await run.exited;
    await until("anvil is gone", () =>
      ask().then(
        () => null,
        () => true,
      ),
    );
  },
);

test("devnet stops at once when it is interrupted or a node ends while it starts", async () => {
  const interrupted = devnet("--json");
  await until("its nodes are starting", async () => (childrenOf(interrupted.child.pid ?? -1).length > 0 ? true : null));
  interrupted.child.kill("SIGTERM");
  expect(await interrupted.exited).toBe(1);
  expect(await interrupted.stdout).toBe("");
  expect(await interrupted.stderr).toContain("interrupted");

  const refused = devnet("--json", "--topology", topologyFile({ nodes: [SEED, { name: "A", config: { netid: 7777 } }] }));
  expect(await refused.exited).toBe(1);
  expect(await refused.stdout).toBe("");
  expect(await refused.stderr).toMatch(/node A ended with 1\n.*7777 netid is deprecated/);
});

test("no node outlives its devnet, not even after kill -9 of a ready one", async () => {
  const run = devnet("--json");
  const { nodes } = await run.ready;
  const pids = Object.values(nodes).map((n) => n.pid);
  expect(pids.every(isAlive)).toBe(true);
  run.child.kill("SIGKILL");
  expect(await run.exited).toBe("SIGKILL");
  await allGone(pids);
  // With the nodes goes what the killed one could not remove: their folders, and the one around them.
  const dirs = Object.values(nodes).map((n) => n.data_dir);
  const left = (): readonly string[] => [...dirs, ...new Set(dirs.map((dir) => dirname(dir)))].filter((dir) => existsSync(dir));
  await until("their folders are gone", async () => (left().length === 0 ? true : null));
});

test("no node outlives its devnet after kill -9 in the middle of its start", async () => {
  const run = devnet("--json");
  const pids = await until("its nodes are starting", async () => {
    const found = childrenOf(run.child.pid ?? -1);
    return found.length > 0 ? found : null;
  });
  run.child.kill("SIGKILL");
  expect(await run.exited).toBe("SIGKILL");
  await allGone(pids);
});

test.each(["SIGTERM", "SIGINT", "SIGKILL"] as const)("no node outlives npm when npm run devnet gets %s", async (signal) => {
  const started = run("npm", ["run", "-s", "devnet", "--", "--json"]);
  const { nodes } = await started.ready;
  const pids = [...childrenOf(started.child.pid ?? -1), ...Object.values(nodes).map((n) => n.pid)];
  expect(pids.every(isAlive)).toBe(true);
  started.child.kill(signal);
  expect(await started.exited).toBe(signal === "SIGKILL" ? signal : 0);
  await allGone(pids);
});

test.each(["SIGTERM", "SIGKILL", "Ctrl-C"] as const)("no node outlives npx when npx swapnode devnet gets %s", async (end) => {
  const started = run("npx", ["swapnode", "devnet", "--json"], end === "Ctrl-C");
  const { nodes } = await started.ready;
  const { pid } = started.child;
  if (pid === undefined) throw new Error("npx was not started");
  const pids = [...childrenOf(pid), ...Object.values(nodes).map((n) => n.pid)];
  expect(pids.every(isAlive)).toBe(true);
  // From a terminal it reaches the whole group. To npx alone it is nothing: npm's shell keeps it for itself.
  if (end === "Ctrl-C") process.kill(-pid, "SIGINT");
  else started.child.kill(end);
  await started.exited;
  await allGone(pids);
  const dirs = Object.values(nodes).map((n) => n.data_dir);
  await until("their folders are gone", async () => (dirs.some((dir) => existsSync(dir)) ? null : true));
});

/** Processes whose parent this is. Where the system has no /proc, none is known and the test says so. */
function childrenOf(parent: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ")[1] === String(parent);
      } catch {
        return false; // ended meanwhile
      }
    })
    .map(Number);
}
