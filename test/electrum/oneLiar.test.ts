import { afterEach, describe, expect, test } from "vitest";
import type { ElectrumChain, ElectrumOptions } from "../../src/adapters/electrum/electrumDeps.ts";
import { scriptHashOf } from "../../src/adapters/electrum/scriptHash.ts";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import { serializeHeader } from "../../src/chain/block.ts";
import { ChainDaemon } from "../../src/chain/daemon.ts";
import { ElectrumServer } from "../../src/chain/electrum/electrumServer.ts";
import { EmbeddedChain } from "../../src/chain/embeddedChain.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import { serializeTx } from "../../src/core/utxo/txCodec.ts";
import { type ElectrumWorld, startElectrumChain } from "../contract/electrumChain.ts";
import { KMD_COIN, SEGWIT_COIN } from "../contract/embeddedChain.ts";
import { scriptNumber, spendOf } from "../contract/spendable.ts";
import { whileTimePasses } from "./whileTimePasses.ts";

const PAID = 200_000_000n;
const cleanup: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanup.splice(0).reverse()) await undo();
});

async function begin(
  count: number,
  spoil?: (line: string, server: number, call: string) => string | null,
  coin: object = SEGWIT_COIN,
): Promise<ElectrumWorld> {
  const w = await startElectrumChain(coin, count, spoil);
  cleanup.push(() => w.close());
  return w;
}

async function open(w: ElectrumWorld, options: ElectrumOptions = {}): Promise<ElectrumChain> {
  const store = openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST");
  const chain = await w.openElectrum(store, { timeoutMs: 2_000, ...options });
  cleanup.push(() => chain.close());
  return chain;
}

const refreshed = (w: ElectrumWorld, chain: ElectrumChain): Promise<void> => whileTimePasses(w, chain.refresh());
const watched = (w: ElectrumWorld, chain: ElectrumChain, n: number): Promise<void> =>
  whileTimePasses(w, chain.watchScript(scriptNumber(n), 0));
const statesOf = (chain: ElectrumChain): readonly string[] => chain.servers().map(({ state }) => state);

function headerOf(w: ElectrumWorld, height: number): string {
  const entry = w.chain.state.at(height);
  if (!entry) throw new Error(`no block ${height}`);
  return toHex(serializeHeader(entry.block.header));
}

/** Another server over a chain with the same past that goes its own way from here. */
function rival(w: ElectrumWorld): { readonly chain: EmbeddedChain; readonly server: ElectrumServer } {
  const chain = new EmbeddedChain({ params: w.chain.params, clock: w.clock, rng: seededRng(1) });
  for (let height = chain.state.tip.height + 1; height <= w.chain.state.tip.height; height++) {
    const entry = w.chain.state.at(height);
    if (entry) chain.submit(entry.block);
  }
  expect(chain.state.tip.block.hash).toBe(w.chain.state.tip.block.hash);
  const server = new ElectrumServer(new ChainDaemon(chain, w.clock), w.clock);
  cleanup.push(async () => server.close());
  return { chain, server };
}

describe("one liar of three cannot have the others dropped", () => {
  test("by naming a transaction that is proven elsewhere in the history of a script it has nothing to do with", async () => {
    const w = await begin(3);
    const chain = await open(w);
    await watched(w, chain, 1);
    await watched(w, chain, 2);
    const paid = w.pay(scriptNumber(1), PAID);
    w.mine();
    await refreshed(w, chain);
    const height = chain.tx(paid)?.block?.height ?? 0;
    w.servers[0]?.faults.add({ kind: "claim", scriptHash: scriptHashOf(toHex(scriptNumber(2))), txid: paid, height });
    for (let i = 0; i < 10; i++) {
      await w.pass(5_000);
      await refreshed(w, chain);
    }
    expect(statesOf(chain).slice(1)).toEqual(["connected", "connected"]);
  });

  test("by telling a false last block in common in a reorganisation and keeping the headers after it", async () => {
    let orphan = "";
    let inItsPlace = "";
    const w = await begin(3, (line, server) => {
      if (server !== 0 || orphan === "") return line;
      if (line.includes(`"result":"${inItsPlace}"`)) return line.replace(inItsPlace, orphan);
      return line.replace(/"result":\{"[^}]*"max":\d+[^}]*\}/, '"error":{"code":-32603,"message":"not now"}');
    });
    const chain = await open(w);
    await refreshed(w, chain);
    const height = chain.status().tip?.height ?? 0;
    orphan = headerOf(w, height);
    w.reorg(1, 2);
    inItsPlace = headerOf(w, height);
    await refreshed(w, chain);
    expect(statesOf(chain).slice(1)).toEqual(["connected", "connected"]);
    expect(chain.status().tip?.hash).toBe(w.blocks().at(-1)?.hash);
  });
});

test("one server that names a payment in two blocks, each at another script, and shows neither, is not most of three", async () => {
  const refused = /"blockchain\.block\.header","params":\[[56]\]/;
  const w = await begin(3, (line, server, call) =>
    server === 0 && refused.test(call) ? line.replace(/"result":"[0-9a-f]*"/, '"error":{"code":1,"message":"not now"}') : line,
  );
  const chain = await open(w);
  await watched(w, chain, 1);
  await watched(w, chain, 2);
  const txid = w.pay(scriptNumber(1), PAID);
  for (const [n, height] of [
    [1, 5],
    [2, 6],
  ] as const)
    w.servers[0]?.faults.add({ kind: "claim", scriptHash: scriptHashOf(toHex(scriptNumber(n))), txid, height });
  await refreshed(w, chain);
  for (let i = 0; i < 10; i++) await w.pass(5_000);
  expect(chain.status()).toMatchObject({ state: "ready", error: null });
  expect(chain.outputs(scriptNumber(1))).toMatchObject([{ txid, block: null }]);
  expect(statesOf(chain)[0]).toBe("connected");
});

test("one server that denies the last block in common takes nothing back that is still in the chain", async () => {
  let denied = "";
  const w = await begin(3, (line, server) =>
    server === 0 && denied !== "" ? line.replace(`"result":"${denied}"`, `"result":"${headerOf(w, 1)}"`) : line,
  );
  const chain = await open(w);
  await watched(w, chain, 1);
  const paid = w.pay(scriptNumber(1), PAID);
  w.mine();
  await refreshed(w, chain);
  denied = headerOf(w, 121);
  w.mine(2);
  await refreshed(w, chain);
  expect(chain.tx(paid)?.block?.height).toBe(121);
  expect(chain.status().tip?.height).toBe(123);
});

test("one server that is far behind, while two others have different last blocks, takes nothing back that all of them have", async () => {
  const w = await begin(3);
  const paid = w.pay(scriptNumber(1), PAID);
  w.mine(130);
  const other = rival(w);
  w.replace(1, other.server);
  const chain = await open(w);
  await watched(w, chain, 1);
  expect(chain.tx(paid)?.block?.height).toBe(121);
  const heights: number[] = [];
  chain.onChange(() => heights.push(chain.status().tip?.height ?? -1));
  w.servers[2]?.faults.add({ kind: "lag", blocks: 140 });
  await refreshed(w, chain);
  w.mine();
  other.chain.payFromFaucet(scriptNumber(3), PAID);
  other.chain.mine(1);
  await refreshed(w, chain);
  for (let i = 0; i < 5; i++) await w.pass(5_000);
  expect(heights.filter((height) => height < 250)).toEqual([]);
  expect(chain.tx(paid)?.block?.height).toBe(121);
  expect(chain.status().state).toBe("ready");
});

test("a first block that one server told alone is no reason to drop the others that come later", async () => {
  const w = await begin(3);
  const stranger = (await begin(1, undefined, KMD_COIN)).servers[0];
  if (!stranger) expect.fail("no server");
  w.replace(0, stranger);
  const away = w.servers.slice(1).map(({ faults }) => ({ faults, id: faults.add({ kind: "refuse" }).id }));
  const chain = await open(w, { minConnected: 1 });
  await w.pass(10_000);
  for (const { faults, id } of away) faults.clear(id);
  await w.pass(30_000);
  await refreshed(w, chain);
  expect(statesOf(chain)).toEqual(["dropped", "connected", "connected"]);
  expect(chain.status().tip?.hash).toBe(w.blocks().at(-1)?.hash);
});

test("a transaction in a form this node does not read costs no server its place", async () => {
  let unread = "";
  // As Litecoin's daemons give one that carries extension-block data while it is in the mempool.
  const w = await begin(3, (line) => (unread === "" ? line : line.replace(`"result":"${unread}"`, `"result":"${unread}00"`)));
  const chain = await open(w);
  await watched(w, chain, 1);
  const paid = w.chain.payFromFaucet(scriptNumber(1), PAID);
  if (!paid.ok) expect.fail("not paid");
  unread = toHex(paid.value.raw);
  await whileTimePasses(w, chain.watchTx(paid.value.txid, 0));
  expect(statesOf(chain)).toEqual(["connected", "connected", "connected"]);
  expect(chain.outputs(scriptNumber(1))).toEqual([]);
  unread = "";
  w.mine();
  await refreshed(w, chain);
  expect(chain.outputs(scriptNumber(1))).toHaveLength(1);
});

test("a history of thousands that one server makes up and answers slowly keeps nobody waiting for what the others tell", async () => {
  const scriptHash = scriptHashOf(toHex(scriptNumber(1)));
  const made = Array.from({ length: 5_000 }, (_, i) => ({ tx_hash: i.toString(16).padStart(64, "0"), height: 5 }));
  let isLying = false;
  const w = await begin(3, (line, server) => {
    if (server !== 0 || !isLying || !line.includes('"tx_hash"')) return line;
    return line.replace(/"result":\[.*\]/, `"result":${JSON.stringify(made)}`);
  });
  const chain = await open(w, { timeoutMs: 10_000 });
  await watched(w, chain, 1);
  isLying = true;
  w.servers[0]?.faults.add({ kind: "slow", delayMs: 9_000, methods: ["blockchain.transaction.get"] });
  w.servers[0]?.faults.add({ kind: "claim", scriptHash, txid: "ab".repeat(32), height: 5 });
  const paid = w.pay(scriptNumber(1), PAID);
  const startMs = w.clock.nowMs();
  const done = refreshed(w, chain);
  for (let i = 0; i < 30 && chain.tx(paid) === undefined; i++) await w.pass(1_000);
  expect(chain.tx(paid)).toBeDefined();
  await done;
  expect(w.clock.nowMs() - startMs).toBeLessThan(60_000);
});

test("a branch of its own that one server shows does not hold up the chain where the third is slow", async () => {
  const w = await begin(3);
  const other = rival(w);
  w.replace(0, other.server);
  w.servers[2]?.faults.add({ kind: "slow", delayMs: 1_500 });
  const chain = await open(w);
  await refreshed(w, chain);
  for (let i = 0; i < 10; i++) await w.pass(5_000);
  other.chain.payFromFaucet(scriptNumber(3), PAID);
  other.chain.mine(3);
  w.mine(2);
  for (let i = 0; i < 10; i++) await w.pass(5_000);
  expect(chain.status()).toMatchObject({ state: "ready", tip: { hash: w.blocks().at(-1)?.hash } });
});

test("the fee one server names where the others know none is not believed", async () => {
  const w = await begin(3, (line, server) => (server === 0 ? line : line.replace('"result":5', '"result":-1')));
  for (const { faults } of w.servers) faults.add({ kind: "false_fee", rate: 5 });
  const chain = await open(w);
  await refreshed(w, chain);
  expect(await whileTimePasses(w, chain.estimateFeePerKb(1))).not.toBe(500_000_000n);
});

test("where blocks are dear, a chain that one server still has is not left for one that shares none of the blocks kept", async () => {
  const w = await begin(3);
  const other = rival(w);
  const chain = await open(w, { costlyWork: 1n });
  await refreshed(w, chain);
  const made = other.chain.reorg({ depth: 110, blocks: 112, forget: [] });
  expect(made.ok).toBe(true);
  for (const at of [1, 2]) {
    w.replace(at, other.server);
    w.servers[at]?.faults.add({ kind: "refuse" });
  }
  for (let i = 0; i < 20; i++) await w.pass(2_000);
  expect(statesOf(chain)).toEqual(["connected", "connected", "connected"]);
  expect(chain.status().tip?.hash).toBe(w.blocks().at(-1)?.hash);
});

test("an unconfirmed transaction whose script servers refuse to tell of is not gone by that", async () => {
  const w = await begin(3);
  const chain = await open(w);
  const paid = w.pay(scriptNumber(1), PAID);
  await whileTimePasses(w, chain.watchTx(paid, 0));
  expect(chain.tx(paid)).toBeDefined();
  for (const { faults } of w.servers)
    faults.add({
      kind: "error",
      code: 1,
      message: "history too large",
      methods: ["blockchain.scripthash.subscribe", "blockchain.scripthash.get_mempool"],
    });
  const seen: boolean[] = [];
  chain.onChange(() => seen.push(chain.tx(paid) !== undefined));
  for (let i = 0; i < 15; i++) {
    await w.pass(10_000);
    await refreshed(w, chain);
  }
  expect(seen).not.toContain(false);
  expect(chain.tx(paid)).toBeDefined();
});

test("a broadcast that one server alone says it took is not out: nothing shows it, and it goes to the others when they are there", async () => {
  const w = await begin(3);
  const chain = await open(w);
  await watched(w, chain, 1);
  const made = w.pay(scriptNumber(1), PAID);
  w.mine();
  await refreshed(w, chain);
  const spend = serializeTx(spendOf(w.format, 1, chain.outputs(scriptNumber(1)), scriptNumber(2)));
  const methods = ["blockchain.transaction.broadcast"];
  w.servers[0]?.faults.add({ kind: "swallow_broadcast" });
  for (const { faults } of w.servers.slice(1)) faults.add({ kind: "error", code: -32603, message: "the daemon is away", methods });
  const outcome = await whileTimePasses(w, chain.broadcast(spend));
  if (outcome.kind !== "unknown") expect.fail(outcome.kind);
  expect(outcome.message).toContain("Only one of the TST servers took the broadcast: server0: it says that it took it; server1: ");
  expect(chain.outputs(scriptNumber(1))[0]).toMatchObject({ txid: made, spentBy: null });
  for (const { faults } of w.servers.slice(1)) faults.clear();
  expect(await whileTimePasses(w, chain.broadcast(spend))).toEqual({ kind: "accepted" });
  const { txid: sent } = chain.outputs(scriptNumber(1))[0]?.spentBy ?? { txid: "" };
  expect(w.chain.mempool.coin(sent, 0)).toBeDefined();
});

// ElectrumX and Fulcrum say 1, electrs 2, older ones of Blockstream have no code, and others pass on the daemon's.
test.each([1, 2, 0, -26])("a broadcast that most refuse (code %i) is refused, though one server says it took it", async (code) => {
  const w = await begin(3);
  const chain = await open(w);
  await watched(w, chain, 1);
  w.pay(scriptNumber(1), PAID);
  w.mine();
  await refreshed(w, chain);
  const spend = serializeTx(spendOf(w.format, 1, chain.outputs(scriptNumber(1)), scriptNumber(2)));
  const methods = ["blockchain.transaction.broadcast"];
  w.servers[0]?.faults.add({ kind: "swallow_broadcast" });
  for (const { faults } of w.servers.slice(1)) faults.add({ kind: "error", code, message: "min relay fee not met", methods });
  expect(await whileTimePasses(w, chain.broadcast(spend))).toMatchObject({ kind: "rejected", message: "min relay fee not met" });
});

test("servers that say everything twice, answer out of order, or tell of impossible blocks break nothing", async () => {
  const huge = '{"jsonrpc":"2.0","method":"blockchain.headers.subscribe","params":[{"height":1e308,"hex":"00"}]}';
  const w = await begin(5, (line, server) => (server === 0 ? `${line}\n${line}` : server === 2 ? `${line}\n${huge}` : line));
  w.servers[1]?.faults.add({ kind: "slow", delayMs: 900, methods: ["blockchain.headers.subscribe", "blockchain.scripthash.get_history"] });
  const chain = await open(w);
  await watched(w, chain, 1);
  const paid = w.pay(scriptNumber(1), PAID);
  w.mine(2);
  w.reorg(1, 3);
  await refreshed(w, chain);
  expect(chain.outputs(scriptNumber(1))).toMatchObject([{ txid: paid, block: { height: 121 } }]);
  expect(chain.status().tip?.hash).toBe(w.blocks().at(-1)?.hash);
  expect(statesOf(chain).filter((_, i) => i !== 2)).toEqual(["connected", "connected", "connected", "connected"]);
  expect(chain.servers()[2]?.trouble).toContain("its answer to blockchain.headers.subscribe cannot be used: no height");
});

test("one server that leaves out much of a history, and gives the headers that would show it late, holds up no look for as many calls", async () => {
  const COUNT = 60;
  let twisted = "";
  const w = await begin(3, (line, server) =>
    server === 0 && twisted !== "" ? line.replace(/"result":"[0-9a-f]{160}"/, `"result":"${twisted}"`) : line,
  );
  const chain = await open(w);
  await watched(w, chain, 1);
  const paid = Array.from({ length: COUNT }, () => {
    const txid = w.pay(scriptNumber(1), 100_000n);
    w.mine();
    return txid;
  });
  await refreshed(w, chain);
  for (const txid of paid) w.servers[0]?.faults.add({ kind: "hide", txid });
  await refreshed(w, chain);
  twisted = headerOf(w, 1);
  w.servers[0]?.faults.add({ kind: "slow", delayMs: 1_900, methods: ["blockchain.block.header"] });
  await w.pass(31_000);
  const sinceMs = w.clock.nowMs();
  await refreshed(w, chain);
  expect(w.clock.nowMs() - sinceMs).toBeLessThan(10_000);
  twisted = "";
  await w.pass(61_000);
  await refreshed(w, chain);
  expect(statesOf(chain)).toEqual(["dropped", "connected", "connected"]);
});

test("a server that says much at once of what is disproven is left alone for one hour, not for a day: it is one lie", async () => {
  const w = await begin(3);
  const chain = await open(w);
  await watched(w, chain, 1);
  const elsewhere = Array.from({ length: 20 }, () => w.pay(scriptNumber(2), 100_000n));
  w.mine();
  for (const txid of elsewhere)
    w.servers[0]?.faults.add({ kind: "claim", scriptHash: scriptHashOf(toHex(scriptNumber(1))), txid, height: 100 });
  w.pay(scriptNumber(1), PAID);
  await w.pass(40_000);
  expect(chain.servers()[0]).toMatchObject({ state: "dropped", contradictions: 1 });
  w.servers[0]?.faults.clear();
  await w.pass(3_600_000);
  expect(statesOf(chain)).toEqual(["connected", "connected", "connected"]);
});

test("a server that tells of a changed history with each answer is looked at no more than some times a second", async () => {
  const told = { count: 0 };
  const scriptHash = scriptHashOf(toHex(scriptNumber(1)));
  const w = await begin(3, (line, server) => {
    if (server !== 0 || told.count >= 3_000 || !line.includes('"tx_hash"')) return line;
    const status = (++told.count).toString(16).padStart(64, "0");
    return `${line}\n{"jsonrpc":"2.0","method":"blockchain.scripthash.subscribe","params":["${scriptHash}","${status}"]}`;
  });
  const chain = await open(w);
  await watched(w, chain, 1);
  const paid = w.pay(scriptNumber(1), PAID);
  await w.pass(20_000);
  expect(told.count).toBeGreaterThan(50);
  expect(told.count).toBeLessThan(200);
  w.mine();
  await refreshed(w, chain);
  expect(chain.outputs(scriptNumber(1))).toMatchObject([{ txid: paid, block: { height: 121 } }]);
});
