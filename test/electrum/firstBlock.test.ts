import { afterEach, expect, test } from "vitest";
import type { ElectrumChain } from "../../src/adapters/electrum/electrumDeps.ts";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { fromHex, toHex } from "../../src/core/util/bytes.ts";
import { hash256 } from "../../src/core/utxo/hash.ts";
import type { ChainStore } from "../../src/ports/chainStore.ts";
import { type ElectrumWorld, startElectrumChain } from "../contract/electrumChain.ts";
import { SEGWIT_COIN } from "../contract/embeddedChain.ts";
import { scriptNumber, spendOf } from "../contract/spendable.ts";
import { whileTimePasses } from "./whileTimePasses.ts";

const LIARS = [0, 1];
const cleanup: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanup.splice(0).reverse()) await undo();
});

const newStore = (): ChainStore => openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST");
const statesOf = (chain: ElectrumChain): readonly string[] => chain.servers().map(({ state }) => state);
/** The liars have all blocks as they are but for the first, which they made up, and the second, which names it. */
async function world(count: number): Promise<ElectrumWorld> {
  let first: Uint8Array = new Uint8Array(0);
  const w = await startElectrumChain(SEGWIT_COIN, count, (line, server, call) => {
    const at = /"blockchain\.block\.header","params":\[([01])\]/.exec(call)?.[1];
    if (!LIARS.includes(server) || at === undefined) return line;
    return line.replace(/"result":"([0-9a-f]+)"/, (_, hex: string) => {
      const header = fromHex(hex);
      // Its nonce, or what it names.
      if (at === "0") header.set([1, 2, 3, 4], 76);
      else header.set(hash256(first), 4);
      if (at === "0") first = header;
      return `"result":"${toHex(header)}"`;
    });
  });
  cleanup.push(() => w.close());
  return w;
}

async function open(w: ElectrumWorld, store = newStore()): Promise<ElectrumChain> {
  const chain = await w.openElectrum(store, { timeoutMs: 2_000 });
  cleanup.push(() => chain.close());
  return chain;
}

/** The honest ones come half a minute after the liars. */
async function lateOpen(w: ElectrumWorld, store = newStore()): Promise<ElectrumChain> {
  const away = w.servers.filter((_, i) => !LIARS.includes(i)).map(({ faults }) => ({ faults, id: faults.add({ kind: "refuse" }).id }));
  const chain = await open(w, store);
  await w.pass(30_000);
  for (const { faults, id } of away) faults.clear(id);
  await w.pass(60_000);
  return chain;
}

const firstHash = (w: ElectrumWorld): string => w.blocks()[0]?.hash ?? "";

test("liars who come first with a first block of their own shut nobody out of a coin whose first block is known", async () => {
  const w = await world(4);
  w.firstBlock = firstHash(w);
  const chain = await lateOpen(w);
  expect(statesOf(chain)).toEqual(["dropped", "dropped", "connected", "connected"]);
  await whileTimePasses(w, chain.refresh());
  expect(chain.status()).toMatchObject({ state: "ready", tip: { height: 120 } });
});

test("a first block that liars had stored gives way to the one that is known", async () => {
  const w = await world(4);
  const store = newStore();
  await store.setGenesis("ee".repeat(32));
  w.firstBlock = firstHash(w);
  const chain = await open(w, store);
  await whileTimePasses(w, chain.refresh());
  expect(statesOf(chain)).toEqual(["dropped", "dropped", "connected", "connected"]);
  expect((await store.load()).genesis).toBe(firstHash(w));
});

test("two of five who come first do not say for good which block a coin begins with that is not known", async () => {
  const w = await world(5);
  const store = newStore();
  const chain = await lateOpen(w, store);
  expect(statesOf(chain)).toEqual(["dropped", "dropped", "connected", "connected", "connected"]);
  await whileTimePasses(w, chain.refresh());
  expect(chain.status()).toMatchObject({ state: "ready", tip: { height: 120 } });
  expect((await store.load()).genesis).toBe(firstHash(w));
});

/** Connected are the liars alone, whose first block is fixed. */
async function fixed(maxConnected = LIARS.length, count = 4): Promise<{ readonly w: ElectrumWorld; readonly chain: ElectrumChain }> {
  const w = await world(count);
  const store = newStore();
  const chain = await w.openElectrum(store, { timeoutMs: 2_000, maxConnected });
  cleanup.push(() => chain.close());
  await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
  expect((await store.load()).genesis).not.toBe(firstHash(w));
  return { w, chain };
}

test("who had a first block of their own fixed hides no claim with it: whoever is visited proves it", async () => {
  const { w, chain } = await fixed();
  const script = scriptNumber(1);
  w.pay(script, 200_000_000n);
  w.mine();
  await whileTimePasses(w, chain.refresh());
  const txid = w.send(spendOf(w.format, 1, chain.outputs(script), scriptNumber(2)));
  for (const i of LIARS) w.servers[i]?.faults.add({ kind: "hide", txid });
  w.mine();
  const shown: string[] = [];
  chain.guard?.(script, { dueSec: 0, onTx: (tx) => void shown.push(tx.txid), spends: () => [] });
  await w.pass(61_000);
  expect(shown).toContain(txid);
  expect(chain.outputs(script)[0]?.spentBy).toMatchObject({ txid, block: { height: 122 } });
});

/** What speaks against a block that only the liars have. */
async function doubtOfTheirs({ w, chain }: Awaited<ReturnType<typeof fixed>>, isOneEnough = false): Promise<string | null> {
  for (const { faults } of w.servers.slice(LIARS.length)) faults.add({ kind: "lag", blocks: 1 });
  w.mine();
  await whileTimePasses(w, chain.refresh());
  const { tip } = chain.status();
  return whileTimePasses(w, chain.doubt?.(tip ?? expect.fail("no block"), 1, undefined, isOneEnough) ?? expect.fail("nobody to ask"));
}

test.each([
  ["idle", LIARS.length],
  ["dropped", LIARS.length + 1],
])("nor do they keep others from denying a block that they made up: these are %s", async (state, maxConnected) => {
  const begun = await fixed(maxConnected);
  await begun.w.pass(10_000);
  expect(statesOf(begun.chain)).toEqual(["connected", "connected", state, state]);
  expect(await doubtOfTheirs(begun)).toContain("is shown by 2 connected servers");
});

test("one alone that serves another chain than most stops no swap by denying its blocks", async () => {
  const begun = await fixed(LIARS.length + 1, LIARS.length + 1);
  expect(statesOf(begun.chain)).toEqual(["connected", "connected", "dropped"]);
  expect([await doubtOfTheirs(begun), await doubtOfTheirs(begun, true)]).toEqual([null, null]);
});
