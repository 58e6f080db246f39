import { expect, test } from "vitest";
import { fromHex } from "../../core/util/bytes.ts";
import type { ChainDelta } from "../../ports/chainStore.ts";
import type { SqlStatement } from "../../ports/sql.ts";
import { CHAIN_SCHEMA, openChainStore } from "./chainStore.ts";
import { openInlineDatabase } from "./inlineDatabase.ts";

const id = (n: number): string => n.toString(16).padStart(64, "0");
const SCRIPT = Uint8Array.of(0xa9, 1);
const block = (height: number): { height: number; hash: string } => ({ height, hash: id(1_000 + height) });
const header = (height: number) => ({ ...block(height), prevHash: id(999 + height), timeSec: height });

const PAYMENT: ChainDelta = {
  headers: [header(1), header(2)],
  txs: [{ txid: id(1), raw: Uint8Array.of(1), block: block(2), seenAtMs: 5 }],
  outputs: [{ txid: id(1), vout: 0, value: 2n ** 62n, script: SCRIPT, coinbase: false }],
  spends: [{ txid: id(1), vout: 0, spender: id(2) }],
  watches: [{ kind: "script", key: "a901", fromHeight: 0, nextHeight: 3 }],
};

test("what is committed is loaded back, values beyond 2^53 too, and coins do not see each other", async () => {
  const db = openInlineDatabase(":memory:", [CHAIN_SCHEMA]);
  const store = openChainStore(db, "AAA");
  await store.setGenesis(id(7));
  await store.commit(PAYMENT);
  expect(await store.load()).toEqual({ genesis: id(7), isTold: false, ...PAYMENT });
  expect(await openChainStore(db, "BBB").load()).toEqual({
    genesis: null,
    isTold: false,
    headers: [],
    watches: [],
    txs: [],
    outputs: [],
    spends: [],
  });
});

test("a delta is one write, so that no crash leaves half a block", async () => {
  const db = openInlineDatabase(":memory:", [CHAIN_SCHEMA]);
  const batches: number[] = [];
  const write = (batch: readonly SqlStatement[]): Promise<void> => {
    batches.push(batch.length);
    return db.write(batch);
  };
  await openChainStore({ ...db, write }, "AAA").commit(PAYMENT);
  expect(batches).toHaveLength(1);
});

test("a delta of which one part is refused leaves nothing behind", async () => {
  const store = openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "AAA");
  await store.commit({ headers: [header(2)] });
  const before = await store.load();
  await expect(store.commit({ ...PAYMENT, rollbackTo: 1, headers: [header(1), header(1)] })).rejects.toThrow();
  expect(await store.load()).toEqual(before);
});

test("raw bytes once known are kept, and so is the first time a transaction was seen", async () => {
  const store = openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "AAA");
  await store.commit(PAYMENT);
  await store.commit({ txs: [{ txid: id(1), raw: null, block: null, seenAtMs: 99 }] });
  expect((await store.load()).txs).toEqual([{ txid: id(1), raw: Uint8Array.of(1), block: null, seenAtMs: 5 }]);
});

test("a table longer than one page is loaded whole", async () => {
  const store = openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "AAA");
  const txs = Array.from({ length: 20_001 }, (_, i) => ({ txid: id(i), raw: null, block: null, seenAtMs: i }));
  await store.commit({ txs });
  expect((await store.load()).txs).toEqual(txs);
});

test("a reset keeps the watches and starts each again", async () => {
  const store = openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "AAA");
  await store.commit(PAYMENT);
  await store.commit({ reset: true, headers: [header(9)] });
  expect(await store.load()).toEqual({
    genesis: null,
    isTold: false,
    headers: [header(9)],
    watches: [{ kind: "script", key: "a901", fromHeight: 0, nextHeight: 0 }],
    txs: [],
    outputs: [],
    spends: [],
  });
});

test("what was told of a watch counts while it is read again, and not once it is covered or starts again", async () => {
  const store = openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "AAA");
  const watch = { kind: "script", key: "a901", fromHeight: 1 } as const;
  const stored = async (delta: ChainDelta) => {
    await store.commit(delta);
    return (await store.load()).watches;
  };
  const again = { ...watch, nextHeight: 3, wasTold: true };
  expect(await stored({ watches: [again] })).toEqual([again]);
  expect(await stored({ reset: true })).toEqual([{ ...watch, nextHeight: 1 }]);
  await stored({ watches: [again] });
  expect(await stored({ watches: [{ ...again, nextHeight: null }] })).toEqual([{ ...watch, nextHeight: null }]);
});

test("what is no longer watched goes with what nothing else holds, and nothing else goes", async () => {
  const db = openInlineDatabase(":memory:", [CHAIN_SCHEMA]);
  const store = openChainStore(db, "AAA");
  const other = openChainStore(db, "BBB");
  const output = (n: number, vout: number, script: string) => ({ txid: id(n), vout, value: 1n, script: fromHex(script), coinbase: false });
  const delta: ChainDelta = {
    // 1 pays both scripts, 2 spends the first and pays the second, 3 spends the first only, 4 does and is watched itself.
    txs: [1, 2, 3, 4].map((n) => ({ txid: id(n), raw: Uint8Array.of(n), block: null, seenAtMs: n })),
    outputs: [output(1, 0, "aa"), output(1, 1, "bb"), output(1, 2, "aa"), output(1, 3, "aa"), output(2, 0, "bb")],
    spends: [
      { txid: id(1), vout: 0, spender: id(2) },
      { txid: id(1), vout: 1, spender: id(2) },
      { txid: id(1), vout: 2, spender: id(3) },
      { txid: id(1), vout: 3, spender: id(4) },
    ],
    watches: [
      { kind: "script", key: "aa", fromHeight: 0, nextHeight: null },
      { kind: "script", key: "bb", fromHeight: 0, nextHeight: null },
      { kind: "tx", key: id(4), fromHeight: 0, nextHeight: null },
    ],
  };
  await store.commit(delta);
  await other.commit(delta);
  const left = async () => {
    const { txs, outputs, spends, watches } = await store.load();
    return [txs.map((t) => Number(t.txid)), outputs.map((o) => `${Number(o.txid)}:${o.vout}`), spends.length, watches.length];
  };
  await store.commit({ unwatch: [{ kind: "script", key: "aa" }] });
  expect(await left()).toEqual([[1, 2, 4], ["1:1", "2:0"], 1, 2]);
  await store.commit({ unwatch: [{ kind: "tx", key: id(4) }] });
  expect(await left()).toEqual([[1, 2], ["1:1", "2:0"], 1, 1]);
  await store.commit({ unwatch: [{ kind: "script", key: "bb" }] });
  expect(await left()).toEqual([[], [], 0, 0]);
  expect((await other.load()).txs).toHaveLength(4);
});
