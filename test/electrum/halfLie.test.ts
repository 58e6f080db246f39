import { afterEach, expect, test } from "vitest";
import type { ElectrumChain } from "../../src/adapters/electrum/electrumDeps.ts";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { REGTEST_BITS } from "../../src/chain/block.ts";
import type { SqlDatabase } from "../../src/ports/sql.ts";
import { type ElectrumWorld, startElectrumChain } from "../contract/electrumChain.ts";
import { SEGWIT_COIN } from "../contract/embeddedChain.ts";
import { scriptNumber } from "../contract/spendable.ts";
import { headersOf, withRaisedHeaders } from "./raisedHeights.ts";
import { whileTimePasses } from "./whileTimePasses.ts";

const LIARS = [0, 1];
const PAID = 200_000_000n;
const SCRIPT = scriptNumber(1);
const SHIFT = 1;
const NAMED = "it does not have block 121 of the others";
const cleanup: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanup.splice(0).reverse()) await undo();
});

type Lie = { isTold: boolean /** The second liar shows a last block above all that costs nothing. */; isCheap: boolean };

/** A last block with a target that every hash meets. */
const CHEAP = { hex: `${"01".repeat(72)}ffff0021${"01".repeat(4)}`, height: 300 };

/** Asked for a block above the first ones, the first two give the one before it. */
async function world(count: number, lie: Lie): Promise<ElectrumWorld> {
  const w: ElectrumWorld = await startElectrumChain(SEGWIT_COIN, count, (line, server, call) => {
    if (!lie.isTold || !LIARS.includes(server)) return line;
    if (call.includes('"blockchain.headers.subscribe"') || line.includes('"blockchain.headers.subscribe"')) {
      const { height } = w.chain.state.tip;
      const last = lie.isCheap
        ? { hex: headersOf(w.chain, height - SHIFT, 1), height }
        : { hex: headersOf(w.chain, height, 1), height: height + SHIFT };
      const { hex, height: told } = lie.isCheap && server === 1 ? CHEAP : last;
      return line.replace(/"hex":"[0-9a-f]+"/, `"hex":"${hex}"`).replace(/"height":\d+/, `"height":${told}`);
    }
    return withRaisedHeaders(w.chain, SHIFT, line, call);
  });
  cleanup.push(() => w.close());
  return w;
}

async function open(w: ElectrumWorld, db: SqlDatabase): Promise<ElectrumChain> {
  // Of what the blocks here cost.
  const chain = await w.openElectrum(openChainStore(db, "TST"), { timeoutMs: 2_000, costlyWork: 2n });
  cleanup.push(() => chain.close());
  return chain;
}

async function looks(w: ElectrumWorld, chain: ElectrumChain): Promise<void> {
  for (let i = 0; i < 24; i++) {
    void chain.refresh().catch(() => undefined);
    await w.pass(5_000);
  }
}

test("half of the servers name all blocks at other heights: the chain goes on, and they are named", async () => {
  const lie = { isTold: false, isCheap: false };
  const w = await world(4, lie);
  const chain = await open(w, openInlineDatabase(":memory:", [CHAIN_SCHEMA]));
  await whileTimePasses(w, chain.watchScript(SCRIPT, 0));
  lie.isTold = true;
  const txid = w.pay(SCRIPT, PAID);
  w.mine();
  await looks(w, chain);
  expect(chain.outputs(SCRIPT)).toMatchObject([{ txid, block: { height: 121 } }]);
  expect(chain.status()).toMatchObject({ state: "ready", tip: { height: 121 } });
  expect(chain.servers().map(({ trouble }) => trouble)).toEqual([NAMED, NAMED, null, null]);
});

test("nor do most of them take a chain with work away at a start, with one block that costs nothing", async () => {
  const lie = { isTold: false, isCheap: true };
  const w = await world(3, lie);
  w.target = { kind: "period", limitBits: REGTEST_BITS, spanSec: 1_209_600, measuredFrom: 0 };
  const db = openInlineDatabase(":memory:", [CHAIN_SCHEMA]);
  const before = await open(w, db);
  await whileTimePasses(w, before.watchScript(SCRIPT, 0));
  const txid = w.pay(SCRIPT, PAID);
  w.mine();
  await whileTimePasses(w, before.refresh());
  await before.close();
  lie.isTold = true;
  const chain = await open(w, db);
  const tips = new Set<string | undefined>();
  chain.onChange(() => tips.add(chain.status().tip?.hash));
  await looks(w, chain);
  tips.add(chain.status().tip?.hash);
  expect([...tips]).toEqual([w.blocks().at(-1)?.hash]);
  expect(chain.status().tip?.height).toBe(121);
  expect(chain.outputs(SCRIPT)).toMatchObject([{ txid, block: { height: 121 } }]);
});
