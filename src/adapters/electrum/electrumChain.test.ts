import { afterEach, describe, expect, test } from "vitest";
import { type ElectrumWorld, startElectrumChain } from "../../../test/contract/electrumChain.ts";
import { SEGWIT_COIN } from "../../../test/contract/embeddedChain.ts";
import { scriptNumber, spendOf } from "../../../test/contract/spendable.ts";
import { whileTimePasses } from "../../../test/electrum/whileTimePasses.ts";
import { SilentLog } from "../../../test/fakes/silentLog.ts";
import type { ElectrumEffect } from "../../chain/electrum/electrumFaults.ts";
import { toHex } from "../../core/util/bytes.ts";
import { serializeTx, txid } from "../../core/utxo/txCodec.ts";
import type { ChainStore } from "../../ports/chainStore.ts";
import { CHAIN_SCHEMA, openChainStore } from "../sqlite/chainStore.ts";
import { openInlineDatabase } from "../sqlite/inlineDatabase.ts";
import type { ElectrumChain, ElectrumOptions } from "./electrumDeps.ts";
import { scriptHashOf } from "./scriptHash.ts";

/** A refusal counts so long before the same bytes are offered again. */
const REFUSED_MS = 5_000;
const PAID = 200_000_000n;
const cleanup: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanup.splice(0).reverse()) await undo();
});

const memory = (): ChainStore => openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST");

async function begin(count: number, spoil?: (line: string, server: number) => string | null): Promise<ElectrumWorld> {
  const w = await startElectrumChain(SEGWIT_COIN, count, spoil);
  cleanup.push(() => w.close());
  return w;
}

async function open(w: ElectrumWorld, options: ElectrumOptions = {}, store = memory(), log = new SilentLog()): Promise<ElectrumChain> {
  const chain = await w.openElectrum(store, { timeoutMs: 2_000, ...options }, log);
  cleanup.push(() => chain.close());
  return chain;
}

/** Lets time pass until a look has ended; fails when none does within ten minutes. */
async function refreshed(w: ElectrumWorld, chain: ElectrumChain): Promise<void> {
  await whileTimePasses(w, chain.refresh());
}

async function until(w: ElectrumWorld, condition: () => boolean): Promise<void> {
  for (let i = 0; i < 600 && !condition(); i++) await w.pass(1_000);
  expect(condition()).toBe(true);
}

async function watched(w: ElectrumWorld, chain: ElectrumChain, script: Uint8Array): Promise<void> {
  await whileTimePasses(w, chain.watchScript(script, 0));
}

/** A payment, mined, and its spend, mined, are seen whatever one of three servers does. */
async function followsAPayment(w: ElectrumWorld, chain: ElectrumChain): Promise<void> {
  const script = scriptNumber(1);
  await watched(w, chain, script);
  const paid = w.pay(script, PAID);
  await refreshed(w, chain);
  expect(chain.tx(paid)?.block).toBeNull();
  w.mine();
  await refreshed(w, chain);
  await until(w, () => chain.tx(paid)?.block?.height === w.blocks().length - 1);
  const spend = spendOf(w.format, 1, chain.outputs(script), scriptNumber(900));
  expect((await whileTimePasses(w, chain.broadcast(serializeTx(spend)))).kind).toBe("accepted");
  w.mine(3);
  await refreshed(w, chain);
  await until(w, () => chain.outputs(script)[0]?.spentBy?.block?.height === w.blocks().length - 3);
  expect(chain.outputs(script)).toHaveLength(1);
  expect(chain.status()).toMatchObject({ state: "ready", error: null });
}

describe("one of three servers", () => {
  const one: readonly [string, ElectrumEffect & { readonly count?: number }][] = [
    ["never answers", { kind: "stall" }],
    ["is slow", { kind: "slow", delayMs: 1_500 }],
    ["loses its replies", { kind: "lost_reply" }],
    ["is not there", { kind: "refuse" }],
    ["answers everything with an error", { kind: "error", code: -32603, message: "internal error" }],
    ["answers with garbage", { kind: "garbage", text: '{"jsonrpc":"2.0","id":1,"result":' }],
    ["answers with other JSON", { kind: "garbage", text: "[1,2,3]" }],
    ["answers other calls than were made", { kind: "wrong_id" }],
    ["sends a line without end", { kind: "endless", bytes: 11_000_000, count: 3 }],
    ["tells nothing by itself", { kind: "mute" }],
    ["lags behind", { kind: "lag", blocks: 2 }],
    ["tells false heights", { kind: "false_height", delta: -3 }],
    ["gives false branches", { kind: "false_branch" }],
    ["gives false headers", { kind: "false_header", fromHeight: 100 }],
    ["takes broadcasts that go nowhere", { kind: "swallow_broadcast" }],
    ["asks for absurd fees", { kind: "false_fee", rate: 5 }],
  ];
  for (const [name, effect] of one) {
    for (const at of [0, 2]) {
      test(`${name} (number ${at}): what happens is seen as it happens`, async () => {
        const w = await begin(3);
        w.servers[at]?.faults.add({ ...effect });
        await followsAPayment(w, await open(w));
      });
    }
    test(`${name} from the middle on: what happens is seen as it happens`, async () => {
      const w = await begin(3);
      const chain = await open(w);
      await refreshed(w, chain);
      w.servers[1]?.faults.add({ ...effect });
      await followsAPayment(w, chain);
    });
  }

  test("hides a payment that is in a block: the payment counts, and the server is dropped and named", async () => {
    const w = await begin(3);
    const log = new SilentLog();
    const chain = await open(w, {}, memory(), log);
    const script = scriptNumber(1);
    await watched(w, chain, script);
    const paid = w.pay(script, PAID);
    w.servers[0]?.faults.add({ kind: "hide", txid: paid });
    w.mine();
    await refreshed(w, chain);
    expect(chain.tx(paid)?.block?.height).toBe(w.blocks().length - 1);
    w.mine();
    for (let i = 0; i < 8; i++) {
      await w.pass(5_000);
      await refreshed(w, chain);
    }
    expect(chain.servers()[0]).toMatchObject({ state: "dropped", contradictions: 1 });
    expect(chain.servers()[0]?.trouble).toContain(`it hides transaction ${paid}`);
    expect(log.lines.find((l) => l.event === "server_dropped")?.fields).toMatchObject({ server: "server0", coin: "TST" });
    expect(chain.tx(paid)?.block).not.toBeNull();
  });

  test("invents a payment in a block: nobody believes it, and the server is dropped", async () => {
    const w = await begin(3);
    const chain = await open(w);
    const script = scriptNumber(1);
    await watched(w, chain, script);
    const elsewhere = w.pay(scriptNumber(2), PAID);
    w.mine();
    await refreshed(w, chain);
    const scriptHash = scriptHashOf(toHex(script));
    w.servers[1]?.faults.add({ kind: "claim", scriptHash, txid: elsewhere, height: w.blocks().length - 3 });
    for (let i = 0; i < 8; i++) {
      await refreshed(w, chain);
      await w.pass(5_000);
    }
    expect(chain.outputs(script)).toEqual([]);
    expect(chain.servers()[1]).toMatchObject({ state: "dropped" });
    expect(chain.status().state).toBe("ready");
  });

  test("makes up a branch for an unconfirmed payment: it stays unconfirmed, and the server is dropped at once", async () => {
    const w = await begin(3, (line, server) =>
      server === 1
        ? line.replace(/"error":\{"code":1,"message":"tx [^}]*\}/, `"result":{"block_height":118,"merkle":["${"ab".repeat(32)}"],"pos":1}`)
        : line,
    );
    const chain = await open(w);
    const script = scriptNumber(1);
    await watched(w, chain, script);
    const paid = w.pay(script, PAID);
    w.servers[1]?.faults.add({ kind: "claim", scriptHash: scriptHashOf(toHex(script)), txid: paid, height: 118 });
    await refreshed(w, chain);
    await refreshed(w, chain);
    expect(chain.tx(paid)?.block).toBeNull();
    expect(chain.servers()[1]).toMatchObject({ state: "dropped", contradictions: 1 });
    expect(chain.servers()[1]?.trouble).toContain("its branch proves nothing");
  });

  test("gives other bytes for a transaction: they are not taken, and the server is dropped", async () => {
    const w = await begin(3);
    const chain = await open(w);
    const script = scriptNumber(1);
    await watched(w, chain, script);
    const paid = w.pay(script, PAID);
    for (const server of w.servers.slice(0, 2)) server.faults.add({ kind: "false_tx", txid: paid });
    w.mine();
    await refreshed(w, chain);
    await until(w, () => chain.tx(paid) !== undefined);
    expect(txidOf(w, chain, paid)).toBe(paid);
    expect(chain.servers().filter((s) => s.state === "dropped").length).toBeGreaterThan(0);
  });

  test("names a payment in its mempool that the others do not have: it does not count", async () => {
    const w = await begin(3);
    const chain = await open(w);
    const script = scriptNumber(1);
    await watched(w, chain, script);
    const paid = w.pay(script, PAID);
    for (const server of w.servers.slice(0, 2)) server.faults.add({ kind: "hide", txid: paid });
    await refreshed(w, chain);
    expect(chain.outputs(script)).toEqual([]);
  });

  test("refuses a broadcast to which the others do not answer: nothing is known of it; refused by most it is refused", async () => {
    const w = await begin(3);
    const chain = await open(w);
    await refreshed(w, chain);
    const nobodys = serializeTx(spendOf(w.format, 1, [{ txid: "11".repeat(32), vout: 0, value: PAID }], scriptNumber(2)));
    expect(await whileTimePasses(w, chain.broadcast(nobodys))).toMatchObject({ kind: "rejected", code: 1 });
    const methods = ["blockchain.transaction.broadcast"];
    for (const server of w.servers.slice(1)) server.faults.add({ kind: "stall", methods });
    await w.pass(REFUSED_MS);
    expect((await whileTimePasses(w, chain.broadcast(nobodys))).kind).toBe("unknown");
  });

  for (const code of [-101, -102]) {
    test(`says of everything that it is overloaded (code ${code}), as most do: nothing is known of a broadcast, and what is known stays`, async () => {
      const w = await begin(3);
      const chain = await open(w);
      const script = scriptNumber(1);
      await watched(w, chain, script);
      const paid = w.pay(script, PAID);
      await refreshed(w, chain);
      const error = { kind: "error", code, message: "excessive resource usage" } as const;
      for (const { faults } of w.servers.slice(1)) faults.add({ ...error, methods: ["blockchain.transaction.broadcast"] });
      const nobodys = serializeTx(spendOf(w.format, 1, [{ txid: "11".repeat(32), vout: 0, value: PAID }], scriptNumber(2)));
      expect((await whileTimePasses(w, chain.broadcast(nobodys))).kind).toBe("unknown");
      expect(chain.servers()[1]).toMatchObject({ state: "away", trouble: "it is overloaded: excessive resource usage" });
      expect(chain.tx(paid)).toBeDefined();
    });
  }

  test("lags behind for a while: it is named until it has caught up", async () => {
    const w = await begin(3);
    const chain = await open(w);
    w.servers[0]?.faults.add({ kind: "lag", blocks: 2 });
    w.mine(3);
    await refreshed(w, chain);
    expect(chain.servers()[0]?.trouble).toContain("it is behind the others");
    w.servers[0]?.faults.clear();
    await refreshed(w, chain);
    expect(chain.servers()[0]).toMatchObject({ state: "connected", trouble: null });
  });

  test("takes a broadcast that all others refuse: it is refused, so that it is made anew", async () => {
    const w = await begin(3);
    const chain = await open(w);
    await refreshed(w, chain);
    const nobodys = serializeTx(spendOf(w.format, 1, [{ txid: "11".repeat(32), vout: 0, value: PAID }], scriptNumber(2)));
    w.servers[1]?.faults.add({ kind: "swallow_broadcast" });
    expect(await whileTimePasses(w, chain.broadcast(nobodys))).toMatchObject({ kind: "rejected", code: 1 });
    w.servers[2]?.faults.add({ kind: "stall", methods: ["blockchain.transaction.broadcast"] });
    await w.pass(REFUSED_MS);
    expect((await whileTimePasses(w, chain.broadcast(nobodys))).kind).toBe("unknown");
  });

  test("asks for absurd fees: the middle counts, and of two the lower", async () => {
    const w = await begin(3);
    w.servers[0]?.faults.add({ kind: "false_fee", rate: 5 });
    const chain = await open(w);
    await refreshed(w, chain);
    const floor = chain.relayFeePerKb();
    expect(floor).toBe(1_000n);
    w.servers[2]?.faults.add({ kind: "refuse" });
    await until(w, () => chain.servers()[2]?.state === "away");
    expect(await chain.estimateFeePerKb(1)).not.toBe(500_000_000n);
  });
});

for (const [protocol, times] of [
  ["1.4", 0],
  ["1.4.1", 0],
  ["1.4.2", 2],
] as const) {
  test(`two servers of protocol ${protocol} are told to forget a script if they know how`, async () => {
    const w = await begin(2, (line) => line.replace('"1.4.2"', `"${protocol}"`));
    const chain = await open(w);
    await watched(w, chain, scriptNumber(1));
    await whileTimePasses(w, chain.unwatch({ scripts: [scriptNumber(1)] }));
    expect(w.asked.filter((method) => method === "blockchain.scripthash.unsubscribe")).toHaveLength(times);
  });
}

const txidOf = (w: ElectrumWorld, chain: ElectrumChain, id: string): string | undefined =>
  w
    .blocks()
    .flatMap((b) => b.txs)
    .filter((tx) => toHex(serializeTx(tx)) === toHex(chain.tx(id)?.raw ?? new Uint8Array(0)))
    .map(txid)[0];
