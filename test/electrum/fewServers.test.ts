import { afterEach, expect, test } from "vitest";
import type { ElectrumChain, ElectrumOptions } from "../../src/adapters/electrum/electrumDeps.ts";
import { scriptHashOf } from "../../src/adapters/electrum/scriptHash.ts";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import { ChainDaemon } from "../../src/chain/daemon.ts";
import { ElectrumServer } from "../../src/chain/electrum/electrumServer.ts";
import { EmbeddedChain } from "../../src/chain/embeddedChain.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import type { Log } from "../../src/ports/log.ts";
import { type ElectrumWorld, startElectrumChain } from "../contract/electrumChain.ts";
import { SEGWIT_COIN } from "../contract/embeddedChain.ts";
import { scriptNumber } from "../contract/spendable.ts";
import { quietLog } from "../fakes/quietLog.ts";
import { whileTimePasses } from "./whileTimePasses.ts";

// How many servers must be there, and which of them are one and the same.

const PAID = 200_000_000n;
const cleanup: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanup.splice(0).reverse()) await undo();
});

async function begin(count: number): Promise<ElectrumWorld> {
  const w = await startElectrumChain(SEGWIT_COIN, count);
  cleanup.push(() => w.close());
  return w;
}

async function open(w: ElectrumWorld, options: ElectrumOptions = {}, log?: Log): Promise<ElectrumChain> {
  const store = openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST");
  const chain = await w.openElectrum(store, { timeoutMs: 2_000, ...options }, log);
  cleanup.push(() => chain.close());
  return chain;
}

async function until(w: ElectrumWorld, condition: () => boolean): Promise<void> {
  for (let i = 0; i < 600 && !condition(); i++) await w.pass(1_000);
  expect(condition()).toBe(true);
}

/** A server over a chain with the same past that goes its own way from here. */
function rival(w: ElectrumWorld): { readonly chain: EmbeddedChain; readonly server: ElectrumServer } {
  const chain = new EmbeddedChain({ params: w.chain.params, clock: w.clock, rng: seededRng(1) });
  expect(chain.state.tip.block.hash).toBe(w.chain.state.tip.block.hash);
  const server = new ElectrumServer(new ChainDaemon(chain, w.clock), w.clock);
  cleanup.push(async () => server.close());
  return { chain, server };
}

test("a server left alone of three is not believed unless the activation asks for that; what is sent goes out by it all the same", async () => {
  const w = await begin(3);
  const liar = rival(w);
  w.replace(0, liar.server);
  const chain = await open(w);
  const script = scriptNumber(1);
  await whileTimePasses(w, chain.watchScript(script, 0));
  expect(chain.serverNeeds()).toEqual({ minConnected: 2, warning: null });
  for (const server of w.servers.slice(1)) server.faults.add({ kind: "refuse" });
  liar.chain.payFromFaucet(script, PAID);
  liar.chain.mine(6);
  await until(w, () => chain.status().state === "unreachable");
  for (let i = 0; i < 20; i++) await w.pass(5_000);
  expect(chain.servers().map(({ state }) => state)).toEqual(["connected", "away", "away"]);
  expect(chain.status()).toMatchObject({ state: "unreachable", tip: { height: 120 } });
  expect(chain.status().error).toContain("Only 1 Electrum server of TST can be used, 2 are wanted");
  expect(chain.outputs(script)).toEqual([]);
  const refused = w.chain.payFromFaucet(scriptNumber(2), PAID);
  const taken = liar.chain.payFromFaucet(scriptNumber(2), PAID);
  if (!refused.ok || !taken.ok) expect.fail("not paid");
  expect(await whileTimePasses(w, chain.broadcast(refused.value.raw))).toMatchObject({ kind: "unknown" });
  w.asked.length = 0;
  expect(await whileTimePasses(w, chain.broadcast(taken.value.raw))).toMatchObject({ kind: "unknown" });
  expect(w.asked).toContain("blockchain.transaction.broadcast");
  for (const server of w.servers) server.faults.clear();
  w.mine();
  await until(w, () => chain.status().state === "ready");
  expect(chain.status().tip?.hash).toBe(w.blocks().at(-1)?.hash);
});

test.each([
  [1, undefined, undefined, 1, "has one Electrum server only"],
  [2, undefined, undefined, 1, "makes do with one Electrum server when others are away"],
  [3, undefined, undefined, 2, null],
  [3, 1, undefined, 1, "makes do with one Electrum server when others are away"],
  [3, 3, undefined, 3, null],
  [3, undefined, 1, 1, "uses one Electrum server at a time"],
  [2, 2, undefined, 2, null],
  [7, 6, undefined, 6, null],
  [7, 6, 7, 6, null],
])(
  "of %i servers, min_connected %s, max_connected %s: %i must be there; whose word that is, is said (%s)",
  async (count, least, most, needed, said) => {
    const w = await begin(count);
    const warned: unknown[] = [];
    const log: Log = { ...quietLog, child: () => log, warn: (event, fields) => void warned.push([event, fields?.warning]) };
    const options = { ...(least === undefined ? {} : { minConnected: least }), ...(most === undefined ? {} : { maxConnected: most }) };
    const chain = await open(w, options, log);
    const { minConnected, warning } = chain.serverNeeds();
    expect(minConnected).toBe(needed);
    if (said === null) expect(warning).toBeNull();
    else expect(warning).toContain(said);
    expect(warned).toEqual(said === null ? [] : [["few_servers", warning]]);
  },
);

test("who wants more servers than are usually connected gets as many, or is told that they are not there", async () => {
  const w = await begin(8);
  const chain = await open(w, { minConnected: 7 });
  await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
  const connected = (): number => chain.servers().filter(({ state }) => state === "connected").length;
  expect(connected()).toBe(7);
  for (const server of w.servers.slice(6)) server.faults.add({ kind: "refuse" });
  await until(w, () => chain.status().state === "unreachable");
  expect(chain.status().error).toContain("Only 6 Electrum servers of TST can be used, 7 are wanted");
});

test("what is sent while nobody is there is known not to be out", async () => {
  const w = await begin(2);
  const chain = await open(w);
  await whileTimePasses(w, chain.refresh());
  for (const server of w.servers) server.faults.add({ kind: "refuse" });
  await until(w, () => chain.status().state === "unreachable");
  const paid = w.chain.payFromFaucet(scriptNumber(2), PAID);
  if (!paid.ok) expect.fail("not paid");
  expect(await chain.broadcast(paid.value.raw)).toMatchObject({ kind: "unknown", isUnsent: true });
});

test("two addresses of one host are one voter, the second is used where the first is away, and neither after a lie", async () => {
  const w = await begin(4);
  w.voters.push("one.example", "one.example", "two.example", "three.example");
  w.servers[3]?.faults.add({ kind: "refuse" });
  const chain = await open(w);
  const states = (): readonly string[] => chain.servers().map(({ state }) => state);
  await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
  expect(states()).toEqual(["connected", "idle", "connected", "away"]);
  w.servers[0]?.faults.add({ kind: "refuse" });
  await until(w, () => states()[1] === "connected");
  expect(states()).toEqual(["away", "connected", "connected", "away"]);
  w.servers[2]?.faults.add({ kind: "refuse" });
  await until(w, () => chain.status().state === "unreachable");
  w.servers[0]?.faults.clear();
  for (let i = 0; i < 20; i++) await w.pass(5_000);
  expect(states()).toEqual(["away", "connected", "away", "away"]);
  expect(chain.status().state).toBe("unreachable");
  w.servers[2]?.faults.clear();
  w.servers[3]?.faults.clear();
  await until(w, () => chain.status().state === "ready" && states()[3] === "connected");
  const paid = w.pay(scriptNumber(1), PAID);
  w.mine();
  w.servers[1]?.faults.add({ kind: "claim", scriptHash: scriptHashOf(toHex(scriptNumber(1))), txid: paid, height: 5 });
  await until(w, () => states()[1] === "dropped");
  for (let i = 0; i < 20; i++) await w.pass(5_000);
  expect(states()).toEqual(["away", "dropped", "connected", "connected"]);
});

test("servers that answer late count among those that must be connected: a coin that wants four of five goes on with three quick ones", async () => {
  const w = await begin(5);
  const chain = await open(w, { minConnected: 4 });
  await whileTimePasses(w, chain.refresh());
  for (const server of w.servers.slice(3)) server.faults.add({ kind: "slow", delayMs: 1_500 });
  const states = new Set<string>();
  chain.onChange(() => states.add(chain.status().state));
  for (let i = 0; i < 120; i++) {
    if (i % 10 === 0) w.mine();
    if (i < 20) await whileTimePasses(w, chain.refresh());
    await w.pass(10_000);
  }
  expect(chain.servers().map(({ latencyMs }) => (latencyMs ?? 0) > 1_000)).toEqual([false, false, false, true, true]);
  expect([...states]).toEqual(["ready"]);
});

test("of two servers one stands still, and with it the chain: it is named for as long as it does", async () => {
  const w = await begin(2);
  const chain = await open(w);
  await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
  const troubles = (): readonly (string | null)[] => chain.servers().map(({ trouble }) => trouble);
  w.mine();
  await w.pass(5_000);
  expect(troubles()).toEqual([null, null]);
  w.servers[1]?.faults.add({ kind: "lag", blocks: 3 });
  w.mine(3);
  await w.pass(5_000);
  expect(chain.status().tip?.height).toBe(121);
  expect(troubles()).toEqual([null, "it is behind: at block 121, and another at block 124"]);
  w.servers[1]?.faults.clear();
  w.mine();
  await w.pass(5_000);
  expect(chain.status().tip?.height).toBe(125);
  expect(troubles()).toEqual([null, null]);
});
