import { afterEach, describe, expect, test } from "vitest";
import type { ElectrumChain, ElectrumOptions } from "../../src/adapters/electrum/electrumDeps.ts";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import { ChainDaemon } from "../../src/chain/daemon.ts";
import type { ElectrumEffect } from "../../src/chain/electrum/electrumFaults.ts";
import { ElectrumServer } from "../../src/chain/electrum/electrumServer.ts";
import { EmbeddedChain } from "../../src/chain/embeddedChain.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import { serializeTx, txid } from "../../src/core/utxo/txCodec.ts";
import type { ChainStore } from "../../src/ports/chainStore.ts";
import type { SqlDatabase } from "../../src/ports/sql.ts";
import { seenBy, truthOf } from "../contract/chainTruth.ts";
import { type ElectrumWorld, startElectrumChain } from "../contract/electrumChain.ts";
import { KMD_COIN, SEGWIT_COIN } from "../contract/embeddedChain.ts";
import { scriptNumber, spendOf } from "../contract/spendable.ts";
import { whileTimePasses } from "./whileTimePasses.ts";

const PAID = 200_000_000n;
const cleanup: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanup.splice(0).reverse()) await undo();
});

const database = (): SqlDatabase => openInlineDatabase(":memory:", [CHAIN_SCHEMA]);
const storeOf = (db: SqlDatabase): ChainStore => openChainStore(db, "TST");

async function begin(
  count: number,
  coin: object = SEGWIT_COIN,
  spoil?: (line: string, server: number, call: string) => string | null,
): Promise<ElectrumWorld> {
  const w = await startElectrumChain(coin, count, spoil);
  cleanup.push(() => w.close());
  return w;
}

async function open(w: ElectrumWorld, options: ElectrumOptions = {}, store = storeOf(database())): Promise<ElectrumChain> {
  const chain = await w.openElectrum(store, { timeoutMs: 2_000, ...options });
  cleanup.push(() => chain.close());
  return chain;
}

async function until(w: ElectrumWorld, condition: () => boolean): Promise<void> {
  for (let i = 0; i < 600 && !condition(); i++) await w.pass(1_000);
  expect(condition()).toBe(true);
}

const refreshed = (w: ElectrumWorld, chain: ElectrumChain): Promise<void> => whileTimePasses(w, chain.refresh());

/** A server over a chain with the same past that goes its own way from here. */
function rival(w: ElectrumWorld): { readonly chain: EmbeddedChain; readonly server: ElectrumServer } {
  const chain = new EmbeddedChain({ params: w.chain.params, clock: w.clock, rng: seededRng(1) });
  expect(chain.state.tip.block.hash).toBe(w.chain.state.tip.block.hash);
  const server = new ElectrumServer(new ChainDaemon(chain, w.clock), w.clock);
  cleanup.push(async () => server.close());
  return { chain, server };
}

describe("a server with blocks of its own", () => {
  test("against two others: its longer branch is not followed, and what it pays there is not seen", async () => {
    const w = await begin(3);
    const liar = rival(w);
    w.replace(0, liar.server);
    const script = scriptNumber(1);
    liar.chain.payFromFaucet(script, PAID);
    liar.chain.mine(6);
    w.mine(2);
    const chain = await open(w);
    await whileTimePasses(w, chain.watchScript(script, 0));
    expect(chain.status().tip?.hash).toBe(w.blocks().at(-1)?.hash);
    expect(chain.outputs(script)).toEqual([]);
    expect(chain.servers()[0]?.trouble).toContain("it does not have block 122 of the others");
    w.mine();
    await refreshed(w, chain);
    expect(chain.status()).toMatchObject({ state: "ready", tip: { height: 123 } });
  });

  test("against one other: nobody is believed beyond what both have", async () => {
    const w = await begin(2);
    const liar = rival(w);
    w.replace(0, liar.server);
    const script = scriptNumber(1);
    const chain = await open(w);
    await whileTimePasses(w, chain.watchScript(script, 0));
    liar.chain.payFromFaucet(script, PAID);
    liar.chain.mine(6);
    w.pay(scriptNumber(2), PAID);
    w.mine(2);
    await refreshed(w, chain);
    expect(chain.status().tip?.height).toBe(120);
    expect(chain.outputs(script)).toEqual([]);
  });

  test("alone at first it is believed; what it said is taken back when two others come", async () => {
    const w = await begin(3);
    const liar = rival(w);
    w.replace(0, liar.server);
    for (const server of w.servers.slice(1)) server.faults.add({ kind: "refuse" });
    const script = scriptNumber(1);
    const fake = liar.chain.payFromFaucet(script, PAID);
    liar.chain.mine(6);
    const db = database();
    const chain = await open(w, { minConnected: 1 }, storeOf(db));
    await whileTimePasses(w, chain.watchScript(script, 0));
    expect(chain.outputs(script)[0]?.block?.height).toBe(121);
    for (const server of w.servers.slice(1)) server.faults.clear();
    w.mine(2);
    await until(w, () => chain.status().tip?.hash === w.blocks().at(-1)?.hash);
    await refreshed(w, chain);
    await until(w, () => chain.outputs(script).length === 0);
    expect(fake.ok && chain.tx(fake.value.txid)).toBeUndefined();
  });

  test("with a least number of servers: with fewer servers than wanted nothing is believed at all", async () => {
    const w = await begin(3);
    for (const server of w.servers.slice(1)) server.faults.add({ kind: "refuse" });
    const chain = await open(w, { minConnected: 2 });
    await until(w, () => chain.status().state === "unreachable");
    expect(chain.status().error).toContain("Only 1 Electrum server of TST can be used, 2 are wanted: server1: nothing listens there");
    expect(chain.status().tip).toBeNull();
    w.servers[1]?.faults.clear();
    await until(w, () => chain.status().state === "ready");
  });

  test("left alone by two others in the middle of a look, it is not believed in that look either", async () => {
    const w = await begin(3);
    const liar = rival(w);
    w.replace(0, liar.server);
    const script = scriptNumber(1);
    const chain = await open(w);
    await whileTimePasses(w, chain.watchScript(script, 0));
    const seen: number[] = [];
    chain.onChange(() => seen.push(chain.outputs(script).length));
    liar.server.faults.add({ kind: "slow", delayMs: 900, methods: ["blockchain.transaction.get"] });
    // What all name is read first, from the liar, which answers late enough for the others to be gone before what it alone names has its turn.
    const shared = liar.chain.payFromFaucet(script, PAID);
    const fake = liar.chain.payFromFaucet(script, PAID + 1n);
    expect(shared.ok && shared.value.txid).toBe(w.pay(script, PAID));
    await w.pass(500);
    for (const server of w.servers.slice(1)) server.faults.add({ kind: "refuse" });
    await w.pass(5_000);
    expect(fake.ok && chain.tx(fake.value.txid)).toBeUndefined();
    expect(chain.status().state).toBe("unreachable");
    expect(Math.max(...seen)).toBeLessThanOrEqual(1);
  });

  test("of a coin with other first blocks it is dropped by what the others and the store say", async () => {
    const w = await begin(3);
    const other = await begin(1, KMD_COIN);
    const [stranger] = other.servers;
    if (!stranger) expect.fail("no server");
    w.replace(1, stranger);
    const chain = await open(w);
    await refreshed(w, chain);
    expect(chain.servers()[1]).toMatchObject({ state: "dropped" });
    expect(chain.servers()[1]?.trouble).toContain("it serves another chain");
    expect(chain.status().state).toBe("ready");
  });
});

describe("a node that dies", () => {
  /** Fails at the `at`-th commit, before or after it is on the disk, and at every later one. */
  function dyingStore(db: SqlDatabase, at: number, after: boolean): ChainStore & { readonly isDead: () => boolean } {
    const store = storeOf(db);
    let commits = 0;
    return {
      ...store,
      async commit(delta) {
        commits++;
        if (commits < at) return store.commit(delta);
        if (commits === at && after) await store.commit(delta);
        throw new Error("the disk is gone");
      },
      isDead: () => commits >= at,
    };
  }

  for (const after of [false, true]) {
    for (let at = 1; at <= 12; at++) {
      test(`at write ${at}, ${after ? "after" : "before"} it is on the disk, goes on where it was, through a reorg`, async () => {
        const w = await begin(3);
        const [a, b] = [scriptNumber(1), scriptNumber(2)];
        const db = database();
        const store = dyingStore(db, at, after);
        const chain = await w.openElectrum(store, { timeoutMs: 2_000 });
        const watching = Promise.allSettled([chain.watchScript(a, 0), chain.watchScript(b, 0)]);
        const paid = w.pay(a, PAID);
        w.mine();
        await w.pass(3_000);
        const vout =
          w
            .blocks()
            .at(-1)
            ?.txs[1]?.outputs.findIndex((o) => toHex(o.script) === toHex(a)) ?? 0;
        w.send(spendOf(w.format, 1, [{ txid: paid, vout, value: PAID }], b));
        await w.pass(3_000);
        w.mine(2);
        await w.pass(3_000);
        w.reorg(3, 4);
        await w.pass(3_000);
        w.mine();
        await w.pass(3_000);
        await chain.close();
        await watching;
        const again = await open(w, {}, storeOf(db));
        await whileTimePasses(w, Promise.all([again.watchScript(a, 0), again.watchScript(b, 0)]));
        await refreshed(w, again);
        for (const script of [a, b]) expect(seenBy(again, script)).toEqual(truthOf(w, script));
        expect(again.status().tip?.hash).toBe(w.blocks().at(-1)?.hash);
      });
    }
  }

  test("a reorganisation deeper than all that was kept, while the node was off, is followed from new", async () => {
    const w = await begin(2);
    const script = scriptNumber(1);
    const db = database();
    const first = await w.openElectrum(storeOf(db));
    await whileTimePasses(w, first.watchScript(script, 0));
    const paid = w.pay(script, PAID);
    w.mine(2);
    await refreshed(w, first);
    await first.close();
    w.reorg(110, 112);
    w.mine();
    const chain = await open(w, {}, storeOf(db));
    await refreshed(w, chain);
    expect(seenBy(chain, script)).toEqual(truthOf(w, script));
    expect(chain.tx(paid)?.block?.height).toBe(w.blocks().length - 1);
  });

  test("a reorganisation deeper than all that was kept, under a running node, keeps what is older than it", async () => {
    const w = await begin(2);
    const script = scriptNumber(1);
    const paid = w.pay(script, PAID);
    w.mine(300);
    const chain = await open(w);
    await whileTimePasses(w, chain.watchScript(script, 0));
    expect(chain.tx(paid)?.block?.height).toBe(121);
    w.reorg(150, 151);
    await refreshed(w, chain);
    expect(chain.status().tip?.hash).toBe(w.blocks().at(-1)?.hash);
    expect(seenBy(chain, script)).toEqual(truthOf(w, script));
  });

  test("a chain that went on for thousands of blocks meanwhile is caught up with, step by step", async () => {
    const w = await begin(2);
    const script = scriptNumber(1);
    const db = database();
    const first = await w.openElectrum(storeOf(db));
    await whileTimePasses(w, first.watchScript(script, 0));
    await first.close();
    w.pay(script, PAID);
    w.mine(2_600);
    const chain = await open(w, {}, storeOf(db));
    const places: number[] = [];
    chain.onChange(() => {
      const { progress } = chain.status();
      if (progress) places.push(progress.height);
    });
    await refreshed(w, chain);
    expect(chain.status().tip?.height).toBe(2_720);
    expect(places).toContain(2_120);
    expect(seenBy(chain, script)).toEqual(truthOf(w, script));
  });
});

const random = Number.parseInt(process.env.SWAPNODE_SEED ?? "", 10) || (process.pid * 2_654_435_761) % 2 ** 31;
for (const seed of [1, 2, 3, random]) {
  test(`two of five servers misbehave as they like: the reads answer what the chain says (seed ${seed})`, { timeout: 60_000 }, async () => {
    const w = await begin(5);
    const rng = seededRng(seed);
    const pick = (n: number): number => ((rng.bytes(2)[0] ?? 0) * 256 + (rng.bytes(1)[0] ?? 0)) % n;
    const scripts = [20, 21, 22].map(scriptNumber);
    const chain = await open(w);
    for (const script of scripts) await whileTimePasses(w, chain.watchScript(script, 0));
    const effects = (): readonly ElectrumEffect[] => [
      { kind: "stall" },
      { kind: "slow", delayMs: pick(3_000) },
      { kind: "lost_reply" },
      { kind: "refuse" },
      { kind: "error", code: 1, message: "no" },
      { kind: "garbage", text: "{}" },
      { kind: "wrong_id" },
      { kind: "mute" },
      { kind: "lag", blocks: 1 + pick(4) },
      { kind: "false_height", delta: pick(9) - 4 },
      { kind: "false_branch" },
      { kind: "false_header", fromHeight: 100 + pick(60) },
      { kind: "swallow_broadcast" },
      { kind: "hide", txid: w.mempool().map(txid)[0] ?? w.blocks().at(-1)?.txs.map(txid).at(-1) ?? "" },
    ];
    for (let i = 0; i < 40; i++) {
      const bad = w.servers[pick(2)];
      const effect = effects()[pick(effects().length)];
      if (pick(3) === 0) bad?.faults.clear();
      else if (effect) bad?.faults.add({ ...effect });
      const n = pick(3);
      const script = scripts[n] ?? scriptNumber(20);
      const what = pick(4);
      if (what === 0) w.pay(script, 100_000_000n + BigInt(pick(1000)));
      if (what === 1) w.mine(1 + pick(3));
      if (what === 2) {
        const depth = 1 + pick(3);
        w.reorg(depth, depth + 1 + pick(2));
      }
      const free = chain
        .outputs(script)
        .find((o) => o.spentBy === null && w.mempool().every((tx) => tx.inputs.every((x) => x.txid !== o.txid)));
      if (what === 3 && free)
        await whileTimePasses(w, chain.broadcast(serializeTx(spendOf(w.format, 20 + n, [free], scripts[pick(3)] ?? script))));
      if (pick(3) !== 0) continue;
      await w.pass(1_000 * pick(20));
      await refreshed(w, chain);
      await refreshed(w, chain);
      for (const one of scripts) expect(seenBy(chain, one), `step ${i}`).toEqual(truthOf(w, one));
    }
    w.mine();
    await refreshed(w, chain);
    await refreshed(w, chain);
    for (const one of scripts) expect(seenBy(chain, one)).toEqual(truthOf(w, one));
    expect(chain.status().tip?.hash).toBe(w.blocks().at(-1)?.hash);
  });
}

describe("where blocks cost work that nobody spends to lie", () => {
  test("nor is it left after a restart, when its work has to be read again", async () => {
    const w = await begin(3);
    const ahead = rival(w);
    w.replace(0, ahead.server);
    const db = database();
    const before = await open(w, { costlyWork: 1n }, storeOf(db));
    ahead.chain.payFromFaucet(scriptNumber(1), PAID);
    ahead.chain.mine(3);
    w.mine(2);
    await refreshed(w, before);
    expect(before.status().tip?.hash).toBe(ahead.chain.state.tip.block.hash);
    await before.close();
    const chain = await open(w, { costlyWork: 1n }, storeOf(db));
    const tips = new Set<string | undefined>();
    chain.onChange(() => tips.add(chain.status().tip?.hash));
    for (let i = 0; i < 5; i++) await refreshed(w, chain);
    tips.add(chain.status().tip?.hash);
    expect([...tips]).toEqual([ahead.chain.state.tip.block.hash]);
  });

  test.each([350, 450])("nor for a block of most servers that leaves it %i blocks back, as any old one that lost does", async (depth) => {
    const w = await begin(3);
    const old = rival(w);
    old.chain.payFromFaucet(scriptNumber(1), PAID);
    old.chain.mine(1);
    const chain = await open(w, { costlyWork: 1n });
    await refreshed(w, chain);
    w.mine(depth);
    await refreshed(w, chain);
    const ours = w.blocks().at(-1)?.hash;
    expect(chain.status().tip?.hash).toBe(ours);
    const tips = new Set<string | undefined>();
    chain.onChange(() => tips.add(chain.status().tip?.hash));
    for (const at of [0, 1]) {
      w.replace(at, old.server);
      const away = w.servers[at]?.faults.add({ kind: "refuse" });
      w.servers[at]?.faults.clear(away?.id);
    }
    await until(w, () => chain.servers().every(({ state }) => state === "connected") && chain.servers()[1]?.height === 121);
    for (let i = 0; i < 3; i++) await refreshed(w, chain);
    expect([...tips]).toEqual([ours]);
  });

  test("one server's branch with more work is followed against two others', and not left for less work", async () => {
    const w = await begin(3);
    const ahead = rival(w);
    w.replace(0, ahead.server);
    const script = scriptNumber(1);
    const chain = await open(w, { costlyWork: 1n });
    await whileTimePasses(w, chain.watchScript(script, 0));
    const paid = ahead.chain.payFromFaucet(script, PAID);
    ahead.chain.mine(3);
    w.mine(2);
    await refreshed(w, chain);
    expect(chain.status().tip?.hash).toBe(ahead.chain.state.tip.block.hash);
    expect(chain.outputs(script)[0]?.block?.height).toBe(121);
    const fault = ahead.server.faults.add({ kind: "refuse" });
    await until(w, () => chain.status().state === "unreachable");
    expect(chain.status().error).toContain("The TST servers are at block 122 and this node has already seen block 123");
    expect(chain.outputs(script)[0]?.block?.height).toBe(121);
    ahead.server.faults.clear(fault.id);
    w.mine(3);
    await until(w, () => chain.status().tip?.hash === w.blocks().at(-1)?.hash);
    await refreshed(w, chain);
    await until(w, () => chain.outputs(script).length === 0);
    expect(paid.ok).toBe(true);
  });
});

test("servers that tell of a payment's block before they tell of the block itself are heard again when they do", async () => {
  const TIP = /"height":\d+,"hex":"[0-9a-f]+"/;
  let before = "";
  let held = false;
  const w = await begin(2, SEGWIT_COIN, (line) => {
    const tip = TIP.exec(line)?.[0];
    if (tip === undefined) return line;
    if (!held) before = tip;
    return line.replace(TIP, before);
  });
  const script = scriptNumber(1);
  const chain = await open(w);
  await whileTimePasses(w, chain.watchScript(script, 0));
  const paid = w.pay(script, PAID);
  await refreshed(w, chain);
  held = true;
  w.mine();
  await refreshed(w, chain);
  expect(chain.tx(paid)?.block).toBeNull();
  held = false;
  await refreshed(w, chain);
  expect(chain.tx(paid)?.block?.height).toBe(121);
});

test("a first block heard wrong is not kept: the second must follow it", async () => {
  let calls = 0;
  const w = await begin(1, SEGWIT_COIN, (line) => {
    // The answer to the second call of the first connections is the first block's header.
    const isFirst = /"result":"[0-9a-f]{160}"/.test(line) && calls++ < 4;
    return isFirst ? line.replace(/([0-9a-f]{8})"/, '00000000"') : line;
  });
  const chain = await open(w);
  await until(w, () => chain.servers()[0]?.trouble !== null);
  expect(chain.servers()[0]?.trouble).toContain("a second block that does not follow the first one");
  await refreshed(w, chain);
  expect(chain.status()).toMatchObject({ state: "ready", tip: { height: 120 } });
});

test("a block counts as notarized when most servers say so, and never on a chain without notaries", async () => {
  let liedOf = "none";
  // One never counts by notarizations; another does, and says otherwise of one payment.
  const isLie = (line: string, server: number): boolean => server === 0 || (server === 1 && line.includes(liedOf));
  const w = await begin(3, KMD_COIN, (line, server) =>
    isLie(line, server) ? line.replace(/"confirmations":1,/, '"confirmations":7,') : line,
  );
  const script = scriptNumber(1);
  const chain = await open(w);
  await whileTimePasses(w, chain.watchScript(script, 0));
  w.pay(script, PAID);
  w.mine(3);
  await refreshed(w, chain);
  await w.pass(20_000);
  expect(chain.outputs(script)[0]?.block?.height).toBe(121);
  expect(chain.isNotarized(121)).toBe(false);
  const noted = w.chain.state.at(122);
  if (!noted) expect.fail("no block");
  w.chain.notarize(noted);
  await w.pass(60_000);
  await refreshed(w, chain);
  expect([chain.isNotarized(121), chain.isNotarized(122)]).toEqual([true, false]);
  liedOf = w.pay(script, PAID);
  w.mine(3);
  await w.pass(20_000);
  await refreshed(w, chain);
  expect([chain.tx(liedOf)?.block?.height, chain.isNotarized(124)]).toEqual([124, false]);
  const other = await begin(1);
  const plain = await open(other);
  await whileTimePasses(other, plain.watchScript(script, 0));
  other.pay(script, PAID);
  other.mine(3);
  await refreshed(other, plain);
  expect(plain.isNotarized(121)).toBe(false);
});

test("what servers say is notarized on a chain they went over to meanwhile is not so of the block that is followed", async () => {
  let isOther = true;
  const other = (line: string): string => (isOther ? line.replace(/"blockhash":"[0-9a-f]{64}"/, `"blockhash":"${"ab".repeat(32)}"`) : line);
  const w = await begin(3, KMD_COIN, other);
  const chain = await open(w);
  await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
  w.pay(scriptNumber(1), PAID);
  w.mine(3);
  w.chain.notarize(w.chain.state.at(122) ?? expect.fail("no block"));
  await refreshed(w, chain);
  await w.pass(60_000);
  expect(chain.isNotarized(121)).toBe(false);
  isOther = false;
  await w.pass(60_000);
  await refreshed(w, chain);
  expect(chain.isNotarized(121)).toBe(true);
});

/** A chain with a payment at 121 that is notarized by block 122, as its servers show it. */
async function notarizedOnce(): Promise<ElectrumWorld> {
  const w = await begin(3, KMD_COIN);
  w.pay(scriptNumber(1), PAID);
  w.mine(2);
  const noted = w.chain.state.at(122);
  if (!noted) expect.fail("no block");
  w.chain.notarize(noted);
  return w;
}

async function watching(w: ElectrumWorld, script: Uint8Array): Promise<ElectrumChain> {
  const chain = await open(w);
  await whileTimePasses(w, chain.watchScript(script, 0));
  await w.pass(20_000);
  await refreshed(w, chain);
  return chain;
}

test("a payment hundreds of blocks deep counts as notarized when it is, before the node starts or after", async () => {
  const w = await notarizedOnce();
  w.pay(scriptNumber(1), PAID);
  w.mine(250);
  const chain = await watching(w, scriptNumber(1));
  expect([chain.isNotarized(121), chain.isNotarized(123)]).toEqual([true, false]);
  const noted = w.chain.state.at(300);
  if (!noted) expect.fail("no block");
  w.chain.notarize(noted);
  await w.pass(20_000);
  await refreshed(w, chain);
  expect([chain.isNotarized(123), chain.isNotarized(301)]).toEqual([true, false]);
});

test("a notarized payment is found below any number of later ones that are not, with a few questions", async () => {
  const w = await notarizedOnce();
  for (let i = 0; i < 60; i++) {
    w.pay(scriptNumber(1), PAID);
    w.mine();
  }
  const chain = await watching(w, scriptNumber(1));
  expect([chain.isNotarized(121), chain.isNotarized(123)]).toEqual([true, false]);
  w.asked.length = 0;
  await w.pass(1_000);
  await refreshed(w, chain);
  await w.pass(10_500);
  await refreshed(w, chain);
  const questions = w.asked.filter((method) => method === "blockchain.transaction.get with details").length / 3;
  expect(questions).toBeGreaterThan(0);
  expect(questions).toBeLessThanOrEqual(3 * 7);
});

test("what was proven long ago is not asked for again after a restart", async () => {
  const w = await begin(2);
  const script = scriptNumber(1);
  for (let i = 0; i < 5; i++) {
    w.pay(script, PAID + BigInt(i));
    w.mine();
  }
  w.mine(450);
  const db = database();
  const first = await w.openElectrum(storeOf(db));
  await whileTimePasses(w, first.watchScript(script, 0));
  expect(first.outputs(script)).toHaveLength(5);
  await first.close();
  w.asked.splice(0);
  const chain = await open(w, {}, storeOf(db));
  await refreshed(w, chain);
  expect(seenBy(chain, script)).toEqual(truthOf(w, script));
  for (const method of ["blockchain.transaction.get", "blockchain.transaction.get_merkle"]) expect(w.asked).not.toContain(method);
});

test("a spend that was told before the payment it spends shows when that is told", async () => {
  const w = await begin(1);
  const script = scriptNumber(1);
  const paid = w.pay(script, PAID);
  w.mine();
  const vout =
    w
      .blocks()
      .at(-1)
      ?.txs[1]?.outputs.findIndex((o) => toHex(o.script) === toHex(script)) ?? 0;
  const spend = w.send(spendOf(w.format, 1, [{ txid: paid, vout, value: PAID }], scriptNumber(2)));
  w.mine();
  const hiding = w.servers[0]?.faults.add({ kind: "hide", txid: paid });
  const chain = await open(w);
  await whileTimePasses(w, chain.watchScript(script, 0));
  expect(chain.outputs(script)).toEqual([]);
  w.servers[0]?.faults.clear(hiding?.id);
  await refreshed(w, chain);
  expect(chain.outputs(script)[0]?.spentBy).toMatchObject({ txid: spend, block: { height: 122 } });
});

test("a script of which two of three servers tell nothing is not known yet", async () => {
  const w = await begin(3);
  const chain = await open(w);
  await refreshed(w, chain);
  const methods = ["blockchain.scripthash.subscribe", "blockchain.scripthash.get_mempool"];
  for (const server of w.servers.slice(1)) server.faults.add({ kind: "error", code: 1, message: "no", methods });
  let known = false;
  const watching = chain.watchScript(scriptNumber(1), 0).then(() => {
    known = true;
  });
  await w.pass(30_000);
  expect(known).toBe(false);
  expect(chain.status().error).toBe("The TST servers do not give the history of a script: server1: it refused a request: no (code 1).");
  w.servers[2]?.faults.clear();
  await whileTimePasses(w, watching);
});

test("a disk that refuses one write loses nothing: it is made again", async () => {
  for (let at = 1; at <= 4; at++) {
    const w = await begin(1);
    const store = storeOf(database());
    let commits = 0;
    const chain = await open(
      w,
      {},
      {
        ...store,
        commit: (delta) => (++commits === at ? Promise.reject(new Error("no space")) : store.commit(delta)),
      },
    );
    const script = scriptNumber(1);
    const watching = chain.watchScript(script, 0).catch(() => undefined);
    w.pay(script, PAID);
    w.mine(2);
    await w.pass(5_000);
    await watching;
    await whileTimePasses(w, chain.watchScript(script, 0));
    await w.pass(60_000);
    expect(commits).toBeGreaterThanOrEqual(at);
    expect(seenBy(chain, script)).toEqual(truthOf(w, script));
  }
});

test("a payment whose branch leaves, with all traces of it, and comes back is in its block again", async () => {
  const w = await begin(3);
  const chain = await open(w);
  const script = scriptNumber(1);
  await whileTimePasses(w, chain.watchScript(script, 0));
  const paid = w.pay(script, PAID);
  w.mine();
  await refreshed(w, chain);
  const block = chain.tx(paid)?.block;
  expect(block?.height).toBe(121);
  w.reorg(1, 2, [paid]);
  await refreshed(w, chain);
  await until(w, () => chain.tx(paid) === undefined);
  const other = w.chain.state.at(121);
  if (!other) expect.fail("no block");
  w.chain.invalidate(other);
  if (w.blocks().at(-1)?.hash !== block?.hash) expect.fail("the first branch is not back");
  w.mine(2);
  await refreshed(w, chain);
  expect(chain.tx(paid)?.block).toEqual(block);
  expect(chain.outputs(script)).toHaveLength(1);
});

test("a look that would take many minutes stops after one, and what waits for it has its turn", async () => {
  const made = Array.from({ length: 5_000 }, (_, i) => ({ tx_hash: i.toString(16).padStart(64, "0"), height: 5 }));
  const w = await begin(1, SEGWIT_COIN, (line) => {
    return line.includes('"tx_hash"') ? line.replace(/"result":\[.*\]/, `"result":${JSON.stringify(made)}`) : line;
  });
  const chain = await open(w, { timeoutMs: 10_000 });
  await whileTimePasses(w, chain.watchScript(scriptNumber(2), 0));
  w.pay(scriptNumber(1), PAID);
  w.mine();
  w.servers[0]?.faults.add({ kind: "slow", delayMs: 9_000, methods: ["blockchain.transaction.get"] });
  const stop = new AbortController();
  const watching = expect(chain.watchScript(scriptNumber(1), 0, stop.signal)).rejects.toThrow();
  await w.pass(5_000);
  const startMs = w.clock.nowMs();
  await whileTimePasses(w, chain.unwatch({ scripts: [scriptNumber(2)] }));
  expect(w.clock.nowMs() - startMs).toBeLessThan(120_000);
  expect(chain.status().state).not.toBe("unreachable");
  stop.abort();
  await watching;
});

test("the chain followed has the coins file's checkpoint: servers without it are dropped, those that are not there yet are waited for", async () => {
  const w = await begin(4);
  const other = rival(w);
  w.replace(0, other.server);
  other.chain.payFromFaucet(scriptNumber(3), PAID);
  other.chain.mine(8);
  w.mine(5);
  const at = w.blocks()[123];
  if (!at) expect.fail("no block");
  w.checkpoint = { height: 123, hash: at.hash };
  const lag = w.servers[1]?.faults.add({ kind: "lag", blocks: 3 });
  const chain = await open(w);
  await refreshed(w, chain);
  expect(chain.servers().map(({ state }) => state)).toEqual(["dropped", "away", "connected", "connected"]);
  expect(chain.servers()[0]?.trouble).toContain("it serves another chain: its block 123 is ");
  expect(chain.servers()[1]?.trouble).toBe("it is at block 122, below block 123 that the coins file names");
  expect(chain.status().tip?.hash).toBe(w.blocks().at(-1)?.hash);
  w.servers[1]?.faults.clear(lag?.id);
  await until(w, () => chain.servers()[1]?.state === "connected");
});

test("where all servers show another block than the checkpoint, or none has it yet, no chain is begun", async () => {
  const w = await begin(3);
  w.checkpoint = { height: 121, hash: "ab".repeat(32) };
  const chain = await open(w);
  for (let i = 0; i < 10; i++) await w.pass(2_000);
  expect(chain.status()).toMatchObject({ state: "unreachable", tip: null });
  w.mine(3);
  for (let i = 0; i < 60; i++) await w.pass(10_000);
  expect(chain.status()).toMatchObject({ state: "unreachable", tip: null });
  expect(chain.servers().every(({ state }) => state === "dropped")).toBe(true);
});

test("what a look had no time for is read by the next, and whoever waits is told when all is; what nobody gives comes last", async () => {
  const made = Array.from({ length: 2_400 }, (_, i) => ({ tx_hash: i.toString(16).padStart(64, "0"), height: 5 }));
  let isLong = false;
  const w = await begin(1, SEGWIT_COIN, (line) =>
    isLong && line.includes('"tx_hash"') ? line.replace('"result":[', `"result":[${JSON.stringify(made).slice(1, -1)},`) : line,
  );
  const chain = await open(w, { timeoutMs: 10_000 });
  await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
  w.servers[0]?.faults.add({ kind: "slow", delayMs: 9_000, methods: ["blockchain.transaction.get"] });
  isLong = true;
  const paid = w.pay(scriptNumber(1), PAID);
  w.mine();
  await refreshed(w, chain);
  expect(chain.tx(paid)?.block?.height).toBe(121);
});

test("a transaction watched by its id that pays nobody is found at the look at which something else is found, too", async () => {
  const w = await begin(3);
  const chain = await open(w, { pollMs: 15_000 });
  await whileTimePasses(w, chain.watchScript(scriptNumber(2), 0));
  const value = 123_456n;
  const paid = w.pay(scriptNumber(1), value);
  const vout = w.chain.mempool.graph.get(paid)?.chainTx.tx.outputs.findIndex((o) => o.value === value) ?? -1;
  const burnt = spendOf(w.format, 1, [{ txid: paid, vout, value }], Uint8Array.of(0x6a, 2, 7, 7), value);
  await whileTimePasses(w, chain.watchTx(txid(burnt), 0));
  await w.pass(6_000);
  w.daemon.answer("sendrawtransaction", [toHex(serializeTx(burnt))]);
  w.pay(scriptNumber(2), PAID);
  await w.pass(1_000);
  expect(chain.outputs(scriptNumber(2))).toHaveLength(1);
  expect(chain.tx(txid(burnt))?.block).toBeNull();
});

test.each([
  ["one server", 1],
  ["all servers", 3],
])(
  "%s told a payment's block and tells nothing when a reorganisation takes it out of that: it is asked, and not blamed",
  async (_, count) => {
    let isMute = false;
    const w = await begin(3, SEGWIT_COIN, (line, server) =>
      isMute && server < count && line.includes('"method":"blockchain.scripthash.subscribe"') ? null : line,
    );
    const chain = await open(w, { pollMs: 15_000 });
    const script = scriptNumber(1);
    await whileTimePasses(w, chain.watchScript(script, 0));
    w.pay(script, PAID);
    w.mine();
    await until(w, () => chain.outputs(script)[0]?.block?.height === 121);
    isMute = true;
    expect(w.chain.reorg({ depth: 1, blocks: 2 }).ok).toBe(true);
    await w.pass(20_000);
    expect(chain.outputs(script)[0]?.block).toBeNull();
    w.mine();
    await w.pass(1_000);
    // Others tell of more there, so that the history is gone through again.
    w.pay(script, PAID);
    await w.pass(20_000);
    expect(chain.status().state).toBe("ready");
    await w.pass(301_000);
    expect(chain.outputs(script).map(({ block }) => block?.height)).toEqual([123, undefined]);
    expect(chain.servers().map(({ state, contradictions }) => [state, contradictions])).toEqual(
      Array.from({ length: 3 }, () => ["connected", 0]),
    );
  },
);

test("a block as far in the future as daemons take it costs who tells of it first nothing, though this node's clock is a minute slow", async () => {
  const w = await begin(3);
  const chain = await open(w, { costlyWork: 1n });
  await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
  await w.pass(600_000);
  w.skewMs = -60_000;
  for (const { faults } of w.servers.slice(1)) faults.add({ kind: "lag", blocks: 1 });
  const { tip } = w.chain.state;
  expect(w.chain.submit(w.chain.draft(tip, scriptNumber(9), [], 0n, w.chain.time.nowSec + 7_200)).ok).toBe(true);
  await w.pass(5_000);
  expect(chain.servers().map(({ state }) => state)).toEqual(["connected", "connected", "connected"]);
  expect(chain.status().tip?.height).toBe(121);
});

test("what one server alone says is in a block, and was not asked to prove because it had refused much there, is asked for some seconds later", async () => {
  let left = 5;
  const w = await begin(3, SEGWIT_COIN, (line, server, call) => {
    // Two lag behind with their histories, and tell a status of their own.
    if (server > 0 && call.includes("get_history")) return line.replaceAll('"height":121', '"height":0');
    if (server > 0 && /scripthash.subscribe/.test(call + line))
      return line.replace(/("result":"|",")[0-9a-f]{4}([0-9a-f]{60}")/, (_, before, after) => `${before}0000${after}`);
    return /"pos":\d+/.test(line) && left-- > 0 ? line.replace(/"result":\{[^}]*\}/, '"error":{"code":2,"message":"not now"}') : line;
  });
  const chain = await open(w, { pollMs: 15_000 });
  const script = scriptNumber(1);
  await whileTimePasses(w, chain.watchScript(script, 0));
  for (let i = 0; i < 20; i++) w.pay(script, PAID);
  w.mine();
  await w.pass(25_000);
  expect(chain.outputs(script).filter(({ block }) => block?.height === 121).length).toBeGreaterThanOrEqual(15);
});
