import { afterEach, describe, expect, test } from "vitest";
import type { ElectrumChain } from "../../src/adapters/electrum/electrumDeps.ts";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { type ElectrumWorld, startElectrumChain } from "../contract/electrumChain.ts";
import { SEGWIT_COIN } from "../contract/embeddedChain.ts";
import { scriptNumber } from "../contract/spendable.ts";
import { whileTimePasses } from "./whileTimePasses.ts";

const HOUR_MS = 3_600_000;
const cleanup: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanup.splice(0).reverse()) await undo();
});

async function begin(): Promise<{ readonly w: ElectrumWorld; readonly chain: ElectrumChain }> {
  const w = await startElectrumChain(SEGWIT_COIN, 3);
  cleanup.push(() => w.close());
  const chain = await w.openElectrum(openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST"), { timeoutMs: 2_000 });
  cleanup.push(() => chain.close());
  await whileTimePasses(w, chain.refresh());
  return { w, chain };
}
const states = (chain: ElectrumChain): readonly string[] => chain.servers().map(({ state }) => state);

test("a clock set back three hours makes no rest longer: servers that were lost are there again soon", async () => {
  const { w, chain } = await begin();
  w.down.set(true);
  await w.pass(3_000);
  w.skewMs = -3 * HOUR_MS;
  w.down.set(false);
  await w.pass(20_000);
  expect(states(chain)).toEqual(["connected", "connected", "connected"]);
});

test("a clock set back three hours while a call is on its way: a server that leaves it unanswered is left", async () => {
  const { w, chain } = await begin();
  w.servers[0]?.faults.add({ kind: "stall" });
  const refreshed = chain.refresh();
  await w.pass(1_000);
  w.skewMs = -3 * HOUR_MS;
  await w.pass(10_000);
  expect(chain.servers()[0]?.trouble).toContain("no answer to");
  await whileTimePasses(w, refreshed);
});

test("a clock set back three hours while no server gives a transaction: it is seen soon after they do", async () => {
  const { w, chain } = await begin();
  await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
  const methods = ["blockchain.transaction.get"];
  for (const { faults } of w.servers) faults.add({ kind: "error", code: 1, message: "no", methods });
  w.pay(scriptNumber(1), 5_000n);
  await w.pass(3_000);
  expect(chain.outputs(scriptNumber(1))).toEqual([]);
  w.skewMs = -3 * HOUR_MS;
  for (const { faults } of w.servers) faults.clear();
  await w.pass(30_000);
  expect(chain.outputs(scriptNumber(1))).toHaveLength(1);
});

test("servers that were all away for an hour are tried every half minute: a swap has no five minutes to lose", async () => {
  const { w, chain } = await begin();
  w.down.set(true);
  await w.pass(HOUR_MS);
  expect(chain.status().state).toBe("unreachable");
  w.down.set(false);
  await w.pass(35_000);
  expect(chain.status().state).toBe("ready");
});

describe("servers that take a connection and say nothing", () => {
  const TIMEOUT_MS = 10_000;
  /** The first `silent` of so many servers say nothing. */
  async function beginBehind(silent: number, count: number, maxConnected?: number, voters: readonly string[] = []) {
    const w = await startElectrumChain(SEGWIT_COIN, count);
    cleanup.push(() => w.close());
    w.voters.push(...voters);
    for (const { faults } of w.servers.slice(0, silent)) faults.add({ kind: "stall" });
    const store = openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST");
    const options = { timeoutMs: TIMEOUT_MS, ...(maxConnected === undefined ? {} : { maxConnected }) };
    const chain = await w.openElectrum(store, options);
    cleanup.push(() => chain.close());
    return { w, chain };
  }

  test.each<readonly [number, number, number | undefined, number]>([
    [4, 5, 1, 12_000],
    [24, 27, undefined, 15_000],
  ])("%s of %s, named first, with at most %s connected: the coin is there within the time an activation has", async (...args) => {
    const [silent, count, most, withinMs] = args;
    const { w, chain } = await beginBehind(silent, count, most);
    await w.pass(withinMs);
    expect(chain.status().state).toBe("ready");
    expect(states(chain).filter((state) => state === "connected")).toHaveLength(count - silent);
  });

  test("who answers when its place is taken is let go, and so is another port of a host that is there", async () => {
    const { w, chain } = await beginBehind(2, 4, 2, ["one.example", "two.example", "one.example", "three.example"]);
    await w.pass(4_000);
    expect(states(chain)).toEqual(["connecting", "connecting", "connected", "connected"]);
    for (const { faults } of w.servers) faults.clear();
    await w.pass(TIMEOUT_MS);
    expect(states(chain)).toEqual(["idle", "idle", "connected", "connected"]);
    w.servers[3]?.faults.add({ kind: "refuse" });
    await w.pass(3_000);
    expect(states(chain)).toEqual(["idle", "connected", "connected", "away"]);
    w.servers[1]?.faults.add({ kind: "refuse" });
    w.servers[0]?.faults.add({ kind: "stall" });
    w.servers[2]?.faults.add({ kind: "refuse" });
    await w.pass(3_000);
    w.servers[2]?.faults.clear();
    await w.pass(4_000);
    expect(states(chain)).toEqual(["connecting", "away", "connected", "away"]);
    w.servers[0]?.faults.clear();
    await w.pass(1_000);
    expect(states(chain)).toEqual(["idle", "away", "connected", "away"]);
  });
});

test("who lied at one port is not heard at another that greets late", async () => {
  const w = await startElectrumChain(SEGWIT_COIN, 4);
  cleanup.push(() => w.close());
  w.voters.push("one.example", "one.example", "two.example", "three.example");
  w.servers[0]?.faults.add({ kind: "stall" });
  const store = openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST");
  const chain = await w.openElectrum(store, { timeoutMs: 600_000 });
  cleanup.push(() => chain.close());
  await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
  w.pay(scriptNumber(1), 200_000_000n);
  w.servers[1]?.faults.add({ kind: "false_branch" });
  w.mine();
  for (let i = 0; i < 12; i++) {
    void chain.refresh().catch(() => undefined);
    await w.pass(5_000);
  }
  expect(states(chain)).toEqual(["connecting", "dropped", "connected", "connected"]);
  w.servers[0]?.faults.clear();
  await w.pass(1_000);
  expect(states(chain)).toEqual(["idle", "dropped", "connected", "connected"]);
});

test("a connection that died without a word is noticed within a minute or so though nobody asks anything, and a live one is pinged rarely", async () => {
  const { w, chain } = await begin();
  await w.pass(60_000);
  w.asked.length = 0;
  w.servers[0]?.faults.add({ kind: "stall" });
  await w.pass(65_000);
  expect(states(chain)[0]).toBe("away");
  expect(chain.servers()[0]?.trouble).toContain("no answer to server.");
  expect(states(chain).slice(1)).toEqual(["connected", "connected"]);
  w.servers[0]?.faults.clear();
  await w.pass(HOUR_MS);
  expect(states(chain)).toEqual(["connected", "connected", "connected"]);
  const pings = w.asked.filter((method) => method === "server.ping").length / 3;
  expect(pings).toBeGreaterThan(50);
  expect(pings).toBeLessThanOrEqual(62);
});

test("a dead connection to a server that knows no ping is noticed, too", async () => {
  const { w, chain } = await begin();
  const [first] = w.servers;
  first?.faults.add({ kind: "error", code: -32601, message: "unknown method", methods: ["server.ping"] });
  await w.pass(120_000);
  expect(states(chain)).toEqual(["connected", "connected", "connected"]);
  first?.faults.add({ kind: "stall" });
  await w.pass(65_000);
  expect(states(chain)[0]).toBe("away");
  expect(w.askedOf(0).filter((method) => method === "server.ping")).toHaveLength(1);
});

test("a server ahead of the others that answers late does not keep a block waiting that the others agree on, nor is it blamed", async () => {
  const w = await startElectrumChain(SEGWIT_COIN, 3);
  cleanup.push(() => w.close());
  const chain = await w.openElectrum(openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST"));
  cleanup.push(() => chain.close());
  await whileTimePasses(w, chain.refresh());
  for (const { faults } of w.servers.slice(0, 2)) faults.add({ kind: "lag", blocks: 1 });
  w.mine();
  await w.pass(60_000);
  w.servers[2]?.faults.add({ kind: "slow", delayMs: 9_000, methods: ["blockchain.block.header"] });
  for (let i = 0; i < 5; i++) {
    const height = chain.status().tip?.height ?? 0;
    w.mine();
    await w.pass(500);
    expect(chain.status()).toMatchObject({ state: "ready", tip: { height: height + 1 } });
    await w.pass(20_000);
  }
  expect(chain.servers().map(({ state, trouble, contradictions }) => [state, trouble, contradictions])).toEqual(
    Array.from({ length: 3 }, () => ["connected", null, 0]),
  );
});

test("a coin whose servers name a transaction in a block and do not prove it says so, and not that its chain changes too fast", async () => {
  const { w, chain } = await begin();
  const paid = w.pay(scriptNumber(1), 100_000n);
  w.mine();
  for (const { faults } of w.servers)
    faults.add({ kind: "error", code: 2, message: "daemon error", methods: ["blockchain.transaction.get_merkle"] });
  const watched = chain.watchScript(scriptNumber(1), 0);
  await w.pass(10_000);
  expect(chain.status()).toMatchObject({
    state: "unreachable",
    error: `The TST servers name transaction ${paid} in block 121 and do not prove it; asking them again.`,
  });
  for (const { faults } of w.servers) faults.clear();
  await whileTimePasses(w, watched);
  expect(chain.status().state).toBe("ready");
});

/** Four hundred payments in twenty blocks. */
function payOften(w: Awaited<ReturnType<typeof startElectrumChain>>, script: Uint8Array): void {
  for (let i = 0; i < 20; i++) {
    for (let j = 0; j < 20; j++) w.pay(script, 100_000n);
    w.mine();
  }
}

test("a server that is lost while much is read of it is read to the end before anybody is told that a script is known", async () => {
  const w = await startElectrumChain(SEGWIT_COIN, 1);
  cleanup.push(() => w.close());
  const script = scriptNumber(1);
  payOften(w, script);
  w.servers[0]?.faults.add({ kind: "slow", delayMs: 2_500, methods: ["blockchain.transaction.get"], forMs: 3_000 });
  const chain = await w.openElectrum(openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST"), { timeoutMs: 2_000 });
  cleanup.push(() => chain.close());
  await whileTimePasses(w, chain.watchScript(script, 0));
  expect(chain.outputs(script)).toHaveLength(400);
});

test.each([
  ["gave", "blockchain.transaction.get"],
  ["proved", "blockchain.transaction.get_merkle"],
])("a view is not fresh when the server that named a payment was lost before it %s it", async (_, method) => {
  const w = await startElectrumChain(SEGWIT_COIN, 1);
  cleanup.push(() => w.close());
  const chain = await w.openElectrum(openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST"), { timeoutMs: 2_000 });
  cleanup.push(() => chain.close());
  await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
  w.pay(scriptNumber(1), 100_000n);
  w.mine();
  w.servers[0]?.faults.add({ kind: "stall", methods: [method], forMs: 5_000 });
  await whileTimePasses(w, chain.refresh());
  expect(chain.outputs(scriptNumber(1))).toHaveLength(1);
});

test.each([
  ["one transaction", ".get"],
  ["its proof", ".get_merkle"],
])("servers that are lost each time over %s show all others", async (_, method) => {
  let bad = "none";
  const w = await startElectrumChain(SEGWIT_COIN, 3, (line, _server, call) =>
    call.includes(`${method}"`) && call.includes(bad) ? null : line,
  );
  cleanup.push(() => w.close());
  const chain = await w.openElectrum(openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST"), { timeoutMs: 2_000 });
  cleanup.push(() => chain.close());
  await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
  bad = w.pay(scriptNumber(1), 100_000n);
  w.mine();
  await w.pass(5_000);
  await whileTimePasses(w, chain.refresh());
  const good = w.pay(scriptNumber(1), 200_000n);
  w.mine();
  await whileTimePasses(w, chain.refresh());
  expect(chain.tx(good)?.block?.height).toBe(122);
  w.asked.length = 0;
  await w.pass(600_000);
  expect(w.asked.filter((method) => method === "server.version").length).toBeLessThan(50);
});

test("a server that is back while much is to be read of it is there, though looks end before all is, and is asked for each status once", async () => {
  const w = await startElectrumChain(SEGWIT_COIN, 1);
  cleanup.push(() => w.close());
  const script = scriptNumber(1);
  payOften(w, script);
  const [server] = w.servers;
  const slowly = (delayMs: number) => server?.faults.add({ kind: "slow", delayMs });
  const late = server?.faults.add({ kind: "slow", delayMs: 2_500, methods: ["blockchain.transaction.get"] });
  const chain = await w.openElectrum(openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST"), { timeoutMs: 2_000 });
  cleanup.push(() => chain.close());
  const watched = Promise.all([chain.watchScript(script, 0), chain.refresh()]);
  await w.pass(3_000);
  expect(chain.status()).toMatchObject({ state: "unreachable" });
  server?.faults.clear(late?.id);
  slowly(1_900);
  await w.pass(60_000);
  w.asked.length = 0;
  await w.pass(60_000);
  expect(chain.status()).toMatchObject({ state: "ready", error: null });
  expect(chain.outputs(script).length).toBeLessThan(400);
  await whileTimePasses(w, watched);
  expect(chain.outputs(script)).toHaveLength(400);
  expect(w.asked.filter((method) => method === "blockchain.scripthash.subscribe")).toEqual([]);
});
