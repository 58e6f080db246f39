import { afterEach, expect, test } from "vitest";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { txToChainTx } from "../../src/chain/chainTx.ts";
import { serializeTx } from "../../src/core/utxo/txCodec.ts";
import { type ElectrumWorld, startElectrumChain } from "../contract/electrumChain.ts";
import { SEGWIT_COIN } from "../contract/embeddedChain.ts";
import { whileTimePasses } from "./whileTimePasses.ts";

// Whoever pays a script can choose ids so that a node of the block's tree looks like a transaction, or mine one of 64 bytes: honest
// servers then give a branch that alone proves nothing. One payment of dust must not stop the coin.

const cleanup: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanup.splice(0).reverse()) await undo();
});

/** OP_TRUE: anybody spends it with an empty script. */
const OPEN = Uint8Array.of(0x51);
const WATCHED = Uint8Array.of(0x51, 0x51, 0x51, 0x51);

/** Mines a transaction of 64 bytes that pays the watched script, with others around it. */
function mineSmall(w: ElectrumWorld): string {
  const mine = (txs: Parameters<typeof w.chain.mineExactly>[1]): void =>
    expect(w.chain.mineExactly(w.chain.faucetScript, txs).ok).toBe(true);
  const open = w.chain.faucetTx(OPEN, 50_000n);
  if (!open.ok) expect.fail("not paid");
  mine([open.value]);
  const vout = open.value.tx.outputs.findIndex(({ script }) => script.length === 1);
  const input = { txid: open.value.txid, vout, scriptSig: new Uint8Array(0), sequence: 0xffffffff, witness: [] };
  const small = txToChainTx({ version: 1, inputs: [input], outputs: [{ value: 40_000n, script: WATCHED }], lockTime: 0 });
  expect(serializeTx(small.tx)).toHaveLength(64);
  const other = w.chain.faucetTx(OPEN, 1_000n);
  if (!other.ok) expect.fail("not paid");
  mine([other.value, small]);
  return small.txid;
}

async function begin(spoil?: (line: string) => string) {
  const w = await startElectrumChain(SEGWIT_COIN, 3, spoil);
  cleanup.push(() => w.close());
  const chain = await w.openElectrum(openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST"), { timeoutMs: 2_000 });
  cleanup.push(() => chain.close());
  return { w, chain };
}

test("it is proven by the depth of its block's first transaction, and nobody is dropped", async () => {
  const { w, chain } = await begin();
  const id = mineSmall(w);
  await whileTimePasses(w, chain.watchScript(WATCHED, 0));
  expect(chain.status()).toMatchObject({ state: "ready", error: null });
  expect(chain.tx(id)?.block).toMatchObject({ height: w.chain.state.tip.height });
  expect(chain.servers().map(({ contradictions }) => contradictions)).toEqual([0, 0, 0]);
});

test("where no server knows transactions by their place it shows in no block, and the coin goes on", async () => {
  const { w, chain } = await begin((line) =>
    line.includes('"merkle":[') && line.includes('"tx_hash"')
      ? line.replace(/"result":\{[^}]*\}/, '"error":{"code":-32601,"message":"unknown method"}')
      : line,
  );
  const id = mineSmall(w);
  await whileTimePasses(w, chain.watchScript(WATCHED, 0));
  expect(chain.status()).toMatchObject({ state: "ready", error: null });
  expect(chain.tx(id)).toMatchObject({ block: null });
  w.mine();
  await whileTimePasses(w, chain.refresh());
  expect(chain.status()).toMatchObject({ state: "ready", error: null });
});
