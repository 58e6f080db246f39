import { afterEach, expect, test } from "vitest";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { FIRST_BALANCE_MS } from "../../src/app/coin/firstLook.ts";
import { type ElectrumWorld, startElectrumChain } from "../contract/electrumChain.ts";
import { SEGWIT_COIN } from "../contract/embeddedChain.ts";
import { scriptNumber } from "../contract/spendable.ts";
import { headersOf, withRaisedHeaders } from "./raisedHeights.ts";
import { whileTimePasses } from "./whileTimePasses.ts";

const SCRIPT = scriptNumber(1);
/** Just in time for a call. */
const LATE_MS = 9_900;
const cleanup: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanup.splice(0).reverse()) await undo();
});

/** Of an answer with many headers the first one. */
const onlyFirst = (line: string): string =>
  line.replace(/"hex":"([0-9a-f]{160})[0-9a-f]*"/, '"hex":"$1"').replace(/"count":\d+/, '"count":1');

const STATUS = "blockchain.scripthash.subscribe";

/** The status of a history that nobody else tells. */
const madeUp = (line: string): string => line.replace(/"result":"[0-9a-f]+"/, `"result":"${"ab".repeat(32)}"`);

/** What an activation asks for. */
const ASKED = [
  "server.version",
  "blockchain.headers.subscribe",
  "blockchain.block.header",
  "blockchain.block.headers",
  "blockchain.scripthash.subscribe",
  "blockchain.scripthash.get_history",
  "blockchain.transaction.get",
  "blockchain.transaction.get_merkle",
  "blockchain.transaction.id_from_pos",
  "blockchain.relayfee",
];

/**
 * Five servers, of which some are the quickest to greet and so are asked first, and answer some methods as late as may be.
 * @param late by server its methods
 * @returns ms until the own script is covered
 */
async function coveredAfter(late: readonly (readonly string[])[]): Promise<number> {
  const w = await startElectrumChain(SEGWIT_COIN, 5, (line, server, call) => {
    if (server < late.length && call.includes(`"${STATUS}"`)) return madeUp(line);
    return server < late.length && call.includes('"blockchain.block.headers"') ? onlyFirst(line) : line;
  });
  w.pay(SCRIPT, 100_000n);
  w.mine();
  cleanup.push(() => w.close());
  for (const [i, { faults }] of w.servers.entries()) {
    const methods = late[i];
    if (methods === undefined) faults.add({ kind: "slow", delayMs: 300 });
    else faults.add({ kind: "slow", methods: ["server.version"], delayMs: 250 });
    for (const method of methods ?? []) faults.add({ kind: "slow", methods: [method], delayMs: LATE_MS });
  }
  const store = openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST");
  const chain = await w.openElectrum(store, { readsReward: true });
  cleanup.push(() => chain.close());
  const sinceMs = w.clock.nowMs();
  let coveredMs = Number.POSITIVE_INFINITY;
  void chain.watchScript(SCRIPT, 0).then(() => {
    coveredMs = w.clock.nowMs() - sinceMs;
  });
  await w.pass(3 * FIRST_BALANCE_MS);
  expect(chain.blockRewardUnits()).not.toBeNull();
  return coveredMs;
}

/**
 * The same of five that all connect at once, and become late after that.
 * @param late by server its methods
 */
async function coveredIn(w: ElectrumWorld, late: readonly (readonly string[])[], db = openInlineDatabase(":memory:", [CHAIN_SCHEMA])) {
  cleanup.push(() => w.close());
  const chain = await w.openElectrum(openChainStore(db, "TST"), { costlyWork: 1n });
  cleanup.push(() => chain.close());
  const [last] = w.servers.slice(-1);
  const greeting = last?.faults.add({ kind: "slow", methods: ["server.version"], delayMs: 1_000 });
  const sinceMs = w.clock.nowMs();
  const covered = chain.watchScript(SCRIPT, 0).then(() => w.clock.nowMs() - sinceMs);
  await w.pass(900);
  last?.faults.clear(greeting?.id);
  for (const [i, methods] of late.entries())
    for (const method of methods) w.servers[i]?.faults.add({ kind: "slow", methods: [method], delayMs: LATE_MS });
  await w.pass(3 * FIRST_BALANCE_MS);
  return covered;
}

test.each([
  ["blockchain.headers.subscribe", STATUS],
  ["blockchain.headers.subscribe", "blockchain.relayfee"],
  [STATUS, "blockchain.relayfee"],
])("two of five that are late with one answer each of a look hold up nothing: %s, %s", async (...methods) => {
  const w = await startElectrumChain(SEGWIT_COIN, 5);
  w.pay(SCRIPT, 100_000n);
  w.mine();
  expect(
    await coveredIn(
      w,
      methods.map((method) => [method]),
    ),
  ).toBeLessThan(FIRST_BALANCE_MS / 2);
});

test.each([["blockchain.block.headers"], ["blockchain.transaction.get", "blockchain.transaction.get_merkle"]])(
  "who was late with an answer is asked last for the next one: %s",
  async (...methods) => {
    expect(await coveredAfter([methods])).toBeLessThan(FIRST_BALANCE_MS);
  },
);

test("nobody waits for who tells late what the last block paid, and what a relay asks for", async () => {
  const late = ["blockchain.transaction.id_from_pos", "blockchain.relayfee"];
  expect(await coveredAfter([late])).toBe(await coveredAfter([[]]));
});

test.each(ASKED)(
  "two of five that answer late keep no coin from being there in time, whatever beside %s the second one is late with",
  async (first) => {
    for (const second of ASKED) {
      expect(await coveredAfter([[first], [second]]), second).toBeLessThan(FIRST_BALANCE_MS);
      expect(await coveredAfter([[first, second]]), `${second} of the same one`).toBeLessThan(FIRST_BALANCE_MS);
    }
  },
);

test("two of five that answer everything late but their greeting hold up less than one such answer takes", async () => {
  const late = ASKED.slice(ASKED.indexOf("blockchain.block.headers"));
  expect(await coveredAfter([late, late])).toBeLessThan(LATE_MS);
});

const HEADERS = ["blockchain.block.header", "blockchain.block.headers"];

test("where work decides, nor does one that names true blocks at other heights and gives their headers late", async () => {
  const w: ElectrumWorld = await startElectrumChain(SEGWIT_COIN, 5, (line, server, call) => {
    if (server !== 0) return line;
    if (!`${call}${line}`.includes('"blockchain.headers.subscribe"')) return withRaisedHeaders(w.chain, 7, line, call);
    const { height } = w.chain.state.tip;
    return line
      .replace(/"hex":"[0-9a-f]+"/, `"hex":"${headersOf(w.chain, height - 1, 1)}"`)
      .replace(/"height":\d+/, `"height":${height + 6}`);
  });
  expect(await coveredIn(w, [HEADERS])).toBeLessThan(FIRST_BALANCE_MS / 2);
});

test("nor does one that gives headers late of a chain that is taken up again", async () => {
  const w = await startElectrumChain(SEGWIT_COIN, 5);
  const db = openInlineDatabase(":memory:", [CHAIN_SCHEMA]);
  const before = await w.openElectrum(openChainStore(db, "TST"), { costlyWork: 1n });
  await whileTimePasses(w, before.refresh());
  await before.close();
  w.mine(30);
  expect(await coveredIn(w, [HEADERS], db)).toBeLessThan(FIRST_BALANCE_MS / 2);
});

test("nor does one that tells late which blocks there were long ago, of a script that was paid in many", async () => {
  const w = await startElectrumChain(SEGWIT_COIN, 5);
  for (let i = 0; i < 150; i++) {
    w.pay(SCRIPT, 100_000n);
    w.mine();
  }
  w.mine(110);
  expect(await coveredIn(w, [["blockchain.block.header"]])).toBeLessThan(FIRST_BALANCE_MS / 2);
});

/** A history that is no more what others tell of it. */
const withHistory = (line: string, change: (lines: unknown[]) => unknown[]): string => {
  const answer = JSON.parse(line) as { result: unknown[] };
  return JSON.stringify({ ...answer, result: change(answer.result) });
};

const PROOFS = ["blockchain.transaction.get", "blockchain.transaction.get_merkle", "blockchain.block.header"];

test("nor do two that name each what all others deny, and give its bytes and its proof late", async () => {
  const others: string[] = [];
  const w: ElectrumWorld = await startElectrumChain(SEGWIT_COIN, 5, (line, server, call) => {
    if (server > 1) return line;
    if (call.includes(`"${STATUS}"`)) return madeUp(line);
    if (!call.includes('"blockchain.scripthash.get_history"')) return line;
    return withHistory(line, (lines) => [...lines, { tx_hash: others[server], height: w.chain.state.tip.height - 1 }]);
  });
  w.pay(SCRIPT, 100_000n);
  w.mine();
  for (const paid of [2, 3]) others.push(w.pay(scriptNumber(paid), 50_000n));
  w.mine();
  expect(await coveredIn(w, [PROOFS, PROOFS])).toBeLessThan(FIRST_BALANCE_MS);
});

/** One of three, which proves late what the others leave out. */
async function lateWitness(methods: readonly string[], delayMs: number) {
  const w = await startElectrumChain(SEGWIT_COIN, 3, (line, server, call) => {
    if (server === 0) return line;
    if (call.includes(`"${STATUS}"`)) return line.replace(/"result":"[0-9a-f]+"/, '"result":null');
    return call.includes('"blockchain.scripthash.get_history"') ? withHistory(line, () => []) : line;
  });
  cleanup.push(() => w.close());
  w.pay(SCRIPT, 100_000n);
  w.mine();
  for (const method of methods) w.servers[0]?.faults.add({ kind: "slow", methods: [method], delayMs });
  const chain = await w.openElectrum(openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST"));
  cleanup.push(() => chain.close());
  await whileTimePasses(w, chain.watchScript(SCRIPT, 0));
  return { w, chain };
}

test("what one of three proves late, and the others deny, counts at a later look", async () => {
  const { w, chain } = await lateWitness(["blockchain.transaction.get", "blockchain.transaction.get_merkle"], 3_000);
  expect(chain.outputs(SCRIPT)).toEqual([]);
  await w.pass(20_000);
  expect(chain.outputs(SCRIPT).map(({ block }) => block?.hash)).toEqual([w.blocks().at(-1)?.hash]);
});

test("but not for a block that has left the chain since", async () => {
  const { w, chain } = await lateWitness(["blockchain.transaction.get_merkle"], LATE_MS);
  // Its proof is on the way, and nobody looks before it is there.
  await w.pass(9_000);
  w.reorg(1, 2);
  const hashes = new Set<string | undefined>();
  for (let i = 0; i < 60; i++) {
    await w.pass(1_000);
    if (i === 30) w.mine();
    for (const { block } of chain.outputs(SCRIPT)) hashes.add(block?.hash);
  }
  expect([...hashes].filter((hash) => w.blocks().every((block) => block.hash !== hash))).toEqual([]);
  expect(hashes.size).toBe(1);
});

test("nor does one that hides a payment and answers late when it is asked for the block hold up what is refreshed", async () => {
  let isDenying = false;
  const w = await startElectrumChain(SEGWIT_COIN, 5, (line, server, call) => {
    if (server !== 0) return line;
    if (call.includes(`"${STATUS}"`)) return madeUp(line);
    if (isDenying && call.includes('"blockchain.block.header"'))
      return line.replace(/"result":"[0-9a-f]+"/, '"error":{"code":1,"message":"no"}');
    return call.includes("get_history") ? line.replace(/"result":\[.*\]/, '"result":[]') : line;
  });
  w.pay(SCRIPT, 100_000n);
  w.mine();
  cleanup.push(() => w.close());
  const chain = await w.openElectrum(openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST"), { costlyWork: 1n });
  cleanup.push(() => chain.close());
  await whileTimePasses(w, chain.watchScript(SCRIPT, 0));
  w.servers[0]?.faults.add({ kind: "slow", methods: ["blockchain.block.header"], delayMs: LATE_MS });
  isDenying = true;
  const asked = (): number => w.askedOf(0).filter((method) => method === "blockchain.block.header").length;
  const before = asked();
  let longestMs = 0;
  for (let i = 0; i < 25; i++) {
    const sinceMs = w.clock.nowMs();
    await whileTimePasses(w, chain.refresh());
    longestMs = Math.max(longestMs, w.clock.nowMs() - sinceMs);
    await w.pass(5_000);
  }
  expect(longestMs).toBeLessThan(3_000);
  expect(asked() - before).toBeLessThan(4);
});
