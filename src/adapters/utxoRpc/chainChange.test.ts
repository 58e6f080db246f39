import fc from "fast-check";
import { expect, test } from "vitest";
import { SilentLog } from "../../../test/fakes/silentLog.ts";
import { ChainIndex } from "../../chainIndex/chainIndex.ts";
import { ChangeListeners } from "../../chainIndex/changeListeners.ts";
import type { ChainChange } from "../../ports/chain.ts";
import type { ChainDelta, ChainSnapshot, StoredHeader, StoredTx } from "../../ports/chainStore.ts";

const SEED = 20_261_122;
const EMPTY: ChainSnapshot = { genesis: null, isTold: false, headers: [], watches: [], txs: [], outputs: [], spends: [] };
const SCRIPTS = ["aa", "bb", "cc"];
const TXIDS = ["01", "02", "03", "04"];
const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, "hex"));
const header = (height: number): StoredHeader => ({ height, hash: `h${height}`, prevHash: `h${height - 1}`, timeSec: height });
const tx = (txid: string, height: number | null): StoredTx => ({
  txid,
  raw: bytes(txid),
  block: height === null ? null : { height, hash: `h${height}` },
  seenAtMs: 1,
});

/** What a swap can read of one index. */
const answersOf = (index: ChainIndex): ReadonlyMap<string, string> =>
  new Map([
    ...SCRIPTS.map((s) => [s, JSON.stringify(index.outputsOf(s), (_, v: unknown) => (typeof v === "bigint" ? String(v) : v))] as const),
    ...TXIDS.map((id) => [id, JSON.stringify(index.tx(id))] as const),
  ]);

const txid = fc.constantFrom(...TXIDS);
const output = fc.record({ txid, vout: fc.nat(1), script: fc.constantFrom(...SCRIPTS) });
const delta: fc.Arbitrary<ChainDelta> = fc
  .record({
    txs: fc.array(fc.record({ id: txid, height: fc.option(fc.nat(5)) }), { maxLength: 2 }),
    outputs: fc.array(output, { maxLength: 2 }),
    spends: fc.array(fc.record({ txid, vout: fc.nat(1), spender: txid }), { maxLength: 2 }),
    gone: fc.array(txid, { maxLength: 1 }),
    unwatched: fc.option(fc.constantFrom(...SCRIPTS), { freq: 8 }),
    rollbackTo: fc.option(fc.nat(5), { freq: 8 }),
    reset: fc.boolean(),
  })
  .map(({ txs, outputs, spends, gone, unwatched, rollbackTo, reset }) => ({
    // What a block or the mempool brings comes with its transaction.
    txs: [...txs, ...outputs.map((o) => ({ id: o.txid, height: null }))].map((t) => tx(t.id, t.height)),
    outputs: outputs.map((o) => ({ txid: o.txid, vout: o.vout, value: 5n, script: bytes(o.script), coinbase: false })),
    spends,
    gone,
    ...(unwatched === null ? {} : { unwatch: [{ kind: "script" as const, key: unwatched }] }),
    ...(rollbackTo === null ? {} : { rollbackTo }),
    ...(reset && txs.length === 0 ? { reset: true } : {}),
  }));

test("whatever a delta changes of an answer, the change names it; and no kept answer is old", () => {
  fc.assert(
    fc.property(fc.array(delta, { minLength: 1, maxLength: 12 }), (deltas) => {
      const index = new ChainIndex(EMPTY);
      let before = answersOf(index);
      for (const [i, d] of deltas.entries()) {
        const { all, keys } = index.apply(d);
        const now = answersOf(index);
        for (const [key, answer] of now) if (!all && answer !== before.get(key)) expect(keys).toContain(key);
        const twin = new ChainIndex(EMPTY);
        for (const earlier of deltas.slice(0, i + 1)) twin.apply(earlier);
        expect(now).toEqual(answersOf(twin));
        before = now;
      }
    }),
    { seed: SEED, numRuns: 1_000 },
  );
});

test("a block concerns everybody, a transaction only those whose scripts it pays or spends", () => {
  const index = new ChainIndex(EMPTY);
  const pays = { txid: "01", vout: 0, value: 5n, script: bytes("aa"), coinbase: false };
  expect(index.apply({ headers: [header(1)] })).toEqual({ all: true, keys: new Set() });
  expect(index.apply({ txs: [tx("01", null)], outputs: [pays] })).toEqual({ all: false, keys: new Set(["01", "aa"]) });
  const spends = [{ txid: "01", vout: 0, spender: "02" }];
  expect(index.apply({ txs: [tx("02", null)], spends })).toEqual({ all: false, keys: new Set(["02", "aa"]) });
  expect(index.apply({ gone: ["02"] })).toEqual({ all: false, keys: new Set(["02", "aa"]) });
  expect(index.apply({ rollbackTo: 0 }).all).toBe(true);
});

test("a watch is pending until it is covered, dropped, or the chain is another", () => {
  const index = new ChainIndex(EMPTY);
  const watch = { kind: "script", key: "aa", fromHeight: 3, nextHeight: 3 } as const;
  index.apply({ watches: [watch, { ...watch, kind: "tx" }] });
  expect(index.pendingWatches().map((w) => w.kind)).toEqual(["script", "tx"]);
  index.apply({ watches: [{ ...watch, nextHeight: null }] });
  expect(index.pendingWatches().map((w) => w.kind)).toEqual(["tx"]);
  index.apply({ reset: true });
  expect(index.pendingWatches()).toHaveLength(2);
  index.apply({ unwatch: [watch, { kind: "tx", key: "aa" }] });
  expect(index.pendingWatches()).toEqual([]);
});

test("changes marked before an announcement are told together, and once", () => {
  const news = new ChangeListeners(new SilentLog());
  const told: ChainChange[] = [];
  news.add((change) => told.push(change));
  news.announce();
  news.mark({ all: false, keys: new Set(["a"]) });
  news.mark({ all: false, keys: new Set(["b"]) });
  news.announce();
  news.announce();
  news.mark({ all: false, keys: new Set(["c"]) });
  news.mark();
  news.announce();
  news.mark({ all: false, keys: new Set() });
  news.announce();
  expect(told).toEqual([
    { all: false, keys: new Set(["a", "b"]) },
    { all: true, keys: new Set(["c"]) },
  ]);
});
