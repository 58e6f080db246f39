import { expect, test } from "vitest";
import type { RawTx } from "../../chainIndex/rawTx.ts";
import { err, ok } from "../../core/util/result.ts";
import type { RemoteServer } from "./remoteServer.ts";
import { type Followed, SpendSearch, type SpendSearchDeps } from "./spendSearch.ts";

const TIP = 100_000;
/** Transactions of each block. */
const PER_BLOCK = 64;
const LEVELS = 6;
const idOf = (height: number, pos = 0): string => (height * PER_BLOCK + pos).toString(16).padStart(64, "0");

/** A search over one server; `asked`: height and position of each transaction it gave. */
function begin(watchedFrom: number) {
  const asked: string[] = [];
  const chain = { tip: TIP, nowMs: 1_000_000_000 };
  const server = {
    name: "honest",
    state: "connected",
    ask: async (_: string, [height, pos]: [number, number]) => {
      asked.push(`${height} ${pos}`);
      return ok({ txid: idOf(height, pos), branch: Array.from({ length: LEVELS }, () => "ee".repeat(32)) });
    },
  } as unknown as RemoteServer;
  const txOf = (txid: string): RawTx => ({ txid, tx: { version: 1, inputs: [], outputs: [], lockTime: 0 }, raw: new Uint8Array(65) });
  const deps = {
    index: {
      get tipHeader() {
        return { height: chain.tip };
      },
      windowBottom: 0,
      headerAt: (height: number) => (height > chain.tip ? undefined : { hash: idOf(height) }),
      watch: () => ({ fromHeight: watchedFrom }),
      tx: () => undefined,
      hasOutput: () => false,
      scriptOf: () => undefined,
      isTxWatched: () => false,
    },
    reader: {
      withHash: async (_: unknown, height: number, hash: string) => (height < 1 ? err({ kind: "moved" }) : ok({ hash, merkleRoot: "" })),
    },
    prover: { fetch: async (txid: string) => txOf(txid), flaw: () => null, isFirst: () => true },
    guards: { roundOf: () => 1 },
    omissions: {},
    clock: { nowMs: () => chain.nowMs },
    log: { warn: () => undefined },
    closed: new AbortController().signal,
    enqueue: async (work: () => Promise<void>) => work(),
    commit: async () => undefined,
    onRead: () => undefined,
  };
  const search = new SpendSearch(deps as unknown as SpendSearchDeps);
  /** To the end of what can be read now: nothing above waits for more than promises. */
  const look = async (followed: readonly Followed[], others: readonly RemoteServer[] = []): Promise<void> => {
    search.tend(followed, [...others, server]);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { search, look, asked, chain, server };
}

test("one server that refuses an old swap's history does not hold up what a new swap needs, nor does each new block throw away what was read", async () => {
  const { search, look, asked, chain } = begin(TIP - 300);
  const followed = [
    { scriptHex: "new", fromHeight: TIP - 5, telling: "crowded" },
    { scriptHex: "old", fromHeight: TIP - 300, telling: "told" },
  ] as const;
  search.doubt("old");
  await look(followed);
  expect(search.isThrough("new")).toBe(true);
  expect(search.isThrough("old")).toBe(false);
  for (let block = 0; block < 20; block++) {
    chain.tip++;
    // What a server bears meanwhile: a new block and half of an old one.
    chain.nowMs += 180_000;
    await look(followed);
    expect(search.isThrough("new")).toBe(true);
  }
  const old = asked.filter((at) => Number.parseInt(at, 10) < TIP - 5);
  expect(new Set(old).size).toBe(old.length);
});

test("after a chain that began anew a search begins where its script is watched from, not at the first block", async () => {
  const { search, look, asked } = begin(TIP - 5);
  const followed = [{ scriptHex: "aa", fromHeight: TIP - 5, telling: "crowded" }] as const;
  await look(followed);
  expect(search.crowded("aa")).toBe("read");
  search.forgetAbove(-1);
  asked.length = 0;
  await look(followed);
  expect(asked[0]).toBe(`${TIP - 5} 0`);
  expect(search.crowded("aa")).toBe("read");
});

test("one that answers late holds up no search while there is one that does not", async () => {
  const { search, look } = begin(TIP - 5);
  const slow = { name: "slow", state: "connected", isSlow: true, ask: () => new Promise(() => undefined) } as unknown as RemoteServer;
  await look([{ scriptHex: "aa", fromHeight: TIP - 5, telling: "crowded" }], [slow]);
  expect(search.isThrough("aa")).toBe(true);
});

test("one that answers at once and gives nothing does not keep the search from those that answer late", async () => {
  const { search, look, server } = begin(TIP - 5);
  Object.assign(server, { isSlow: true });
  const refusing = {
    name: "refusing",
    state: "connected",
    isSlow: false,
    ask: async () => err({ kind: "rpc", code: 1, message: "no" }),
  } as unknown as RemoteServer;
  await look([{ scriptHex: "aa", fromHeight: TIP - 5, telling: "crowded" }], [refusing]);
  expect(search.isThrough("aa")).toBe(true);
});
