import { afterEach, expect, test } from "vitest";
import type { ElectrumChain, ElectrumOptions } from "../../src/adapters/electrum/electrumDeps.ts";
import { scriptHashOf } from "../../src/adapters/electrum/scriptHash.ts";
import { visitPauseMs } from "../../src/adapters/electrum/visitPace.ts";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import { txToChainTx } from "../../src/chain/chainTx.ts";
import { ChainDaemon } from "../../src/chain/daemon.ts";
import { ElectrumServer } from "../../src/chain/electrum/electrumServer.ts";
import { EmbeddedChain } from "../../src/chain/embeddedChain.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import { parseTx, serializeTx, txid as txidOf } from "../../src/core/utxo/txCodec.ts";
import type { Log } from "../../src/ports/log.ts";
import { type ElectrumWorld, startElectrumChain } from "../contract/electrumChain.ts";
import { SEGWIT_COIN } from "../contract/embeddedChain.ts";
import { scriptNumber, spendOf } from "../contract/spendable.ts";
import { whileTimePasses } from "./whileTimePasses.ts";

// Servers that are not connected are visited while something is guarded, politely, and what they prove counts.

const HOUR_MS = 3_600_000;
const SCRIPT = scriptNumber(1);
const PAID = 200_000_000n;
const SERVERS = 5;
/** Of which the first two are connected. */
const LIARS = 2;
const cleanup: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanup.splice(0).reverse()) await undo();
});

type World = {
  readonly w: ElectrumWorld;
  readonly chain: ElectrumChain;
  /** Lines each server was sent. */
  readonly sent: readonly string[][];
  readonly shown: string[];
  /** Events the log tells at its usual level. */
  readonly told: string[];
  /** Guards the script, due so many ms from now; `own`: what spends from it, the one to be sent first. */
  readonly guard: (dueMs: number, own?: readonly Uint8Array[]) => () => void;
};

async function begin(
  options: ElectrumOptions = {},
  spoil: (line: string, server: number, call: string) => string | null = (line) => line,
  voters: readonly string[] = [],
): Promise<World> {
  const w = await startElectrumChain(SEGWIT_COIN, SERVERS, spoil);
  cleanup.push(() => w.close());
  w.voters.push(...voters);
  const sent: string[][] = w.servers.map(() => []);
  for (const [i, server] of w.servers.entries()) {
    const connect = server.connect.bind(server);
    server.connect = (client) => {
      const pipe = connect(client);
      sent[i]?.push("connect");
      if (pipe === null) return null;
      const write = (bytes: Uint8Array): void => {
        sent[i]?.push(Buffer.from(bytes).toString("utf8"));
        pipe.write(bytes);
      };
      return { write, close: () => pipe.close() };
    };
  }
  const told: string[] = [];
  const tell = (event: string): void => void told.push(event);
  const log: Log = { debug: () => undefined, info: tell, warn: tell, error: tell, child: () => log };
  const store = openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST");
  const chain = await w.openElectrum(store, { timeoutMs: 2_000, maxConnected: LIARS, ...options }, log);
  cleanup.push(() => chain.close());
  await whileTimePasses(w, chain.watchScript(SCRIPT, 0));
  const shown: string[] = [];
  return {
    w,
    chain,
    sent,
    shown,
    told,
    guard: (dueMs, own = []) =>
      chain.guard?.(SCRIPT, {
        dueSec: (w.clock.nowMs() + dueMs) / 1_000,
        onTx: ({ txid }) => void shown.push(txid),
        spends: () => [own.map((raw) => ({ txid: txidIn(w, raw), hex: toHex(raw) }))],
      }) ?? (() => undefined),
  };
}
function txidIn({ format }: ElectrumWorld, raw: Uint8Array): string {
  const tx = parseTx(raw, format);
  return tx.ok ? txidOf(tx.value) : expect.fail("no transaction");
}
const statesOf = (chain: ElectrumChain): readonly string[] => chain.servers().map(({ state }) => state);
const hide = (w: ElectrumWorld, txid: string): void => {
  for (const { faults } of w.servers.slice(0, LIARS)) faults.add({ kind: "hide", txid });
};
/** What was sent to those that are not connected, since it was asked last. */
function outside(sent: readonly string[][]): readonly string[] {
  return sent.slice(LIARS).flatMap((lines) => lines.splice(0));
}
const count = (lines: readonly string[], what: string): number => lines.filter((line) => line.includes(what)).length;

/** A spend of what pays the script, in the mempool, of which the connected say nothing. */
async function hiddenSpend({ w, chain }: World, confirmations = 1): Promise<string> {
  w.pay(SCRIPT, PAID);
  w.mine(confirmations);
  await whileTimePasses(w, chain.refresh());
  const tx = spendOf(w.format, 1, chain.outputs(SCRIPT), scriptNumber(2));
  const txid = w.send(tx);
  hide(w, txid);
  return txid;
}

test("visits are ten minutes apart while there is time, closer as it runs out, and a minute apart in the end and after it", () => {
  const at = (leftSec: number): number => visitPauseMs(1_700_000_000 + leftSec, 1_700_000_000_000) / 1_000;
  expect([86_400, 12_000, 7_800, 1_200, 60, 0, -7_200].map(at)).toEqual([600, 600, 390, 60, 60, 60, 60]);
});

test("where nothing is guarded nobody else is asked; where something is, one at a time and no oftener than the pace says, five lines each", async () => {
  const { w, sent, told, guard } = await begin();
  await w.pass(HOUR_MS);
  expect(outside(sent)).toEqual([]);
  told.length = 0;
  const release = guard(24 * HOUR_MS);
  await w.pass(HOUR_MS + 1_000);
  const calm = outside(sent);
  expect(count(calm, "connect")).toBe(6);
  release();
  await w.pass(HOUR_MS);
  expect(outside(sent)).toEqual([]);
  const last = guard(0);
  await w.pass(HOUR_MS + 1_000);
  const urgent = outside(sent);
  expect(count(urgent, "connect")).toBe(60);
  expect(count(urgent, "get_history")).toBe(60);
  expect(count(urgent, '"method"')).toBeLessThanOrEqual(60 * 5);
  expect(told).toEqual([]);
  last();
  await w.pass(HOUR_MS);
  expect(outside(sent)).toEqual([]);
});

test("each of the others has its turn, also one that was away at the first", async () => {
  const { w, sent, guard } = await begin();
  w.servers[3]?.faults.add({ kind: "refuse" });
  guard(0);
  await w.pass(4 * 60_000);
  w.servers[3]?.faults.clear();
  await w.pass(6 * 60_000);
  for (const lines of sent.slice(LIARS)) expect(count(lines, "get_history")).toBeGreaterThanOrEqual(2);
});

test("a spend in a block that the connected leave out is proven by the first that is visited; they are dropped, and others take their place", async () => {
  const world = await begin();
  const { w, chain } = world;
  const txid = await hiddenSpend(world);
  w.mine();
  await w.pass(HOUR_MS);
  expect(chain.outputs(SCRIPT)[0]?.spentBy).toBeNull();
  world.guard(0);
  await w.pass(61_000);
  expect(chain.outputs(SCRIPT)[0]?.spentBy).toMatchObject({ txid, block: { height: 122 } });
  expect(world.told).toContain("server_proves_more");
  await w.pass(900_000);
  expect(chain.servers().map(({ contradictions }) => contradictions > 0)).toEqual([true, true, false, false, false]);
  expect(statesOf(chain).slice(LIARS)).toContain("connected");
  expect(chain.outputs(SCRIPT)[0]?.spentBy).toMatchObject({ txid, block: { height: 122 } });
});

/** The script is paid so often that the honest refuse its history; the liars tell one. */
async function dusted({ w }: World): Promise<void> {
  for (let i = 0; i < 10; i++) w.pay(SCRIPT, 1_000n);
  w.mine();
  for (const { faults } of w.servers.slice(LIARS)) faults.add({ kind: "short_histories", lines: 10 });
  await w.pass(5_000);
}

test("a spend in a block that the connected leave out is found at one that is visited though it refuses the history: its blocks are read", async () => {
  const world = await begin();
  const { w, chain } = world;
  await dusted(world);
  const txid = await hiddenSpend(world);
  w.mine();
  await w.pass(60_000);
  const paid = () => chain.outputs(SCRIPT).find(({ value }) => value === PAID);
  expect(paid()?.spentBy).toBeNull();
  world.guard(0);
  // The first visit begins the search; blocks before the headers that are kept come from the connected, what these withhold from the second.
  await w.pass(122_000);
  expect(world.shown).toContain(txid);
  expect(paid()?.spentBy).toMatchObject({ txid, block: { height: 123 } });
  await w.pass(1_200_000);
  expect(chain.servers().map(({ contradictions }) => contradictions > 0)).toEqual([true, true, false, false, false]);
});

test("and so it is where those that are visited work for longer at the history than is waited for: they are asked for it twice", async () => {
  const world = await begin({}, (line, server, call) => (server >= LIARS && call.includes("get_history") ? null : line));
  const { w, chain } = world;
  const txid = await hiddenSpend(world);
  w.mine();
  await w.pass(60_000);
  world.guard(0);
  await w.pass(10 * 60_000);
  expect(world.shown).toContain(txid);
  expect(chain.outputs(SCRIPT).find(({ value }) => value === PAID)?.spentBy?.txid).toBe(txid);
});

test("blocks before all headers that are kept are not read at one that is visited alone: it can make them up", async () => {
  const world = await begin();
  const { w, chain } = world;
  const own = new EmbeddedChain({ params: w.chain.params, clock: w.clock, rng: seededRng(1) });
  const liar = new ElectrumServer(new ChainDaemon(own, w.clock), w.clock);
  cleanup.push(async () => liar.close());
  for (let i = LIARS; i < SERVERS; i++) w.replace(i, liar);
  expect(own.payFromFaucet(SCRIPT, PAID).ok).toBe(true);
  for (const made of [own, w.chain]) expect(made.mine(500).ok).toBe(true);
  liar.faults.add({ kind: "short_histories", lines: 1 });
  await w.pass(20_000);
  world.guard(0);
  await w.pass(10 * 60_000);
  expect(world.told).toContain("history_refused");
  expect(chain.outputs(SCRIPT)).toEqual([]);
});

test("a spend in no block is shown by one that is visited though it refuses the history", async () => {
  const world = await begin();
  await dusted(world);
  const txid = await hiddenSpend(world);
  world.guard(0);
  await world.w.pass(61_000);
  expect(world.shown).toContain(txid);
});

test("a spend in no block that one shows is shown to who guards the script, once, and is no fact", async () => {
  const world = await begin();
  const txid = await hiddenSpend(world);
  world.guard(0);
  await world.w.pass(10 * 60_000);
  expect(world.shown).toEqual([txid]);
  expect(world.chain.tx(txid)).toBeUndefined();
  expect(world.chain.outputs(SCRIPT)[0]?.spentBy).toBeNull();
});

test("a spend in no block is shown to who guards the script though the connected show another one of the same payment first", async () => {
  const w = await startElectrumChain(SEGWIT_COIN, SERVERS);
  cleanup.push(() => w.close());
  w.pay(SCRIPT, PAID);
  w.mine();
  const other = new EmbeddedChain({ params: w.chain.params, clock: w.clock, rng: seededRng(1) });
  for (let height = other.state.tip.height + 1; height <= w.chain.state.tip.height; height++) {
    const block = w.chain.state.at(height)?.block;
    if (block) other.submit(block);
  }
  const liars = [0, 1, 2].map(() => new ElectrumServer(new ChainDaemon(other, w.clock), w.clock));
  for (const [i, server] of liars.entries()) w.replace(i, server);
  cleanup.push(async () => liars.forEach((server) => void server.close()));
  const store = openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST");
  const chain = await w.openElectrum(store, { timeoutMs: 2_000 });
  cleanup.push(() => chain.close());
  await whileTimePasses(w, chain.watchScript(SCRIPT, 0));
  const outputs = chain.outputs(SCRIPT);
  const first = spendOf(w.format, 1, outputs, scriptNumber(3));
  expect(other.send(txToChainTx(first)).ok).toBe(true);
  await whileTimePasses(w, chain.refresh());
  const txid = w.send(spendOf(w.format, 1, outputs, scriptNumber(2)));
  for (const { faults } of liars) faults.add({ kind: "claim", scriptHash: scriptHashOf(toHex(SCRIPT)), txid, height: 0 });
  await w.pass(60_000);
  expect(chain.outputs(SCRIPT)[0]?.spentBy).toMatchObject({ block: null });
  expect(chain.outputs(SCRIPT)[0]?.spentBy?.txid).not.toBe(txid);
  const shown: string[] = [];
  chain.guard?.(SCRIPT, { dueSec: 0, onTx: (tx) => void shown.push(tx.txid) });
  await w.pass(120_000);
  expect(shown.filter((id) => id === txid)).toHaveLength(1);
});

test("who begins to guard a script is shown what another was shown before", async () => {
  const world = await begin();
  const txid = await hiddenSpend(world);
  const release = world.guard(0);
  await world.w.pass(5 * 60_000);
  release();
  world.guard(0);
  await world.w.pass(10 * 60_000);
  expect(world.shown).toEqual([txid, txid]);
});

test("one that was dropped for what it said is visited all the same", async () => {
  let isFalse = true;
  const world = await begin({ maxConnected: SERVERS }, (line, server) =>
    server === 4 && isFalse && line.includes('"merkle"') ? line.replace(/[0-9a-f]{64}/, "00".repeat(32)) : line,
  );
  const { w, chain } = world;
  w.pay(SCRIPT, PAID);
  w.mine();
  const second = w.pay(SCRIPT, PAID);
  for (const server of w.servers.slice(0, 4)) server.faults.add({ kind: "hide", txid: second });
  w.mine();
  await w.pass(30_000);
  expect(statesOf(chain)[4]).toBe("dropped");
  isFalse = false;
  world.guard(0);
  await w.pass(65_000);
  expect(statesOf(chain)[4]).toBe("dropped");
  expect(chain.outputs(SCRIPT)).toHaveLength(2);
});

test("two of one host are one voice: while one of them is connected the other is not visited", async () => {
  const { w, sent, guard } = await begin({}, undefined, ["one.example", "two.example", "one.example", "two.example", "three.example"]);
  guard(0);
  await w.pass(30 * 60_000);
  expect(sent[2]).toEqual([]);
  expect(sent[3]).toEqual([]);
  expect(count(sent[4] ?? [], "get_history")).toBe(30);
});

test("one that names thousands is read fifty at a time, and what a visit does not come to is read at the next", async () => {
  const world = await begin();
  const { w, sent, shown, chain } = world;
  await whileTimePasses(w, chain.refresh());
  const others = Array.from({ length: 120 }, () => w.pay(scriptNumber(9), 10_000n));
  for (const server of w.servers.slice(LIARS))
    for (const txid of others.slice(0, 99)) server.faults.add({ kind: "claim", scriptHash: scriptHashOf(toHex(SCRIPT)), txid, height: 0 });
  world.guard(0);
  await w.pass(61_000);
  expect(count(outside(sent), "transaction.get")).toBe(50);
  await w.pass(60_000);
  expect(count(outside(sent), "transaction.get")).toBe(49);
  await w.pass(180_000);
  expect(count(outside(sent), "transaction.get")).toBe(0);
  expect(shown).toHaveLength(99);
});

test("an own spend that the connected keep to themselves is given to those who are visited; one that they refuse, less and less often", async () => {
  const world = await begin();
  const { w, chain, sent } = world;
  w.pay(SCRIPT, PAID);
  w.mine();
  await whileTimePasses(w, chain.refresh());
  for (const { faults } of w.servers.slice(0, LIARS)) faults.add({ kind: "swallow_broadcast" });
  for (const { faults } of w.servers.slice(LIARS))
    faults.add({ kind: "error", code: 1, message: "no", methods: ["blockchain.transaction.broadcast"], forMs: HOUR_MS });
  const raw = serializeTx(spendOf(w.format, 1, chain.outputs(SCRIPT), scriptNumber(2)));
  world.guard(0, [raw]);
  expect(await whileTimePasses(w, chain.broadcast(raw))).toMatchObject({ kind: "accepted" });
  await w.pass(HOUR_MS - 10_000);
  const offers = count(outside(sent), "transaction.broadcast");
  expect(offers).toBeGreaterThan(SERVERS - LIARS);
  expect(offers).toBeLessThanOrEqual(3 * 14);
  await w.pass(400_000);
  expect(w.chain.mempool.graph.entries()).toHaveLength(1);
});

test("what one proves counts though it is too slow to prove all of it in one visit", async () => {
  const world = await begin();
  const { w, chain } = world;
  const paid = Array.from({ length: 30 }, () => w.pay(SCRIPT, 10_000n));
  for (const txid of paid) hide(w, txid);
  for (const { faults } of w.servers.slice(LIARS)) faults.add({ kind: "slow", delayMs: 900 });
  w.mine();
  world.guard(0);
  await w.pass(12 * 60_000);
  expect(chain.outputs(SCRIPT)).toHaveLength(30);
});

test("an own spend is given before anything that one names is read", async () => {
  const world = await begin();
  const { w, chain } = world;
  w.pay(SCRIPT, PAID);
  w.mine();
  await whileTimePasses(w, chain.refresh());
  const raw = serializeTx(spendOf(w.format, 1, chain.outputs(SCRIPT), scriptNumber(2)));
  for (let i = 0; i < 40; i++) hide(w, w.pay(SCRIPT, 10_000n));
  for (const { faults } of w.servers.slice(0, LIARS)) faults.add({ kind: "swallow_broadcast" });
  for (const { faults } of w.servers.slice(LIARS)) faults.add({ kind: "slow", delayMs: 900 });
  world.guard(0, [raw]);
  expect(await whileTimePasses(w, chain.broadcast(raw))).toMatchObject({ kind: "accepted" });
  await w.pass(75_000);
  expect(w.chain.mempool.graph.entries()).toHaveLength(41);
});

test("a script of which one names much keeps nobody from hearing of the others", async () => {
  const world = await begin();
  const { w, chain, shown } = world;
  const urgent = scriptNumber(3);
  await whileTimePasses(w, chain.watchScript(urgent, 0));
  const junk = Array.from({ length: 50 }, () => w.pay(scriptNumber(9), 10_000n));
  for (const { faults } of w.servers.slice(LIARS)) {
    for (const txid of junk) faults.add({ kind: "claim", scriptHash: scriptHashOf(toHex(urgent)), txid, height: 0 });
    faults.add({ kind: "slow", delayMs: 900 });
  }
  const txid = await hiddenSpend(world);
  chain.guard?.(urgent, { dueSec: 0, onTx: () => undefined });
  world.guard(0);
  await w.pass(92_000);
  expect(shown).toEqual([txid]);
});

test("where more is guarded than a visit asks about, the most urgent are asked about each time and all others in turns", async () => {
  const { w, chain, sent } = await begin({ maxConnected: SERVERS - 1 });
  const hashes = Array.from({ length: 240 }, (_, n) => {
    const script = scriptNumber(100 + n);
    chain.guard?.(script, { dueSec: n, onTx: () => undefined });
    return scriptHashOf(toHex(script));
  });
  await w.pass(4 * 60_000 + 5_000);
  const asked = (sent[SERVERS - 1] ?? []).filter((line) => line.includes("get_history"));
  const timesOf = (hash: string): number => asked.filter((line) => line.includes(hash)).length;
  expect(timesOf(hashes[0] ?? "")).toBe(4);
  expect(hashes.filter((hash) => timesOf(hash) === 0)).toEqual([]);
  expect(asked).toHaveLength(400);
});

/** The first `liars` servers have the transactions of `hidden` in no history. */
const hiding =
  (hidden: ReadonlySet<string>, liars: number) =>
  (line: string, server: number): string => {
    const message = JSON.parse(line) as { result?: unknown; params?: unknown[] };
    if (server >= liars) return line;
    const other = (status: unknown): unknown => (typeof status === "string" && status.length === 64 ? `00${status.slice(2)}` : status);
    const { result, params } = message;
    if (Array.isArray(result)) message.result = result.filter(({ tx_hash }) => !hidden.has(tx_hash));
    else message.result = other(result);
    if (params !== undefined) message.params = params.map(other);
    return JSON.stringify(message);
  };

/**
 * The script is paid, the payment is spent in a block, and the first `liars` servers say nothing of the spend. Each minute the others name
 * sixty more payments of dust to the script, in no block or in a new one.
 */
async function buried(liars: number, maxConnected: number, isMined: boolean): Promise<readonly [World, string]> {
  const hidden = new Set<string>();
  const world = await begin({ maxConnected }, hiding(hidden, liars));
  const { w, chain } = world;
  w.pay(SCRIPT, PAID);
  w.mine();
  await whileTimePasses(w, chain.refresh());
  const txid = w.send(spendOf(w.format, 1, chain.outputs(SCRIPT), scriptNumber(2)));
  hidden.add(txid);
  w.mine();
  world.guard(0);
  for (let minute = 0; minute < 6; minute++) {
    for (let i = 0; i < 60; i++) hidden.add(w.pay(SCRIPT, 1_000n + BigInt(i)));
    if (isMined) w.mine();
    await w.pass(60_000);
  }
  return [world, txid];
}

test.each([
  ["in no block", false],
  ["in new blocks", true],
])("a spend in a block is proven by one that is visited though it names more dust %s at each visit than is read", async (_, isMined) => {
  const [{ chain }, txid] = await buried(LIARS, LIARS, isMined);
  expect(chain.outputs(SCRIPT).find(({ value }) => value === PAID)?.spentBy).toMatchObject({ txid, block: { height: 122 } });
});

test("one of five that are connected proves a spend in a block though it names more dust than is looked at", async () => {
  const [{ chain }, txid] = await buried(SERVERS - 1, SERVERS, false);
  expect(chain.outputs(SCRIPT).find(({ value }) => value === PAID)?.spentBy).toMatchObject({ txid, block: { height: 122 } });
});

test("an own spend is given also to those who do not tell the history of its script", async () => {
  const world = await begin();
  const { w, chain } = world;
  w.pay(SCRIPT, PAID);
  w.mine();
  await whileTimePasses(w, chain.refresh());
  const raw = serializeTx(spendOf(w.format, 1, chain.outputs(SCRIPT), scriptNumber(2)));
  for (const { faults } of w.servers.slice(0, LIARS)) faults.add({ kind: "swallow_broadcast" });
  for (const { faults } of w.servers.slice(LIARS))
    faults.add({ kind: "error", code: 1, message: "history too large", methods: ["blockchain.scripthash.get_history"], forMs: HOUR_MS });
  world.guard(0, [raw]);
  expect(await whileTimePasses(w, chain.broadcast(raw))).toMatchObject({ kind: "accepted" });
  await w.pass(65_000);
  expect(w.chain.mempool.graph.entries()).toHaveLength(1);
});

test("a spend that the connected hide is shown by one that is visited though it says that its script has no history (Fulcrum, of a long one)", async () => {
  const world = await begin({}, (line, server, call) => {
    if (server < LIARS || !call.includes("blockchain.scripthash.get_history")) return line;
    return JSON.stringify({ ...(JSON.parse(line) as object), result: [] });
  });
  const txid = await hiddenSpend(world, 2);
  world.guard(0);
  await world.w.pass(65_000);
  expect(world.shown).toEqual([txid]);
});

test("an own spend of a payment that servers deny is given to those who are visited", async () => {
  const { w, chain, guard } = await begin();
  const payment = w.pay(SCRIPT, PAID);
  hide(w, payment);
  w.mine();
  const { format } = w;
  const output = { txid: payment, vout: 0, value: PAID };
  const raw = serializeTx(spendOf(format, 1, [output], scriptNumber(2)));
  for (const { faults } of w.servers.slice(0, LIARS)) faults.add({ kind: "swallow_broadcast" });
  guard(0, [raw]);
  expect(await whileTimePasses(w, chain.broadcast(raw))).toMatchObject({ kind: "accepted" });
  await w.pass(65_000);
  expect(w.chain.mempool.graph.entries()).toHaveLength(1);
});

/** Own spends that the connected keep to themselves: of what is not there, and one that spends the payment. */
async function ownSpends(world: World): Promise<{ readonly bad: (n: number) => Uint8Array; readonly good: Uint8Array }> {
  const { w, chain } = world;
  w.pay(SCRIPT, PAID);
  w.mine();
  await whileTimePasses(w, chain.refresh());
  for (const { faults } of w.servers.slice(0, LIARS)) faults.add({ kind: "swallow_broadcast" });
  const bad = (n: number): Uint8Array =>
    serializeTx(spendOf(w.format, 1, [{ txid: "ab".repeat(32), vout: n, value: PAID }], scriptNumber(2)));
  return { bad, good: serializeTx(spendOf(w.format, 1, chain.outputs(SCRIPT), scriptNumber(2))) };
}

test.each([
  ["the last but one", 1],
  ["the first", 2],
])("of an own spend whose newest version is refused others are given, too: %s", async (_, at) => {
  const world = await begin();
  const { bad, good } = await ownSpends(world);
  world.guard(
    0,
    [0, 1, 2].map((n) => (n === at ? good : bad(n))),
  );
  await world.w.pass(65_000);
  expect(world.w.chain.mempool.graph.entries()).toHaveLength(1);
});

test("of very many versions that are refused few are given at a visit, and of very many forms no more", async () => {
  const world = await begin();
  const { w, chain, sent } = world;
  const { bad } = await ownSpends(world);
  const own = (n: number): { txid: string; hex: string } => ({ txid: txidIn(w, bad(n)), hex: toHex(bad(n)) });
  const forms = Array.from({ length: 30 }, (_, i) => Array.from({ length: 30 }, (__, k) => own(30 * i + k)));
  chain.guard?.(SCRIPT, { dueSec: 0, onTx: () => undefined, spends: () => forms });
  await w.pass(65_000);
  expect(count(outside(sent), "transaction.broadcast")).toBe(40);
});

test("each form of what is spent has its own spend given, and none who has one of them in a block gets another", async () => {
  const world = await begin();
  const { w, chain, sent } = world;
  const { bad, good } = await ownSpends(world);
  const forms = [bad(0), good].map((raw) => [{ txid: txidIn(w, raw), hex: toHex(raw) }]);
  chain.guard?.(SCRIPT, { dueSec: 0, onTx: () => undefined, spends: () => forms });
  await w.pass(65_000);
  expect(w.chain.mempool.graph.entries()).toHaveLength(1);
  w.mine();
  outside(sent);
  await w.pass(10 * 60_000);
  expect(count(outside(sent), "transaction.broadcast")).toBe(0);
});

test("one transaction that whoever guards cannot take does not lose the others", async () => {
  const { w, chain } = await begin();
  await whileTimePasses(w, chain.refresh());
  const paid = [1, 2, 3].map((n) => w.pay(SCRIPT, PAID + BigInt(n)));
  for (const txid of paid) hide(w, txid);
  w.mine();
  const onTx = ({ txid }: { readonly txid: string }): void => {
    if (txid === paid[1]) throw new Error("cannot be taken");
  };
  chain.guard?.(SCRIPT, { dueSec: 0, onTx });
  await w.pass(65_000);
  expect(
    chain
      .outputs(SCRIPT)
      .map(({ txid }) => txid)
      .toSorted(),
  ).toEqual([paid[0], paid[2]].toSorted());
});

test("one that is visited is not asked for a history of thousands of lines each minute: it would cut off who costs it that much", async () => {
  const long = JSON.stringify(
    Array.from({ length: 15_000 }, (_, i) => ({ tx_hash: (i + 0x100000).toString(16).padStart(64, "a"), height: 1 })),
  );
  const { w, sent, guard } = await begin({ maxConnected: SERVERS - 1 }, (line, server) =>
    server === SERVERS - 1 ? line.replace(/"result":\[\{"(?:fee|height)".*\]/, `"result":${long}`) : line,
  );
  w.pay(SCRIPT, PAID);
  w.mine();
  guard(0);
  await w.pass(HOUR_MS);
  const visits = sent[SERVERS - 1] ?? [];
  expect(visits.filter((line) => line === "connect").length).toBeGreaterThan(40);
  const asked = visits.filter((line) => line.includes("get_history")).length;
  expect(asked).toBeGreaterThan(3);
  expect(asked).toBeLessThan(12);
});
