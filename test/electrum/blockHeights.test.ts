import { afterEach, expect, test } from "vitest";
import type { ElectrumChain } from "../../src/adapters/electrum/electrumDeps.ts";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { FIRST_BALANCE_MS } from "../../src/app/coin/firstLook.ts";
import { fromHex, toHex } from "../../src/core/util/bytes.ts";
import type { Tx } from "../../src/core/utxo/tx.ts";
import { serializeTx, txid as txidOf } from "../../src/core/utxo/txCodec.ts";
import { type ElectrumWorld, startElectrumChain } from "../contract/electrumChain.ts";
import { SEGWIT_COIN } from "../contract/embeddedChain.ts";
import { scriptNumber } from "../contract/spendable.ts";
import { withRaisedHeaders } from "./raisedHeights.ts";
import { whileTimePasses } from "./whileTimePasses.ts";

const LIARS = [0, 1];
const SHIFT = 7;
const PAID = 200_000_000n;
const SCRIPT = scriptNumber(1);
const BY_POSITION = "blockchain.transaction.id_from_pos";
const cleanup: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanup.splice(0).reverse()) await undo();
});

/** Says that it stands where the liars say that the last block stands, and is in no block. */
const MADE_FIRST: Tx = {
  version: 1,
  inputs: [{ txid: "00".repeat(32), vout: 0xffffffff, scriptSig: fromHex("017f0000"), sequence: 0xffffffff, witness: [] }],
  outputs: [{ value: PAID, script: SCRIPT }],
  lockTime: 0,
};

/** `firstTx`: what liars say of a block's first transaction: `true`: as it is, of the block they name; `made`: one that they made up; `none`: nothing. */
type Lie = { readonly firstTx: "true" | "made" | "none"; isTold: boolean };

/** While the lie is told the liars name each block, but for the first ones, seven heights above its own. */
async function world(servers: number, firstTx: Lie["firstTx"], lie: Lie = { firstTx, isTold: true }): Promise<ElectrumWorld> {
  const raised = (line: string): string => line.replace(/"height":(\d+)/, (_, height: string) => `"height":${Number(height) + SHIFT}`);
  const w = await startElectrumChain(SEGWIT_COIN, servers, (line, server, call) => {
    if (!lie.isTold || !LIARS.includes(server)) return line;
    if (`${call}${line}`.includes('"blockchain.headers.subscribe"')) return raised(line);
    if (call.includes(`"${BY_POSITION}"`)) {
      const [first] = w.chain.state.at(Number(/"params":\[(\d+)/.exec(call)?.[1]) - SHIFT)?.block.txs ?? [];
      const txid = { none: null, true: first?.txid, made: txidOf(MADE_FIRST) }[lie.firstTx];
      return txid ? line.replace(/"error":\{[^}]*\}/, `"result":{"tx_hash":"${txid}","merkle":[]}`) : line;
    }
    if (call.includes(txidOf(MADE_FIRST))) return line.replace(/"error":.*(?=,"id")/, `"result":"${toHex(serializeTx(MADE_FIRST))}"`);
    return withRaisedHeaders(w.chain, SHIFT, line, call);
  });
  w.tellsHeights = true;
  cleanup.push(() => w.close());
  return w;
}

async function open(w: ElectrumWorld): Promise<ElectrumChain> {
  const store = openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST");
  const chain = await w.openElectrum(store, { timeoutMs: 2_000, costlyWork: 1n });
  cleanup.push(() => chain.close());
  return chain;
}

/** The honest ones come half a minute after the liars. */
async function lateOpen(w: ElectrumWorld): Promise<ElectrumChain> {
  const away = w.servers.filter((_, i) => !LIARS.includes(i)).map(({ faults }) => ({ faults, id: faults.add({ kind: "refuse" }).id }));
  const chain = await open(w);
  await w.pass(30_000);
  expect(chain.status().tip).toBeNull();
  for (const { faults, id } of away) faults.clear(id);
  await w.pass(60_000);
  return chain;
}

const NAMED = /^it does not show at which height its block 127 stands$/;

test.each(["none", "made"] as const)(
  "liars who come first and name true blocks at other heights (%s) begin no chain; it begins with those who show theirs",
  async (firstTx) => {
    const w = await world(4, firstTx);
    const chain = await lateOpen(w);
    expect(chain.status()).toMatchObject({ state: "ready", tip: { height: 120 } });
    const paid = w.pay(SCRIPT, PAID);
    w.mine();
    await whileTimePasses(w, chain.watchScript(SCRIPT, 0));
    await whileTimePasses(w, chain.refresh());
    expect(chain.outputs(SCRIPT)).toMatchObject([{ txid: paid, block: { height: 121 } }]);
  },
);

test("who shows a first transaction that says another height is dropped for it", async () => {
  const w = await world(4, "true");
  const chain = await lateOpen(w);
  expect(chain.status()).toMatchObject({ state: "ready", tip: { height: 120 } });
  expect(chain.servers().map(({ state }) => state)).toEqual(["dropped", "dropped", "connected", "connected"]);
  const hash = w.blocks().at(-1)?.hash;
  expect(chain.servers()[0]?.trouble).toBe(`its block ${hash} stands at height 120, not 127`);
});

test("nor does a chain that goes on begin anew at other heights once only those are left who name them", async () => {
  const lie: Lie = { firstTx: "none", isTold: false };
  const w = await world(4, "none", lie);
  const chain = await open(w);
  await w.pass(5_000);
  expect(chain.status()).toMatchObject({ state: "ready", tip: { height: 120 } });
  lie.isTold = true;
  const [last] = w.blocks().slice(-1);
  for (const i of [2, 3]) w.servers[i]?.faults.add({ kind: "refuse" });
  w.mine();
  for (let i = 0; i < 30; i++) {
    void chain.refresh().catch(() => undefined);
    await w.pass(10_000);
  }
  expect(chain.status().tip).toMatchObject({ height: 120, hash: last?.hash });
});

test("where nobody shows it no chain begins, and it says why and what to do", async () => {
  const w = await world(2, "none");
  const chain = await open(w);
  await w.pass(30_000);
  expect(chain.status()).toMatchObject({
    tip: null,
    error:
      "The TST servers do not give the heights of their last blocks: none shows the first transaction of such a block; enable the coin with other servers.",
  });
  expect(chain.servers().map(({ trouble }) => trouble)).toEqual([expect.stringMatching(NAMED), expect.stringMatching(NAMED)]);
});

test("who does not show it is asked for the same block once a minute", async () => {
  const w = await world(2, "none");
  await open(w);
  await w.pass(59_000);
  expect(w.askedOf(0).filter((method) => method === BY_POSITION)).toHaveLength(1);
  await w.pass(58_000);
  expect(w.askedOf(0).filter((method) => method === BY_POSITION)).toHaveLength(2);
});

test("one of five that shows it as late as may be keeps no coin from being there in time", async () => {
  const w = await world(5, "none", { firstTx: "none", isTold: false });
  const late = w.servers[0]?.faults;
  late?.add({ kind: "slow", methods: ["server.version"], delayMs: 1_500 });
  for (const method of [BY_POSITION, "blockchain.transaction.get"]) late?.add({ kind: "slow", methods: [method], delayMs: 9_500 });
  const store = openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST");
  const chain = await w.openElectrum(store, { costlyWork: 1n });
  cleanup.push(() => chain.close());
  await w.pass(FIRST_BALANCE_MS);
  expect(chain.status()).toMatchObject({ state: "ready", tip: { height: 120 } });
});
