import { afterEach, expect, test } from "vitest";
import type { ElectrumChain } from "../../src/adapters/electrum/electrumDeps.ts";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import type { ChainStore } from "../../src/ports/chainStore.ts";
import type { SqlDatabase } from "../../src/ports/sql.ts";
import { type ElectrumWorld, startElectrumChain } from "../contract/electrumChain.ts";
import { SEGWIT_COIN } from "../contract/embeddedChain.ts";
import { scriptNumber, spendOf } from "../contract/spendable.ts";
import { whileTimePasses } from "./whileTimePasses.ts";

const OWN = scriptNumber(1);
const cleanup: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanup.splice(0).reverse()) await undo();
});

const unspent = (chain: ElectrumChain): number => chain.outputs(OWN).filter(({ spentBy }) => spentBy === null).length;

/** An address that received `count` payments, a block each, and spent all of them long ago: the first payment last. */
async function begin(count: number): Promise<{ readonly w: ElectrumWorld; readonly spends: readonly string[]; readonly db: SqlDatabase }> {
  const w = await startElectrumChain(SEGWIT_COIN, 3);
  cleanup.push(() => w.close());
  const value = 100_000n;
  const paid = Array.from({ length: count }, (_, i) => {
    if (i % 10 === 0) w.mine();
    return { txid: w.pay(OWN, value), vout: 0, value };
  });
  const spends = paid.map((output, i) => {
    if (i % 10 === 0) w.mine();
    return w.send(spendOf(w.format, 1, [output], scriptNumber(2)));
  });
  w.mine(450);
  return { w, spends, db: openInlineDatabase(":memory:", [CHAIN_SCHEMA]) };
}

async function open(w: ElectrumWorld, store: ChainStore): Promise<ElectrumChain> {
  const chain = await w.openElectrum(store, { timeoutMs: 2_000 });
  cleanup.push(() => chain.close());
  return chain;
}

test.each([
  { where: "between two parts of the history that is read at a start", count: 520, isRefused: false },
  { where: "while blocks are read at a start, for no server tells the history any more", count: 120, isRefused: true },
])("$where, nothing counts as there that was spent long ago", async ({ count, isRefused }) => {
  const { w, db } = await begin(count);
  const first = await open(w, openChainStore(db, "TST"));
  await whileTimePasses(w, first.watchScript(OWN, 0));
  expect(unspent(first)).toBe(0);
  await first.close();
  if (isRefused) for (const { faults } of w.servers) faults.add({ kind: "short_histories", lines: 10 });
  const store = openChainStore(db, "TST");
  const counts: number[] = [];
  let chain: ElectrumChain | null = null;
  const counting: ChainStore = {
    ...store,
    async commit(delta) {
      await store.commit(delta);
      if (chain !== null) counts.push(unspent(chain));
    },
  };
  chain = await open(w, counting);
  await whileTimePasses(w, chain.watchScript(OWN, 0));
  for (let i = 0; i < 200 && isRefused && chain.crowded?.(OWN) !== "read"; i++) {
    await w.pass(10_000);
    counts.push(unspent(chain));
  }
  expect(chain.crowded?.(OWN)).toBe(isRefused ? "read" : null);
  expect(counts.filter((unspent) => unspent > 0)).toEqual([]);
  expect(unspent(chain)).toBe(0);
});

test("what is stored as spent long ago stays spent after a start, though no server tells what spent it", async () => {
  const { w, spends, db } = await begin(150);
  const first = await open(w, openChainStore(db, "TST"));
  await whileTimePasses(w, first.watchScript(OWN, 0));
  await first.close();
  for (const { faults } of w.servers) for (const txid of spends.slice(0, 50)) faults.add({ kind: "hide", txid });
  const chain = await open(w, openChainStore(db, "TST"));
  await whileTimePasses(w, chain.watchScript(OWN, 0));
  await whileTimePasses(w, chain.refresh());
  expect(chain.status().state).toBe("ready");
  expect(unspent(chain)).toBe(0);
});
