import { expect, test } from "vitest";
import { type ScriptedChain, startScriptedChain } from "../../../test/contract/scriptedChain.ts";
import { scriptNumber, spendOf } from "../../../test/contract/spendable.ts";
import { quietLog } from "../../../test/fakes/quietLog.ts";
import { SilentLog } from "../../../test/fakes/silentLog.ts";
import { toHex } from "../../core/util/bytes.ts";
import type { Tx } from "../../core/utxo/tx.ts";
import { serializeTx, txid } from "../../core/utxo/txCodec.ts";
import type { UtxoChainWithHistory } from "../../ports/chain.ts";
import { Aborted, sleep } from "../../ports/clock.ts";
import type { DaemonRpc } from "../../ports/daemonRpc.ts";
import type { SqlDatabase } from "../../ports/sql.ts";
import { CHAIN_SCHEMA, openChainStore } from "../sqlite/chainStore.ts";
import { openInlineDatabase } from "../sqlite/inlineDatabase.ts";
import { openUtxoRpcChain } from "./utxoRpcChain.ts";
import type { UtxoRpcOptions } from "./utxoRpcOptions.ts";

const memory = (): SqlDatabase => openInlineDatabase(":memory:", [CHAIN_SCHEMA]);

function open(h: ScriptedChain, options: UtxoRpcOptions = {}, db = memory()): Promise<UtxoChainWithHistory> {
  const { rpc, format, clock } = h;
  return openUtxoRpcChain({ ticker: "TST", format, rpc, clock, store: openChainStore(db, "TST"), log: quietLog, options });
}

/** Outcome of a promise while virtual time passes. */
async function whileTimePasses<T>(h: ScriptedChain, work: Promise<T>, ms: number): Promise<T> {
  const settled = work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  await h.clock.advance(ms);
  const outcome = await settled;
  if ("error" in outcome) throw outcome.error;
  return outcome.value;
}

test("a script without birthday on a long chain is found in the UTXO set, without reading old blocks", async () => {
  const h = startScriptedChain(60);
  h.daemon.scansUtxoSet = true;
  const script = scriptNumber(1);
  const spent = h.pay(script, 5_000n);
  h.mine();
  h.send(spendOf(h.format, 1, [{ txid: spent, vout: 0, value: 5_000n }], script, 1_000n));
  h.mine(60);
  h.rpc.counts.clear();
  const chain = await open(h, { readWholeUpTo: 50 });
  await chain.watchScript(script, 0);
  expect(chain.outputs(script).map((o) => [o.value, o.block?.height, o.coinbase])).toEqual([[4_000n, 62, false]]);
  expect(h.rpc.counts.get("getblock")).toBeUndefined();
  expect(chain.outputs(script)[0]?.block?.hash).toBe(h.daemon.blocks[62]?.hash);
  // What comes after the scan is followed like everything else.
  h.send(spendOf(h.format, 1, chain.outputs(script), scriptNumber(2), 1_000n));
  h.mine();
  await chain.refresh();
  expect(chain.outputs(script)[0]?.spentBy?.block?.height).toBe(122);
  await chain.close();
});

test("what Litecoin's extension block paid is found in the UTXO set as what it is until it can be spent", async () => {
  const h: ScriptedChain = { ...startScriptedChain(60), format: { kind: "bitcoin", mweb: true } };
  h.daemon.scansUtxoSet = true;
  const script = scriptNumber(1);
  const paidOut = (value: bigint): string => {
    const balance = { txid: String(value).padStart(64, "0"), vout: 0, scriptSig: new Uint8Array(0), sequence: 0, witness: [] };
    return h.send({ version: 2, inputs: [balance], outputs: [{ value, script }], lockTime: 0, hogEx: true });
  };
  paidOut(1n);
  h.mine();
  const young = paidOut(2n);
  h.mine();
  h.pay(script, 3n);
  h.mine(4);
  const chain = await open(h, { readWholeUpTo: 50 });
  await chain.watchScript(script, 0);
  expect(chain.outputs(script).map((o) => [o.value, o.coinbase])).toEqual([
    [1n, false],
    [2n, true],
    [3n, false],
  ]);
  // Its bytes say when it can be spent.
  expect(chain.tx(young)).toBeDefined();
  await chain.close();
});

test("blocks followed while the UTXO set is scanned are read again afterwards, so a spend in them is not missed", async () => {
  const h = startScriptedChain(80);
  h.daemon.scansUtxoSet = true;
  const script = scriptNumber(1);
  const id = h.pay(script, 5_000n);
  h.mine();
  const scanned = await h.daemon.call("scantxoutset", ["start", [`raw(${toHex(script)})`]]);
  let finish = (): void => undefined;
  h.daemon.override.set("scantxoutset", () => new Promise((resolve) => (finish = () => resolve(scanned.ok ? scanned.value : null))));
  const chain = await open(h, { readWholeUpTo: 50 });
  const watched = chain.watchScript(script, 0);
  await h.clock.advance(3_000);
  h.send(spendOf(h.format, 1, [{ txid: id, vout: 0, value: 5_000n }], scriptNumber(2), 1_000n));
  h.mine(3);
  await h.clock.advance(3_000);
  expect(chain.status().tip?.height).toBe(84);
  finish();
  await watched;
  expect(chain.outputs(script)[0]?.block?.height).toBe(81);
  expect(chain.outputs(script)[0]?.spentBy?.block?.height).toBe(82);
  await chain.close();
});

test("a daemon that cannot scan its UTXO set has its blocks read from the first on, with progress", async () => {
  const h = startScriptedChain(300);
  const script = scriptNumber(1);
  h.pay(script, 5_000n);
  h.mine();
  const chain = await open(h, { readWholeUpTo: 50 });
  const progress: number[] = [];
  const places: number[][] = [];
  chain.onChange(() => {
    const p = chain.status().progress;
    if (p) progress.push(p.done / p.total);
    if (p) places.push([p.height - p.done, p.target - p.total]);
  });
  await chain.watchScript(script, 10);
  expect(chain.outputs(script)).toHaveLength(1);
  expect(progress.length).toBeGreaterThan(2);
  expect(progress).toEqual([...progress].sort((a, b) => a - b));
  // The block before the first one to read is number 9, and nothing is read at first.
  expect(progress[0]).toBe(0);
  expect(places).toEqual(progress.map(() => [9, 9]));
  expect(chain.status().progress).toBeNull();
  await chain.close();
});

test("a first start that takes minutes says in the log how far it is, a short one says nothing", async () => {
  const h = startScriptedChain(300);
  const log = new SilentLog();
  const answerMs = (ms: number): DaemonRpc => ({
    async call(method, params, options) {
      await sleep(h.clock, ms);
      return h.rpc.call(method, params, options);
    },
  });
  for (const [rpc, long] of [
    [answerMs(1), false],
    [answerMs(2_000), true],
  ] as const) {
    log.lines.length = 0;
    const store = openChainStore(memory(), "TST");
    const opening = openUtxoRpcChain({
      ticker: "TST",
      format: h.format,
      rpc,
      clock: h.clock,
      store,
      log,
      options: { readWholeUpTo: 50 },
    });
    const chain = await whileTimePasses(h, opening, 10_000);
    await whileTimePasses(h, chain.watchScript(scriptNumber(1), 0), 900_000);
    const said = log.lines.filter(({ event }) => event === "chain_catching_up").map(({ fields }) => fields);
    expect(said.length > 3).toBe(long);
    for (const fields of said) expect(fields).toMatchObject({ coin: "TST", total: 301 });
    expect(said.map(({ done }) => Number(done))).toEqual(said.map(({ done }) => Number(done)).sort((a, b) => a - b));
    await whileTimePasses(h, chain.close(), 10_000);
  }
});

test("new watches that ask for look after look do not keep an older one from its old blocks", async () => {
  const h = startScriptedChain(40);
  const chain = await open(h);
  await chain.refresh();
  const watching: Promise<void>[] = [];
  let looks = 0;
  let coveredAfter = Number.POSITIVE_INFINITY;
  h.daemon.override.set("getrawmempool", () => {
    if (++looks <= 50) watching.push(chain.watchTx(toHex(new Uint8Array(32).fill(looks)), 30));
    return [];
  });
  const covered = chain.watchScript(scriptNumber(1), 1).then(() => {
    coveredAfter = looks;
  });
  await whileTimePasses(h, covered, 60_000);
  expect(coveredAfter).toBeLessThan(10);
  await whileTimePasses(h, Promise.all(watching), 60_000);
  await chain.close();
});

test("an address index gives the whole history of a script without birthday", async () => {
  const h = startScriptedChain(80);
  const script = scriptNumber(1);
  const id = h.pay(script, 5_000n);
  h.mine();
  const spend = spendOf(h.format, 1, [{ txid: id, vout: 0, value: 5_000n }], scriptNumber(2), 1_000n);
  h.send(spend);
  h.mine();
  const [paid, spent] = [h.daemon.blocks[81], h.daemon.blocks[82]];
  h.daemon.override.set("decodescript", () => ({ type: "scripthash", addresses: ["addr"] }));
  h.daemon.override.set("searchrawtransactions", () => [
    { hex: toHex(serializeTx(paid?.txs[1] as Tx)), blockhash: paid?.hash },
    { hex: toHex(serializeTx(spend)), blockhash: spent?.hash },
  ]);
  const chain = await open(h, { readWholeUpTo: 50 });
  await chain.watchScript(script, 0);
  expect(chain.outputs(script)[0]?.block?.height).toBe(81);
  expect(chain.outputs(script)[0]?.spentBy).toEqual({ txid: txid(spend), block: { height: 82, hash: spent?.hash } });
  expect(h.rpc.counts.get("getblock")).toBeUndefined();
  await chain.close();
});

test("a watch that needs a pruned block is refused with a sentence and the others go on", async () => {
  const h = startScriptedChain(60);
  h.daemon.prunedBelow = 40;
  const chain = await open(h);
  await expect(chain.watchScript(scriptNumber(1), 10)).rejects.toMatchObject({ name: "BlockGone", height: 10 });
  expect(chain.status().error).toContain("no longer has block 10");
  expect(chain.status().state).toBe("ready");
  await chain.watchScript(scriptNumber(2), 50);
  const id = h.pay(scriptNumber(2), 5_000n);
  h.mine();
  await chain.refresh();
  expect(chain.tx(id)?.block?.height).toBe(61);
  await chain.unwatch({ scripts: [scriptNumber(1)] });
  expect(chain.status().error).toBeNull();
  await chain.close();
});

test.each([
  ["15 s", 15, true],
  ["10 min", 600, false],
])(
  "with blocks every %s a daemon reads those again in which a swap may have gone on that servers told of",
  async (_, blockSec, isFound) => {
    const h = startScriptedChain(100);
    const db = memory();
    const contract = scriptNumber(1);
    const told = await open(h, {}, db);
    await told.watchScript(contract, 100);
    await told.close();
    const hidden = h.pay(contract, 6_000n);
    h.mine(4_200);
    const headers = Array.from({ length: 100 }, (__, i) => {
      const height = 4_201 + i;
      const { hash = "" } = h.daemon.blocks[height] ?? {};
      return { height, hash, prevHash: h.daemon.blocks[height - 1]?.hash ?? "", timeSec: i * blockSec };
    });
    await openChainStore(db, "TST").commit({ rollbackTo: 0, headers, isTold: true });
    const chain = await open(h, {}, db);
    await whileTimePasses(h, chain.watchScript(contract, 100), 60_000);
    expect(chain.outputs(contract).map((o) => o.txid)).toEqual(isFound ? [hidden] : []);
    await chain.close();
  },
);

test("what servers told of blocks that the daemon has pruned away counts on, and what it has is read again", async () => {
  const h = startScriptedChain(150);
  const db = memory();
  const [contract, own, never] = [scriptNumber(1), scriptNumber(2), scriptNumber(3)];
  const early = h.pay(contract, 5_000n);
  h.mine(150);
  const told = await open(h, {}, db);
  for (const script of [contract, own]) await told.watchScript(script, 120);
  await told.close();
  const hidden = h.pay(contract, 6_000n);
  h.mine();
  const last = h.daemon.blocks[301] ?? expect.fail("no block");
  const header = { height: 301, hash: last.hash, prevHash: h.daemon.blocks[300]?.hash ?? "", timeSec: 1 };
  await openChainStore(db, "TST").commit({ headers: [header], isTold: true });
  h.daemon.prunedBelow = 190;
  const chain = await open(h, {}, db);
  for (const script of [contract, own]) await whileTimePasses(h, chain.watchScript(script, 120), 65_000);
  expect(chain.status()).toMatchObject({ state: "ready", error: null });
  expect(chain.outputs(contract).map((o) => [o.txid, o.block?.height])).toEqual([
    [early, 151],
    [hidden, 301],
  ]);
  await h.clock.advance(5_000);
  expect(await openChainStore(db, "TST").load()).toMatchObject({ isTold: false });
  await expect(whileTimePasses(h, chain.watchScript(never, 120), 65_000)).rejects.toMatchObject({ name: "BlockGone", height: 120 });
  await chain.close();
});

test("what was to be read again and is pruned away counts on, too, where the node stops before the daemon has answered", async () => {
  const h = startScriptedChain(150);
  const db = memory();
  const contract = scriptNumber(1);
  const paid = h.pay(contract, 5_000n);
  h.mine(150);
  const told = await open(h, {}, db);
  await told.watchScript(contract, 120);
  await told.close();
  await openChainStore(db, "TST").commit({ isTold: true });
  h.daemon.prunedBelow = 190;
  h.rpc.down = true;
  const away = await open(h, {}, db);
  await h.clock.advance(1_000);
  await away.close();
  h.rpc.down = false;
  const chain = await open(h, {}, db);
  await whileTimePasses(h, chain.watchScript(contract, 120), 65_000);
  expect(chain.status()).toMatchObject({ state: "ready", error: null });
  expect(chain.outputs(contract).map((o) => [o.txid, o.block?.height])).toEqual([[paid, 151]]);
  await chain.close();
});

test.each([
  ["it met the pruned blocks", 301],
  ["it had followed the daemon further, and was started again", 501],
])("what servers did not tell of their last blocks is found in those that a daemon has not pruned away, when %s", async (_, tip) => {
  const h = startScriptedChain(100);
  const db = memory();
  const contract = scriptNumber(1);
  const told = await open(h, {}, db);
  await told.watchScript(contract, 100);
  await told.close();
  h.mine(159);
  const hidden = [h.pay(contract, 6_000n)];
  h.mine(41);
  hidden.push(h.pay(contract, 7_000n));
  h.mine(200);
  const headers = h.daemon.blocks.map(({ hash }, height) => ({
    ...{ height, hash, prevHash: h.daemon.blocks[height - 1]?.hash ?? "", timeSec: height },
  }));
  const { commit } = openChainStore(db, "TST");
  await commit({ rollbackTo: 0, headers: headers.slice(202, 302), isTold: true });
  h.rpc.down = true;
  const away = await open(h, {}, db);
  await h.clock.advance(1_000);
  await away.close();
  if (tip > 301) await commit({ headers: headers.slice(302, tip + 1) });
  h.rpc.down = false;
  h.daemon.prunedBelow = 260;
  // At first it does not say which blocks it has: that is looked for once a look, in some steps.
  const kept = new Set(h.daemon.blocks.slice(260).map(({ hash }) => hash));
  h.rpc.judge = (method, [hash]) =>
    method === "getblock" && kept.has(String(hash)) ? { ok: false, error: { kind: "rpc", code: -32603, message: "cannot read" } } : null;
  const chain = await open(h, {}, db);
  const watched = chain.watchScript(contract, 100);
  h.rpc.counts.clear();
  await h.clock.advance(60_000);
  expect(chain.status().error).toContain("cannot read");
  expect(h.rpc.counts.get("getblock")).toBeLessThan(60 * 10);
  h.rpc.judge = null;
  await whileTimePasses(h, watched, 65_000);
  expect(chain.outputs(contract).map((o) => [o.txid, o.block?.height])).toEqual(hidden.map((id, i) => [id, [260, 301][i]]));
  await chain.close();
});

test("what is watched since a daemon took over, and waits for old blocks, keeps nothing from counting as gone that was told and no mempool holds", async () => {
  const h = startScriptedChain(60);
  const db = memory();
  const told = await open(h, {}, db);
  await told.watchScript(scriptNumber(1), 50);
  const paid = h.pay(scriptNumber(1), 5_000n);
  await told.refresh();
  await told.close();
  await openChainStore(db, "TST").commit({ isTold: true });
  h.daemon.mempool.clear();
  h.daemon.prunedBelow = 40;
  h.daemon.peers = [{ id: 1, isFull: true, gives: false }];
  const chain = await open(h, {}, db);
  const waiting = chain.watchScript(scriptNumber(2), 30).catch(() => undefined);
  await h.clock.advance(5_000);
  expect(chain.tx(paid)).toBeUndefined();
  await chain.close();
  await waiting;
});

test("blocks pruned while this node was away stop it with a clear status instead of a hole in the index", async () => {
  const h = startScriptedChain(30);
  const db = memory();
  const first = await open(h, {}, db);
  await first.refresh();
  await first.close();
  h.mine(20);
  h.daemon.prunedBelow = 45;
  const second = await open(h, {}, db);
  await h.clock.advance(5_000);
  expect(second.status().state).toBe("unreachable");
  expect(second.status().error).toContain("no longer has block 31");
  expect(second.status().tip?.height).toBe(30);
  await second.close();
});

test("blocks pruned while this node was away are fetched by the daemon from peers that keep all, and followed without a hole", async () => {
  const h = startScriptedChain(30);
  const db = memory();
  const first = await open(h, {}, db);
  await first.watchScript(scriptNumber(1), 0);
  await first.close();
  h.mine(10);
  const id = h.pay(scriptNumber(1), 5_000n);
  h.mine(200);
  h.daemon.prunedBelow = 235;
  h.daemon.peers = [
    { id: 3, isFull: false, gives: false },
    { id: 7, isFull: true, gives: true },
    { id: 8, isFull: true, gives: true },
  ];
  const second = await open(h, {}, db);
  await h.clock.advance(1);
  expect(second.status().error).toContain("fetches it from its peers again");
  await h.clock.advance(60_000);
  expect(second.status()).toMatchObject({ state: "ready", error: null, tip: { height: 240 } });
  expect(second.tx(id)?.block?.height).toBe(41);
  await second.close();
});

test("a watch that needs a pruned block waits while the daemon fetches it, past a peer that never gives it, and others go on", async () => {
  const h = startScriptedChain(60);
  h.daemon.prunedBelow = 58;
  h.daemon.peers = [1, 2].map((id) => ({ id, isFull: true, gives: id === 2 }));
  const chain = await open(h);
  let isCovered = false;
  const covered = chain.watchScript(scriptNumber(1), 57).then(() => {
    isCovered = true;
  });
  await h.clock.advance(5_000);
  expect([isCovered, chain.status().error]).toEqual([false, null]);
  const id = h.pay(scriptNumber(2), 5_000n);
  await chain.watchScript(scriptNumber(2), 58);
  expect(chain.tx(id)?.block).toBeNull();
  await h.clock.advance(10_000);
  await covered;
  await chain.close();
});

test.each([
  ["whose peers all prune", [{ id: 1, isFull: false, gives: false }], []],
  ["whose peers never give it", [1, 2, 3, 4].map((id) => ({ id, isFull: true, gives: false })), [1, 2, 3, 4, 1, 2]],
] as const)(
  "a pruned block that a daemon %s cannot fetch is gone after a minute at most, and is asked for no more",
  async (_, peers, asked) => {
    const h = startScriptedChain(60);
    h.daemon.prunedBelow = 58;
    h.daemon.peers = peers;
    const chain = await open(h);
    const watching = chain.watchScript(scriptNumber(1), 57);
    await expect(whileTimePasses(h, watching, 65_000)).rejects.toMatchObject({ name: "BlockGone", height: 57 });
    expect(chain.status().error).toContain("let the daemon fetch it again");
    await expect(whileTimePasses(h, chain.watchScript(scriptNumber(2), 57), 5_000)).rejects.toMatchObject({ name: "BlockGone" });
    expect(h.daemon.blockRequests.get(57) ?? []).toEqual(asked);
    await chain.close();
  },
);

test("a daemon of another chain is refused and the index kept", async () => {
  const h = startScriptedChain(30);
  const db = memory();
  const first = await open(h, {}, db);
  await first.watchScript(scriptNumber(1), 0);
  h.pay(scriptNumber(1), 5_000n);
  h.mine();
  await first.refresh();
  await first.close();
  const other = startScriptedChain(50);
  other.daemon.blocks.splice(0, 1, { ...(other.daemon.blocks[0] as (typeof other.daemon.blocks)[0]), hash: "ab".repeat(32) });
  const second = await open(other, {}, db);
  await other.clock.advance(3_000);
  expect(second.status().error).toContain("serves another chain");
  expect(second.outputs(scriptNumber(1))).toHaveLength(1);
  await second.close();
});

test("a daemon that starts over and is far behind is waited for, not followed down", async () => {
  const h = startScriptedChain(500);
  const chain = await open(h);
  await chain.refresh();
  const kept = h.daemon.blocks.splice(100);
  await h.clock.advance(5_000);
  expect(chain.status().state).toBe("unreachable");
  expect(chain.status().error).toContain("at block 99 and this node has already seen block 500");
  expect(chain.status().tip?.height).toBe(500);
  h.daemon.blocks.push(...kept);
  await h.clock.advance(40_000);
  expect(chain.status().state).toBe("ready");
  await chain.close();
});

test("a best chain that gets shorter takes its facts with it", async () => {
  const h = startScriptedChain(30);
  const chain = await open(h);
  await chain.watchScript(scriptNumber(1), 0);
  const id = h.pay(scriptNumber(1), 5_000n);
  h.mine(2);
  await chain.refresh();
  h.reorg(2, 0);
  await chain.refresh();
  expect(chain.status().tip?.height).toBe(30);
  expect(chain.tx(id)?.block).toBeNull();
  await chain.close();
});

test("a chain that changes between two questions is not glued together from both halves", async () => {
  const h = startScriptedChain(30);
  const chain = await open(h);
  const script = scriptNumber(1);
  await chain.watchScript(script, 0);
  const id = h.pay(script, 5_000n);
  h.mine();
  await chain.refresh();
  h.mine(2);
  let asked = 0;
  h.rpc.twist.set("getblockhash", (answer, [height]) => {
    if (height !== 33 || ++asked !== 2) return answer;
    // After the look at the tip and before its blocks are read.
    h.reorg(3, 4, [id]);
    return { ok: true, value: h.daemon.blocks[33]?.hash };
  });
  await chain.refresh();
  expect(asked).toBeGreaterThanOrEqual(2);
  expect(chain.tx(id)).toBeUndefined();
  expect(chain.status().tip?.hash).toBe(h.daemon.blocks.at(-1)?.hash);
  await chain.close();
});

test("the next block on ours costs three questions, and blocks read a moment ago are not asked for again", async () => {
  const h = startScriptedChain(30);
  const chain = await open(h);
  await chain.watchScript(scriptNumber(1), 30);
  h.rpc.counts.clear();
  const id = h.pay(scriptNumber(2), 5_000n);
  h.mine();
  await chain.refresh();
  const asked = ["getbestblockhash", "getblockheader", "getblockhash", "getblock"].map((method) => h.rpc.counts.get(method) ?? 0);
  expect(asked).toEqual([1, 1, 0, 1]);
  await chain.watchScript(scriptNumber(2), 31);
  expect(chain.tx(id)?.block?.height).toBe(31);
  expect(h.rpc.counts.get("getblock")).toBe(1);
  await chain.close();
});

test("a block that is replaced while a new watch reads old blocks is read again, not refused as gone", async () => {
  const h = startScriptedChain(30);
  const chain = await open(h);
  await chain.refresh();
  let isReplaced = false;
  h.rpc.twist.set("getblock", (answer) => {
    if (isReplaced) return answer;
    isReplaced = true;
    h.reorg(3, 4);
    return { ok: false, error: { kind: "rpc", code: -5, message: "Block not found" } };
  });
  await chain.watchScript(scriptNumber(1), 29);
  expect(chain.status().error).toBeNull();
  expect(chain.status().tip?.hash).toBe(h.daemon.blocks.at(-1)?.hash);
  await chain.close();
});

test("newly made coins of a block that was replaced are gone with it, not back in the mempool", async () => {
  const h = startScriptedChain(30);
  const chain = await open(h);
  const script = scriptNumber(1);
  await chain.watchScript(script, 0);
  const minted: Tx = {
    version: 1,
    inputs: [{ txid: "00".repeat(32), vout: 0xffffffff, scriptSig: Uint8Array.of(1, 7), sequence: 0, witness: [] }],
    outputs: [{ value: 5_000n, script }],
    lockTime: 0,
  };
  h.daemon.mine(1, [minted]);
  await chain.refresh();
  expect(chain.outputs(script)).toMatchObject([{ coinbase: true, block: { height: 31 } }]);
  h.reorg(1, 2, [txid(minted)]);
  h.rpc.stalled.add("getrawmempool");
  await h.clock.advance(3_000);
  expect(chain.status().tip?.height).toBe(32);
  expect(chain.outputs(script)).toEqual([]);
  await chain.close();
});

test("a reorganisation deeper than all kept headers reads everything again", async () => {
  const h = startScriptedChain(60);
  const chain = await open(h);
  const script = scriptNumber(1);
  const id = h.pay(script, 5_000n);
  h.mine();
  await chain.watchScript(script, 0);
  expect(chain.tx(id)?.block?.height).toBe(61);
  h.reorg(55, 57);
  h.mine();
  await whileTimePasses(h, chain.refresh(), 2_000);
  expect(chain.status().tip?.hash).toBe(h.daemon.blocks.at(-1)?.hash);
  await whileTimePasses(h, chain.watchScript(script, 0), 2_000);
  expect(chain.tx(id)?.block).toEqual({ height: 64, hash: h.daemon.blocks[64]?.hash });
  await chain.close();
});

test("a child looked at before its parent is still seen as the spender", async () => {
  const h = startScriptedChain();
  const chain = await open(h, { mempoolPerRound: 1 });
  const script = scriptNumber(1);
  await chain.watchScript(script, 0);
  const parent: Tx = {
    version: 1,
    inputs: [{ txid: "77".repeat(32), vout: 0, scriptSig: new Uint8Array(0), sequence: 0, witness: [] }],
    outputs: [{ value: 9_000n, script }],
    lockTime: 0,
  };
  const child = spendOf(h.format, 1, [{ txid: txid(parent), vout: 0, value: 9_000n }], scriptNumber(2), 1_000n);
  h.send(child);
  h.send(parent);
  await h.clock.advance(5_000);
  expect(chain.outputs(script)[0]?.spentBy).toEqual({ txid: txid(child), block: null });
  await chain.close();
});

test("a payment mined between the look at the tip and the look at the mempool does not vanish in between", async () => {
  const h = startScriptedChain();
  const chain = await open(h);
  const script = scriptNumber(1);
  await chain.watchScript(script, 0);
  h.pay(script, 5_000n);
  await chain.refresh();
  const seen: number[] = [];
  chain.onChange(() => seen.push(chain.outputs(script).length));
  let mined = false;
  h.daemon.override.set("getrawmempool", () => {
    if (!mined) h.mine();
    mined = true;
    return [...h.daemon.mempool.keys()];
  });
  await chain.refresh();
  expect(seen.every((n) => n === 1)).toBe(true);
  expect(chain.outputs(script)[0]?.block?.height).toBe(31);
  await chain.close();
});

test("tries at a daemon that is down get rarer, up to 30 s, and a refresh is not held back by them", async () => {
  const h = startScriptedChain();
  const chain = await open(h);
  await chain.refresh();
  h.rpc.down = true;
  h.rpc.counts.clear();
  await h.clock.advance(300_000);
  // 1, 2, 4, 8, 16, 30, 30 … seconds apart.
  expect(h.rpc.total).toBeGreaterThanOrEqual(12);
  expect(h.rpc.total).toBeLessThanOrEqual(16);
  h.rpc.down = false;
  await whileTimePasses(h, chain.refresh(), 1_100);
  expect(chain.status().state).toBe("ready");
  await chain.close();
});

test("a quiet chain costs two small questions a second", async () => {
  const h = startScriptedChain();
  const chain = await open(h);
  await chain.refresh();
  h.rpc.counts.clear();
  await h.clock.advance(50_000);
  expect(h.rpc.counts.get("getbestblockhash")).toBe(50);
  expect(h.rpc.counts.get("getrawmempool")).toBe(50);
  expect(h.rpc.total).toBeLessThanOrEqual(102);
  await chain.close();
});

test("notarization is what the daemon reports, and false where it reports none", async () => {
  const h = startScriptedChain();
  h.daemon.notarized = 20;
  const chain = await open(h);
  await chain.refresh();
  expect([chain.isNotarized(20), chain.isNotarized(21)]).toEqual([true, false]);
  h.daemon.notarized = 31;
  h.mine();
  await chain.refresh();
  expect(chain.isNotarized(31)).toBe(true);
  await chain.close();
  const plain = startScriptedChain();
  const other = await open(plain);
  await other.refresh();
  expect(other.isNotarized(0)).toBe(false);
  await other.close();
});

test("what is notarized on the chain a daemon went over to since it was looked at is not so of the one that is followed", async () => {
  const h = startScriptedChain();
  h.daemon.notarized = 20;
  const chain = await open(h);
  await chain.refresh();
  const height = h.daemon.blocks.length - 1;
  h.daemon.override.set("getinfo", () => {
    if (h.daemon.blocks.length === height + 1) h.daemon.reorg(1, 2);
    return { notarized: height, notarizedhash: h.daemon.blocks[height]?.hash };
  });
  const tip = (): string | undefined => chain.status().tip?.hash;
  // The look in which it said so was of the chain before.
  const said: [boolean, boolean][] = [];
  chain.onChange(() => void said.push([tip() === h.daemon.blocks.at(-1)?.hash, chain.isNotarized(height)]));
  await h.clock.advance(30_000);
  expect([chain.isNotarized(height), said.some(([isFollowed, isNotarized]) => isNotarized && !isFollowed)]).toEqual([true, false]);
  await chain.close();
});

test("fees are base units per 1000 bytes, rounded up, and null without an estimate", async () => {
  const h = startScriptedChain();
  const chain = await open(h);
  await chain.refresh();
  expect(chain.relayFeePerKb()).toBe(1_000n);
  h.daemon.override.set("estimatesmartfee", () => ({ feerate: "0.000123456", blocks: 2 }));
  expect(await chain.estimateFeePerKb(2)).toBe(12_346n);
  h.daemon.override.set("estimatesmartfee", () => ({ errors: ["no data"] }));
  h.daemon.override.set("estimatefee", () => 0.0002);
  expect(await chain.estimateFeePerKb(2)).toBe(20_000n);
  h.daemon.override.set("estimatefee", () => -1);
  expect(await chain.estimateFeePerKb(2)).toBeNull();
  await chain.close();
});

test.each([
  [-27, "already_known"],
  [-26, "rejected"],
  [-25, "rejected"],
  [-22, "rejected"],
  [-28, "unknown"],
  [-32603, "unknown"],
])("a broadcast the daemon answers with code %i is %s while nobody has the transaction", async (code, kind) => {
  const h = startScriptedChain();
  const chain = await open(h);
  const raw = serializeTx(spendOf(h.format, 1, [{ txid: "11".repeat(32), vout: 0, value: 9_999_999n }], scriptNumber(2)));
  h.rpc.instead.set("sendrawtransaction", { ok: false, error: { kind: "rpc", code, message: "any words" } });
  expect((await chain.broadcast(raw)).kind).toBe(kind);
  await chain.close();
});

test.each([
  [{ kind: "unreachable", message: "nothing listens there", isUnsent: true }, true],
  [{ kind: "busy", message: "it is starting" }, true],
  [{ kind: "unreachable", message: "no answer within 15 s" }, undefined],
] as const)("a broadcast that ends with %j was given to nobody: %s", async (error, isUnsent) => {
  const h = startScriptedChain();
  const chain = await open(h);
  const raw = serializeTx(spendOf(h.format, 1, [{ txid: "11".repeat(32), vout: 0, value: 9_999_999n }], scriptNumber(2)));
  h.rpc.instead.set("sendrawtransaction", { ok: false, error });
  const outcome = await chain.broadcast(raw);
  expect(outcome.kind === "unknown" && outcome.isUnsent).toBe(isUnsent);
  await chain.close();
});

test("spent outputs leave memory when they are old and many, and stay in the history", async () => {
  const h = startScriptedChain();
  const chain = await open(h);
  const script = scriptNumber(1);
  await chain.watchScript(script, 0);
  let from = { txid: h.pay(script, 9_000_000n), vout: 0, value: 9_000_000n };
  h.mine();
  for (let i = 0; i < 150; i++) {
    const tx = spendOf(h.format, 1, [from], script, 1_000n);
    from = { txid: h.send(tx), vout: 0, value: from.value - 1_000n };
    h.mine();
  }
  await chain.refresh();
  expect(chain.outputs(script)).toHaveLength(151);
  h.mine(250);
  const last = spendOf(h.format, 1, [from], script, 1_000n);
  h.send(last);
  h.mine();
  await chain.refresh();
  expect(chain.outputs(script).length).toBeLessThanOrEqual(102);
  expect(chain.outputs(script).filter((o) => o.spentBy === null)).toHaveLength(1);
  expect(await chain.history([script], 1_000)).toHaveLength(152);
  await chain.close();
});

test("a store that refuses a write leaves the reads as they were; the index goes on when it takes writes again", async () => {
  const h = startScriptedChain();
  const db = memory();
  let full = false;
  const store = openChainStore(
    { ...db, write: (batch) => (full ? Promise.reject(new Error("the disk is full")) : db.write(batch)) },
    "TST",
  );
  const chain = await openUtxoRpcChain({ ticker: "TST", format: h.format, rpc: h.rpc, clock: h.clock, store, log: quietLog });
  await chain.watchScript(scriptNumber(1), 0);
  full = true;
  const id = h.pay(scriptNumber(1), 5_000n);
  h.mine();
  await h.clock.advance(3_000);
  expect(chain.status().error).toContain("the disk is full");
  expect(chain.tx(id)).toBeUndefined();
  full = false;
  await h.clock.advance(10_000);
  expect(chain.status().state).toBe("ready");
  expect(chain.tx(id)?.block?.height).toBe(31);
  await chain.close();
});

test("closing ends every wait with Aborted", async () => {
  const h = startScriptedChain();
  h.rpc.down = true;
  const chain = await open(h);
  const waits = [chain.refresh(), chain.watchScript(scriptNumber(1), 0)];
  const outcomes = Promise.allSettled(waits);
  await h.clock.advance(100);
  await chain.close();
  for (const outcome of await outcomes) expect(outcome).toMatchObject({ status: "rejected", reason: expect.any(Aborted) });
  await expect(chain.refresh()).rejects.toBeInstanceOf(Aborted);
});

test("a signal ends one wait and the watch stays", async () => {
  const h = startScriptedChain();
  h.rpc.down = true;
  const chain = await open(h);
  const stop = new AbortController();
  const wait = expect(chain.watchScript(scriptNumber(1), 0, stop.signal)).rejects.toBeInstanceOf(Aborted);
  await h.clock.advance(100);
  stop.abort();
  await wait;
  const id = h.pay(scriptNumber(1), 5_000n);
  h.rpc.down = false;
  await h.clock.advance(3_000);
  expect(chain.tx(id)).toBeDefined();
  await chain.close();
});

test("two runs of the same news ask the daemon the same questions in the same order", async () => {
  const run = async (): Promise<string[]> => {
    const h = startScriptedChain();
    const asked: string[] = [];
    const rpc = {
      call(method: string, params: readonly unknown[]) {
        asked.push(`${h.clock.nowMs()} ${method} ${params}`);
        return h.daemon.call(method, params);
      },
    };
    const store = openChainStore(memory(), "TST");
    const chain = await openUtxoRpcChain({ ticker: "TST", format: h.format, rpc, clock: h.clock, store, log: quietLog });
    const watched = chain.watchScript(scriptNumber(1), 3);
    h.pay(scriptNumber(1), 5_000n);
    await h.clock.advance(2_500);
    h.mine(3);
    await h.clock.advance(2_500);
    h.reorg(1, 2);
    await h.clock.advance(2_500);
    await watched;
    await chain.close();
    return asked;
  };
  expect(await run()).toEqual(await run());
});
