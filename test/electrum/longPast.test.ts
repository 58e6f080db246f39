import { afterEach, expect, test } from "vitest";
import type { ElectrumChain } from "../../src/adapters/electrum/electrumDeps.ts";
import { scriptHashOf } from "../../src/adapters/electrum/scriptHash.ts";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import type { ChainStore } from "../../src/ports/chainStore.ts";
import { startElectrumChain } from "../contract/electrumChain.ts";
import { SEGWIT_COIN } from "../contract/embeddedChain.ts";
import { scriptNumber, spendOf } from "../contract/spendable.ts";
import { whileTimePasses } from "./whileTimePasses.ts";

const SERVERS = 3;
const cleanup: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanup.splice(0).reverse()) await undo();
});

test("what an address was paid and spent long ago is asked for once, and not again with each payment", async () => {
  const COUNT = 120;
  const w = await startElectrumChain(SEGWIT_COIN, SERVERS);
  const asked = (): number => w.asked.filter((method) => method === "blockchain.transaction.get").length;
  cleanup.push(() => w.close());
  for (let i = 0; i < COUNT; i++) {
    const id = w.pay(scriptNumber(1), 100_000n);
    w.mine();
    w.send(spendOf(w.format, 1, [{ txid: id, vout: 0, value: 100_000n }], scriptNumber(2)));
  }
  w.mine(450);
  const store = openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST");
  let looked = 0;
  const storedTxs: ChainStore["storedTxs"] = (txids) => {
    looked++;
    return store.storedTxs(txids);
  };
  const chain = await w.openElectrum({ ...store, storedTxs }, { timeoutMs: 2_000 });
  cleanup.push(() => chain.close());
  await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
  expect(asked()).toBe(2 * COUNT);
  // Of those that were spent long ago a hundred stay in memory.
  expect(chain.outputs(scriptNumber(1))).toHaveLength(100);
  w.asked.length = 0;
  looked = 0;
  for (let i = 1; i <= 3; i++) {
    w.pay(scriptNumber(1), 1_000n);
    await whileTimePasses(w, chain.refresh());
    w.mine();
    await whileTimePasses(w, chain.refresh());
    expect(chain.outputs(scriptNumber(1))).toHaveLength(100 + i);
  }
  expect(asked()).toBe(3);
  expect(looked).toBe(3);
});

test("of a history that is read in several parts, one of which ends within a block, nothing counts as there that was spent long ago; what is stored is not asked for at a start", async () => {
  const [COUNT, EACH] = [520, 40];
  const w = await startElectrumChain(SEGWIT_COIN, SERVERS);
  cleanup.push(() => w.close());
  const value = 10_000n;
  const paid = Array.from({ length: COUNT }, (_, i) => {
    if (i % EACH === 0) w.mine();
    return { txid: w.pay(scriptNumber(1), value), vout: 0, value };
  });
  // What was paid last is spent first, and leaves memory first.
  for (let i = COUNT - EACH; i >= 0; i -= EACH) {
    w.mine();
    w.send(spendOf(w.format, 1, paid.slice(i, i + EACH), scriptNumber(2)));
  }
  w.mine(450);
  const store = openInlineDatabase(":memory:", [CHAIN_SCHEMA]);
  for (const when of ["at first", "after a start"]) {
    const chain = await w.openElectrum(openChainStore(store, "TST"), { timeoutMs: 2_000 });
    await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
    await whileTimePasses(w, chain.refresh());
    const asked = w.asked.splice(0).filter((method) => method === "blockchain.transaction.get").length;
    expect([when, asked > 0]).toEqual([when, when === "at first"]);
    expect([when, chain.outputs(scriptNumber(1)).filter(({ spentBy }) => spentBy === null).length]).toEqual([when, 0]);
    await chain.close();
  }
});

test("what one of two alone names in its mempool is not looked for in the store at each look", async () => {
  const NAMED = 300;
  const made = Array.from({ length: NAMED }, (_, i) => ({ tx_hash: (i + 1).toString(16).padStart(64, "0"), height: 0, fee: 200 }));
  const w = await startElectrumChain(SEGWIT_COIN, 2, (line, server, call) => {
    if (server !== 0 || !call.includes("blockchain.scripthash.")) return line;
    const { id } = JSON.parse(call) as { id: number };
    const result = call.includes("subscribe") ? "11".repeat(32) : made;
    return JSON.stringify({ jsonrpc: "2.0", id, result });
  });
  cleanup.push(() => w.close());
  const store = openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST");
  const looked: string[] = [];
  const storedTxs: ChainStore["storedTxs"] = (txids) => {
    looked.push(...txids);
    return store.storedTxs(txids);
  };
  const chain = await w.openElectrum({ ...store, storedTxs }, { timeoutMs: 2_000 });
  cleanup.push(() => chain.close());
  await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
  for (let i = 0; i < 5; i++) {
    w.mine();
    await whileTimePasses(w, chain.refresh());
  }
  expect(w.askedOf(0)).toContain("blockchain.scripthash.get_history");
  expect(looked).toEqual([]);
});

test.each([
  { when: "with each payment to a busy address", isLie: false },
  { when: "by one liar who names what waits in an old block", isLie: true },
])("what has left memory is not asked for again, $when", async ({ isLie }) => {
  const COUNT = 150;
  const w = await startElectrumChain(SEGWIT_COIN, SERVERS);
  cleanup.push(() => w.close());
  const chain = await w.openElectrum(openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST"), { timeoutMs: 2_000 });
  cleanup.push(() => chain.close());
  await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
  for (let i = 0; i < COUNT; i++) {
    const id = w.pay(scriptNumber(1), 100_000n);
    w.mine();
    w.send(spendOf(w.format, 1, [{ txid: id, vout: 0, value: 100_000n }], scriptNumber(2)));
  }
  w.mine(210);
  await whileTimePasses(w, chain.refresh());
  expect(chain.outputs(scriptNumber(1))).toHaveLength(100);
  w.asked.length = 0;
  const txid = w.pay(scriptNumber(1), 1_000n);
  if (isLie) w.servers[0]?.faults.add({ kind: "claim", scriptHash: scriptHashOf(toHex(scriptNumber(1))), txid, height: 5 });
  // A history so long is told at a pace.
  await w.pass(60_000);
  await whileTimePasses(w, chain.refresh());
  expect(chain.outputs(scriptNumber(1))).toMatchObject(Array.from({ length: 101 }, (_, i) => (i < 100 ? {} : { txid, spentBy: null })));
  expect(w.asked.filter((method) => method === "blockchain.scripthash.get_history").length).toBeGreaterThan(0);
  expect(w.asked.filter((method) => method === "blockchain.transaction.get")).toHaveLength(1);
});

test.each([
  { when: "before all headers that are kept", blocks: 450, isThere: false },
  { when: "in a block whose header is kept", blocks: 260, isThere: true },
])(
  "what was spent long ago ($when), and came with a payment to a script or in a transaction that is watched only now, does not count as there again",
  async ({ blocks, isThere }) => {
    const COUNT = 120;
    const w = await startElectrumChain(SEGWIT_COIN, SERVERS);
    cleanup.push(() => w.close());
    const follow = async (): Promise<ElectrumChain> => {
      const opened = await w.openElectrum(openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST"), { timeoutMs: 2_000 });
      cleanup.push(() => opened.close());
      await whileTimePasses(w, opened.watchScript(scriptNumber(1), 0));
      return opened;
    };
    const early = isThere ? await follow() : null;
    const paid: string[] = [];
    for (let i = 0; i < COUNT; i++) {
      const id = w.pay(scriptNumber(9), 200_000n);
      const whole = spendOf(w.format, 9, [{ txid: id, vout: 0, value: 200_000n }], scriptNumber(1));
      const both = w.send({ ...whole, outputs: [1, 3].map((n) => ({ value: 90_000n, script: scriptNumber(n) })) });
      paid.push(both);
      w.send(spendOf(w.format, 1, [{ txid: both, vout: 0, value: 90_000n }], scriptNumber(2)));
      if (i % 10 === 9) w.mine();
    }
    if (early) await whileTimePasses(w, early.refresh());
    w.mine(blocks);
    const chain = early ?? (await follow());
    w.pay(scriptNumber(1), 1_000n);
    await whileTimePasses(w, chain.refresh());
    w.mine();
    await whileTimePasses(w, chain.refresh());
    const unspent = (): readonly bigint[] =>
      chain.outputs(scriptNumber(1)).flatMap(({ spentBy, value }) => (spentBy === null ? [value] : []));
    expect(paid.filter((txid) => chain.tx(txid) !== undefined)).toHaveLength(100);
    expect(unspent()).toEqual([1_000n]);
    for (const txid of paid.slice(0, 3)) await whileTimePasses(w, chain.watchTx(txid, 0));
    expect(paid.slice(0, 3).every((txid) => chain.tx(txid)?.block)).toBe(true);
    expect(unspent()).toEqual([1_000n]);
    await whileTimePasses(w, chain.watchScript(scriptNumber(3), 0));
    expect(chain.outputs(scriptNumber(3))).toHaveLength(COUNT);
    expect(unspent()).toEqual([1_000n]);
  },
);
