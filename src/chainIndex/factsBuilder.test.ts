import { expect, test } from "vitest";
import { toHex } from "../core/util/bytes.ts";
import type { Tx } from "../core/utxo/tx.ts";
import { parseTx, serializeTx, txid } from "../core/utxo/txCodec.ts";
import { ChainIndex } from "./chainIndex.ts";
import { FactsBuilder } from "./factsBuilder.ts";

const SCRIPT = Uint8Array.of(0x51);
const BLOCK = { height: 5, hash: "bb".repeat(32) };
const TX: Tx = {
  version: 1,
  inputs: [{ txid: "22".repeat(32), vout: 0, scriptSig: new Uint8Array(0), sequence: 0xffffffff, witness: [] }],
  outputs: [{ value: 7n, script: SCRIPT }],
  lockTime: 0,
};
const RAW = { txid: txid(TX), tx: TX, raw: serializeTx(TX) };

function anIndex(): ChainIndex {
  const watch = { kind: "script", key: toHex(SCRIPT), fromHeight: 0, nextHeight: null } as const;
  return new ChainIndex({ genesis: null, isTold: false, headers: [], watches: [watch], txs: [], outputs: [], spends: [] });
}
function take(index: ChainIndex, block: typeof BLOCK | null): void {
  const builder = new FactsBuilder(index, 1);
  builder.add([RAW], block);
  index.apply(builder.facts());
}

test("a transaction that stands in a block stays there, though a mempool or a broadcast names it once more", () => {
  const index = anIndex();
  take(index, null);
  expect(index.tx(RAW.txid)?.block).toBeNull();
  take(index, BLOCK);
  take(index, null);
  expect(index.tx(RAW.txid)?.block).toEqual(BLOCK);
  expect(index.outputsOf(toHex(SCRIPT)).map((o) => o.block)).toEqual([BLOCK]);
});

test("the block of a reorganisation replaces the one before", () => {
  const index = anIndex();
  take(index, BLOCK);
  take(index, { height: 6, hash: "cc".repeat(32) });
  expect(index.tx(RAW.txid)?.block?.height).toBe(6);
});

test("what comes out of Litecoin's extension block matures and goes with its block, as a reward does", () => {
  const index = anIndex();
  const tx: Tx = { ...TX, hogEx: true };
  const builder = new FactsBuilder(index, 1);
  builder.add([{ txid: txid(tx), tx, raw: serializeTx(tx) }], BLOCK);
  index.apply(builder.facts());
  expect(index.outputsOf(toHex(SCRIPT)).map((o) => o.coinbase)).toEqual([true]);
  expect(index.coinbasesAbove(BLOCK.height - 1)).toEqual([txid(tx)]);
});

test.each([
  [7, true],
  [1, false],
])("what a typed transaction of type %i pays counts as a new coin where nobody may spend it yet: %s", (type, isLocked) => {
  const index = anIndex();
  const sent = serializeTx({ ...TX, version: 3 + type * 0x10000, extraPayload: Uint8Array.of(1, 0) });
  const parsed = parseTx(sent, { kind: "bitcoin", specialTx: true });
  const tx = parsed.ok ? parsed.value : expect.fail("no transaction");
  const builder = new FactsBuilder(index, 1);
  builder.add([{ txid: txid(tx), tx, raw: sent }], BLOCK);
  index.apply(builder.facts());
  expect(index.outputsOf(toHex(SCRIPT)).map((o) => o.coinbase)).toEqual([isLocked]);
});

test("outputs of one script share its bytes", () => {
  const index = anIndex();
  const tx: Tx = { ...TX, outputs: [...TX.outputs, { value: 8n, script: SCRIPT.slice() }] };
  const builder = new FactsBuilder(index, 1);
  builder.add([{ txid: txid(tx), tx, raw: serializeTx(tx) }], null);
  index.apply(builder.facts());
  const [one, other] = index.outputsOf(toHex(SCRIPT));
  expect([one?.value, other?.value]).toEqual([7n, 8n]);
  expect(other?.script).toBe(one?.script);
});
