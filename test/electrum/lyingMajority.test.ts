import { afterEach, describe, expect, test } from "vitest";
import type { ElectrumChain, ElectrumOptions } from "../../src/adapters/electrum/electrumDeps.ts";
import { scriptHashOf } from "../../src/adapters/electrum/scriptHash.ts";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import { ChainDaemon } from "../../src/chain/daemon.ts";
import type { ElectrumEffect } from "../../src/chain/electrum/electrumFaults.ts";
import { ElectrumServer } from "../../src/chain/electrum/electrumServer.ts";
import { EmbeddedChain } from "../../src/chain/embeddedChain.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import { type ElectrumWorld, startElectrumChain } from "../contract/electrumChain.ts";
import { SEGWIT_COIN } from "../contract/embeddedChain.ts";
import { scriptNumber, spendOf } from "../contract/spendable.ts";
import { whileTimePasses } from "./whileTimePasses.ts";

const PAID = 200_000_000n;
const SCRIPT = scriptNumber(1);
const LIARS = [0, 1];
const cleanup: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanup.splice(0).reverse()) await undo();
});

async function begin(options: ElectrumOptions = {}): Promise<{ readonly w: ElectrumWorld; readonly chain: ElectrumChain }> {
  const w = await startElectrumChain(SEGWIT_COIN, 3);
  cleanup.push(() => w.close());
  const store = openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST");
  const chain = await w.openElectrum(store, { timeoutMs: 2_000, ...options });
  cleanup.push(() => chain.close());
  await whileTimePasses(w, chain.watchScript(SCRIPT, 0));
  return { w, chain };
}
const lie = (w: ElectrumWorld, effect: ElectrumEffect): void => {
  for (const i of LIARS) w.servers[i]?.faults.add(effect);
};
const statesOf = (chain: ElectrumChain): readonly string[] => chain.servers().map(({ state }) => state);
const isNamed = (chain: ElectrumChain): readonly boolean[] => chain.servers().map(({ contradictions }) => contradictions > 0);
async function looks(w: ElectrumWorld, chain: ElectrumChain): Promise<void> {
  for (let i = 0; i < 12; i++) {
    void chain.refresh().catch(() => undefined);
    await w.pass(5_000);
  }
}

describe("two servers of three, who lie together against what one proves", () => {
  test("hide a payment that is in a block: it counts, and both are dropped and named", async () => {
    const { w, chain } = await begin();
    const txid = w.pay(SCRIPT, PAID);
    lie(w, { kind: "hide", txid });
    w.mine();
    await whileTimePasses(w, chain.refresh());
    expect(chain.outputs(SCRIPT)).toMatchObject([{ txid, block: { height: 121 } }]);
    await looks(w, chain);
    expect(isNamed(chain)).toEqual([true, true, false]);
    expect(chain.outputs(SCRIPT)).toMatchObject([{ txid, block: { height: 121 } }]);
  });

  test("hide a spend that is in a block: it counts, and both are dropped and named", async () => {
    const { w, chain } = await begin();
    w.pay(SCRIPT, PAID);
    w.mine();
    await whileTimePasses(w, chain.refresh());
    const spender = w.send(spendOf(w.format, 1, chain.outputs(SCRIPT), scriptNumber(2)));
    lie(w, { kind: "hide", txid: spender });
    w.mine();
    await whileTimePasses(w, chain.refresh());
    expect(chain.outputs(SCRIPT)).toMatchObject([{ spentBy: { txid: spender, block: { height: 122 } } }]);
    await looks(w, chain);
    expect(isNamed(chain)).toEqual([true, true, false]);
  });

  test("invent a payment in a block: nobody believes it, and both are dropped and named", async () => {
    const { w, chain } = await begin();
    const txid = w.pay(scriptNumber(3), PAID);
    w.mine();
    lie(w, { kind: "claim", scriptHash: scriptHashOf(toHex(SCRIPT)), txid, height: 100 });
    await looks(w, chain);
    expect(chain.outputs(SCRIPT)).toEqual([]);
    expect(isNamed(chain)).toEqual([true, true, false]);
  });

  test("show branches that lead elsewhere, and other bytes: what the third proves counts, and both are dropped and named", async () => {
    for (const kind of ["false_branch", "false_tx"] as const) {
      const { w, chain } = await begin();
      const txid = w.pay(SCRIPT, PAID);
      lie(w, kind === "false_tx" ? { kind, txid } : { kind });
      w.mine();
      await looks(w, chain);
      for (const { faults } of w.servers) faults.clear();
      expect(isNamed(chain)).toEqual([true, true, false]);
      await w.pass(120_000);
      expect(chain.outputs(SCRIPT)).toMatchObject([{ txid, block: { height: 121 } }]);
    }
  });

  test("show headers without work: they are not followed, and both are dropped and named", async () => {
    const { w, chain } = await begin();
    w.mine();
    lie(w, { kind: "false_header", fromHeight: 100 });
    w.mine();
    await looks(w, chain);
    expect(isNamed(chain)).toEqual([true, true, false]);
    expect(w.blocks().map(({ hash }) => hash)).toContain(chain.status().tip?.hash);
  });

  test("name fees that nobody pays: a relay minimum counts for nothing, an estimate as the most that servers are believed", async () => {
    const { w, chain } = await begin();
    lie(w, { kind: "false_fee", rate: 200 });
    const { relayFeePerKb } = chain;
    await looks(w, chain);
    await w.pass(600_000);
    await looks(w, chain);
    expect(relayFeePerKb()).toBe(1_000n);
    expect(await chain.estimateFeePerKb(2)).toBe(1_500_000n);
  });

  test("show a shorter chain of their own where blocks are dear: what has more work is followed, and nothing is taken back", async () => {
    const { w, chain } = await begin({ costlyWork: 1n });
    const other = new EmbeddedChain({ params: w.chain.params, clock: w.clock, rng: seededRng(1) });
    const theirs = new ElectrumServer(new ChainDaemon(other, w.clock), w.clock);
    cleanup.push(async () => theirs.close());
    const txid = w.pay(SCRIPT, PAID);
    w.mine(6);
    await whileTimePasses(w, chain.refresh());
    other.payFromFaucet(scriptNumber(4), PAID);
    other.mine(5);
    for (const i of LIARS) {
      w.servers[i]?.faults.add({ kind: "refuse", count: 1 } as ElectrumEffect);
      w.replace(i, theirs);
    }
    await w.pass(10_000);
    for (const i of LIARS) w.servers[i]?.faults.clear();
    await looks(w, chain);
    expect(chain.status().tip?.hash).toBe(w.blocks().at(-1)?.hash);
    expect(chain.outputs(SCRIPT)).toMatchObject([{ txid, block: { height: 121 } }]);
    expect(statesOf(chain)[2]).toBe("connected");
  });
});
