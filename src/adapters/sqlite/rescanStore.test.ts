import { expect, test } from "vitest";
import type { ChainDelta, ChainStore } from "../../ports/chainStore.ts";
import { CHAIN_SCHEMA, openChainStore } from "./chainStore.ts";
import { openInlineDatabase } from "./inlineDatabase.ts";
import { openRescanStore } from "./rescanStore.ts";

const id = (n: number): string => n.toString(16).padStart(64, "0");
const SCRIPT = Uint8Array.of(0xa9, 1);
const header = (height: number) => ({ height, hash: id(1_000 + height), prevHash: id(999 + height), timeSec: height });
const WATCH = { kind: "script", key: "a901", fromHeight: 1, nextHeight: 3 } as const;
const LATER = { kind: "script", key: "a902", fromHeight: 2, nextHeight: 2 } as const;
const FACTS: ChainDelta = {
  headers: [header(1), header(2)],
  txs: [{ txid: id(1), raw: Uint8Array.of(1), block: { height: 2, hash: id(1_002) }, seenAtMs: 5 }],
  outputs: [{ txid: id(1), vout: 0, value: 5n, script: SCRIPT, coinbase: false }],
  spends: [{ txid: id(1), vout: 0, spender: id(2) }],
  watches: [WATCH],
};
const EMPTY = { genesis: null, isTold: false, headers: [], txs: [], outputs: [], spends: [] };
const ANEW = { ...WATCH, nextHeight: WATCH.fromHeight };

/** The indexes of two coins, and the first one to be read anew. */
async function indexes() {
  const db = openInlineDatabase(":memory:", [CHAIN_SCHEMA]);
  for (const ticker of ["AAA", "BBB"]) {
    const store = openChainStore(db, ticker);
    await store.setGenesis(id(7));
    await store.commit(FACTS);
  }
  const stored = (ticker: string) => openChainStore(db, ticker).load();
  return { db, stored, before: await stored("AAA"), anew: openRescanStore(db, "AAA") };
}

const asked = async (store: ChainStore) => [
  await store.history(["a901"], 9),
  await store.storedTxs([id(1)]),
  await store.spentIn([id(1)]),
  await store.spentOutputs(["a901"], [id(2)]),
];

test("an index that is to be read anew is empty but for its watches, and stands on the disk until a backend shows something", async () => {
  const { anew, before, stored } = await indexes();
  expect(await anew.load()).toEqual({ ...EMPTY, watches: [ANEW] });
  await anew.commit({ watches: [LATER] });
  await anew.commit({ unwatch: [WATCH] });
  expect(await asked(anew)).toEqual([[], [], [], []]);
  expect(await stored("AAA")).toEqual(before);
});

const shows = {
  "the first block": [(store: ChainStore) => store.setGenesis(id(8)), { ...EMPTY, genesis: id(8), watches: [ANEW, LATER] }],
  "a block": [(store: ChainStore) => store.commit({ headers: [header(9)] }), { ...EMPTY, headers: [header(9)], watches: [ANEW, LATER] }],
  "that nothing was paid": [
    (store: ChainStore) => store.commit({ watches: [{ ...LATER, nextHeight: null }] }),
    { ...EMPTY, watches: [ANEW, { ...LATER, nextHeight: null }] },
  ],
} as const;

test.each(Object.entries(shows))("it is forgotten in one write with %s that one shows", async (_, [show, then]) => {
  const { anew, before, db, stored } = await indexes();
  const other = await stored("BBB");
  await anew.load();
  await anew.commit({ watches: [LATER] });
  const { write } = db;
  db.write = () => Promise.reject(new Error("disk is full"));
  await expect(show(anew)).rejects.toThrow("disk is full");
  db.write = write;
  expect(await stored("AAA")).toEqual(before);
  await show(anew);
  expect([await stored("AAA"), await anew.load()]).toEqual([then, then]);
  expect(await stored("BBB")).toEqual(other);
});

test("servers that only say what is to be watched do not have it forgotten; what they show rests on their word, what a daemon shows does not", async () => {
  for (const isTold of [true, false]) {
    const { anew, before, stored, db } = await indexes();
    await openChainStore(db, "AAA").commit({ isTold: true });
    await anew.load();
    await anew.commit({ watches: [LATER], ...(isTold ? { isTold } : {}) });
    expect(await stored("AAA")).toEqual({ ...before, isTold: true });
    await anew.commit({ headers: [header(9)] });
    expect(await stored("AAA")).toEqual({ ...EMPTY, isTold, headers: [header(9)], watches: [ANEW, LATER] });
  }
});

test("from then on it is an index as any", async () => {
  const { anew, stored } = await indexes();
  await anew.setGenesis(id(8));
  await anew.commit(FACTS);
  await anew.setGenesis(id(9));
  expect(await stored("AAA")).toEqual({ ...FACTS, genesis: id(9), isTold: false });
  expect((await asked(anew)).map((answer) => answer.length)).toEqual([1, 1, 0, 1]);
});
