import { afterEach, expect, test } from "vitest";
import type { ElectrumChain } from "../../src/adapters/electrum/electrumDeps.ts";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import { ChainDaemon } from "../../src/chain/daemon.ts";
import { ElectrumServer } from "../../src/chain/electrum/electrumServer.ts";
import { EmbeddedChain } from "../../src/chain/embeddedChain.ts";
import { type ElectrumWorld, startElectrumChain } from "../contract/electrumChain.ts";
import { SEGWIT_COIN } from "../contract/embeddedChain.ts";
import { scriptNumber } from "../contract/spendable.ts";
import { whileTimePasses } from "./whileTimePasses.ts";

// Work decides, and fifteen headers of a branch are read at a look: the chain that is followed has forty since the other one parts from it.

const STEP = 15;
const OURS = 40;
let w: ElectrumWorld;
let chain: ElectrumChain;
let rival: EmbeddedChain;
let another: EmbeddedChain;
const others: ElectrumServer[] = [];
afterEach(async () => {
  await chain.close();
  for (const server of others.splice(0)) server.close();
  await w.close();
});

/** Three servers, of which so many come to show another chain of a length. */
async function begin(count: number, length: number): Promise<void> {
  w = await startElectrumChain(SEGWIT_COIN, 3);
  [rival, another] = [1, 2].map((n) => {
    const made = new EmbeddedChain({ params: w.chain.params, clock: w.clock, rng: seededRng(1) });
    made.payFromFaucet(scriptNumber(n), 200_000_000n);
    return made;
  }) as [EmbeddedChain, EmbeddedChain];
  w.mine(OURS);
  rival.mine(length);
  const store = openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST");
  chain = await w.openElectrum(store, { timeoutMs: 2_000, costlyWork: 1n, headersPerLook: STEP });
  await whileTimePasses(w, chain.refresh());
  for (let i = 0; i < 20 && chain.status().tip?.hash !== w.blocks().at(-1)?.hash; i++) await w.pass(30_000);
  for (let i = 0; i < count; i++) {
    const server = new ElectrumServer(new ChainDaemon(rival, w.clock), w.clock);
    others.push(server);
    w.replace(2 - i, server);
    w.servers[2 - i]?.close();
  }
}

async function isFollowed(looks: number): Promise<boolean> {
  for (let i = 0; i < looks && chain.status().tip?.hash !== rival.state.tip.block.hash; i++) await w.pass(30_000);
  return chain.status().tip?.hash === rival.state.tip.block.hash;
}

test.each([
  ["one server", 1],
  ["most servers", 2],
])("the branch of %s that has more work is followed, though its first headers show less than ours", async (_, count) => {
  await begin(count, 3 * OURS);
  expect(await isFollowed(20)).toBe(true);
});

test("a branch with less work is not followed, and read once", async () => {
  await begin(1, OURS - 5);
  expect(await isFollowed(10)).toBe(false);
  w.asked.splice(0);
  await w.pass(300_000);
  expect(w.asked.filter((method) => method === "blockchain.block.headers").length).toBe(0);
  expect(chain.status().tip?.hash).toBe(w.blocks().at(-1)?.hash);
});

test("a branch whose server takes another one meanwhile is read anew from where that parts", async () => {
  await begin(1, OURS - 1);
  await w.pass(2_000);
  another.mine(3 * OURS);
  rival = another;
  const server = new ElectrumServer(new ChainDaemon(another, w.clock), w.clock);
  others.push(server);
  w.replace(2, server);
  others[0]?.close();
  expect(await isFollowed(20)).toBe(true);
});

test.each([
  ["dear", 1n],
  ["cheap", 2n ** 40n],
])(
  "what is in a block of the same height on a branch that is read in several steps is found there, where blocks are %s",
  async (_, costlyWork) => {
    w = await startElectrumChain(SEGWIT_COIN, 3);
    const paid = w.pay(scriptNumber(1), 100_000n);
    w.mine(OURS);
    const store = openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST");
    chain = await w.openElectrum(store, { timeoutMs: 2_000, costlyWork, headersPerLook: STEP });
    await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
    const before = chain.tx(paid)?.block;
    const again = w.chain.state.at(before?.height ?? 0)?.block.txs.slice(1) ?? [];
    expect(w.chain.reorg({ depth: OURS, blocks: 3 * OURS, txs: again }).ok).toBe(true);
    for (let i = 0; i < 20 && chain.status().tip?.hash !== w.blocks().at(-1)?.hash; i++) await w.pass(30_000);
    await w.pass(60_000);
    const block = chain.tx(paid)?.block;
    expect(block?.height).toBe(before?.height);
    expect(block?.hash).not.toBe(before?.hash);
  },
);
