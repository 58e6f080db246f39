import { afterEach, expect, test } from "vitest";
import type { ElectrumChain } from "../../src/adapters/electrum/electrumDeps.ts";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { openUtxoRpcChain } from "../../src/adapters/utxoRpc/utxoRpcChain.ts";
import { serializeTx } from "../../src/core/utxo/txCodec.ts";
import type { UtxoChainWithHistory } from "../../src/ports/chain.ts";
import type { ChainStore } from "../../src/ports/chainStore.ts";
import { type ElectrumWorld, startElectrumChain } from "../contract/electrumChain.ts";
import { functionCallRpc, SEGWIT_COIN } from "../contract/embeddedChain.ts";
import { scriptNumber, spendOf } from "../contract/spendable.ts";
import { quietLog } from "../fakes/quietLog.ts";
import { whileTimePasses } from "./whileTimePasses.ts";

const PAID = 200_000_000n;
const CONTRACT = scriptNumber(1);
const OWN = scriptNumber(2);
const cleanup: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanup.splice(0).reverse()) await undo();
});

async function overDaemon(w: ElectrumWorld, store: ChainStore): Promise<UtxoChainWithHistory> {
  const { format, clock, daemon, pollMs } = w;
  const chain = await openUtxoRpcChain({
    ticker: "TST",
    format,
    rpc: functionCallRpc(daemon),
    store,
    clock,
    log: quietLog,
    options: { pollMs },
  });
  cleanup.push(() => chain.close());
  return chain;
}

async function begin(): Promise<{
  readonly w: ElectrumWorld;
  readonly store: ChainStore;
  readonly servers: ElectrumChain;
  readonly paid: string;
}> {
  const w = await startElectrumChain(SEGWIT_COIN, 3);
  cleanup.push(() => w.close());
  const store = openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST");
  const servers = await w.openElectrum(store, { timeoutMs: 2_000 });
  cleanup.push(() => servers.close());
  await whileTimePasses(w, servers.watchScript(OWN, 0));
  await whileTimePasses(w, servers.watchScript(CONTRACT, 100));
  const paid = w.pay(CONTRACT, PAID);
  w.mine();
  await whileTimePasses(w, servers.refresh());
  return { w, store, servers, paid };
}

test("what all servers hid of a contract is found in the blocks when the coin goes over to a daemon, once", async () => {
  const { w, store, servers } = await begin();
  const claim = w.send(spendOf(w.format, 1, servers.outputs(CONTRACT), OWN));
  for (const { faults } of w.servers) faults.add({ kind: "hide", txid: claim });
  w.mine(200);
  await whileTimePasses(w, servers.refresh());
  expect(servers.outputs(CONTRACT)).toMatchObject([{ spentBy: null }]);
  await servers.close();
  const chain = await overDaemon(w, store);
  await whileTimePasses(w, chain.watchScript(CONTRACT, 100));
  expect(chain.outputs(CONTRACT)).toMatchObject([{ spentBy: { txid: claim, block: { height: 122 } } }]);
  await whileTimePasses(w, chain.refresh());
  expect(await store.load()).toMatchObject({ isTold: false, watches: [{ nextHeight: null }, { nextHeight: null }] });
});

test("what is in the last block that servers told of, and was not told yet, is neither missed nor taken for gone by a daemon", async () => {
  const { w, store, servers, paid } = await begin();
  const claim = spendOf(w.format, 1, servers.outputs(CONTRACT), OWN);
  const outcome = await whileTimePasses(w, servers.broadcast(serializeTx(claim)));
  expect(outcome.kind).toBe("accepted");
  await whileTimePasses(w, servers.refresh());
  const own = servers.outputs(OWN);
  expect(own).toMatchObject([{ value: PAID - 10_000n, block: null }]);
  await servers.close();
  // The header of the block is stored before what it holds is told.
  const tip = await store.load().then(({ headers }) => headers.at(-1));
  w.mine();
  const block = w.blocks().at(-1);
  if (tip === undefined || block === undefined) throw new Error("no block");
  await store.commit({ headers: [{ height: block.height, hash: block.hash, prevHash: tip.hash, timeSec: tip.timeSec + 60 }] });
  const seen: (readonly unknown[])[] = [];
  const chain = await overDaemon(w, store);
  chain.onChange(() => void seen.push(chain.outputs(OWN)));
  await whileTimePasses(w, chain.watchScript(CONTRACT, 100));
  await whileTimePasses(w, chain.refresh());
  expect(chain.outputs(CONTRACT)).toMatchObject([{ txid: paid, spentBy: { txid: own[0]?.txid, block: { height: block.height } } }]);
  expect(chain.outputs(OWN)).toMatchObject([{ txid: own[0]?.txid, block: { height: block.height } }]);
  expect(seen.filter((outputs) => outputs.length === 0)).toEqual([]);
});

test("while a daemon reads again what servers told, nothing counts as there that was spent long ago", async () => {
  const COUNT = 150;
  const w = await startElectrumChain(SEGWIT_COIN, 3);
  cleanup.push(() => w.close());
  const db = openInlineDatabase(":memory:", [CHAIN_SCHEMA]);
  const store = openChainStore(db, "TST");
  const servers = await w.openElectrum(store, { timeoutMs: 2_000 });
  await whileTimePasses(w, servers.watchScript(OWN, 0));
  await whileTimePasses(w, servers.watchScript(CONTRACT, 100));
  const value = 100_000n;
  const paid = Array.from({ length: COUNT }, (_, i) => {
    if (i % 10 === 0) w.mine();
    return { txid: w.pay(OWN, value), vout: 0, value };
  });
  w.mine(250);
  for (const [i, output] of paid.entries()) {
    if (i % 10 === 0) w.mine();
    w.send(spendOf(w.format, 2, [output], scriptNumber(3)));
  }
  w.mine(250);
  w.pay(OWN, 1_000n);
  await whileTimePasses(w, servers.refresh());
  await servers.close();
  const counts: number[] = [];
  let chain: UtxoChainWithHistory | null = null;
  const counting: ChainStore = {
    ...store,
    async commit(delta) {
      await store.commit(delta);
      if (chain !== null) counts.push(chain.outputs(OWN).filter(({ spentBy }) => spentBy === null).length);
    },
  };
  chain = await overDaemon(w, counting);
  await whileTimePasses(w, chain.watchScript(CONTRACT, 100));
  await whileTimePasses(w, chain.refresh());
  expect(counts.length).toBeGreaterThan(2);
  expect(counts.filter((count) => count > 1)).toEqual([]);
});
