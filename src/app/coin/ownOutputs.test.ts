import { expect, test } from "vitest";
import { chainTxs } from "../../../test/vectors/utxo/utxoVectors.ts";
import { fromHex } from "../../core/util/bytes.ts";
import { parseTx, type TxFormat } from "../../core/utxo/txCodec.ts";
import type { SeenOutput, UtxoChain } from "../../ports/chain.ts";
import { unspentsOf } from "./coinPool.ts";
import { OwnOutputs } from "./ownOutputs.ts";

const LITECOIN: TxFormat = { kind: "bitcoin", mweb: true };
const BLOCK = { height: 441, hash: "44".repeat(32) };

/** What is spendable and what is not yet of the one output of a transaction, `confs` blocks deep. */
function fundsAt(confs: number, { txid, hex }: { readonly txid: string; readonly hex: string }, coinbase: boolean): readonly bigint[] {
  const raw = fromHex(hex);
  const tx = parseTx(raw, LITECOIN);
  const paid = tx.ok ? tx.value.outputs.at(-1) : undefined;
  if (!tx.ok || paid === undefined) throw new Error("bad transaction");
  const output: SeenOutput = { txid, vout: tx.value.outputs.length - 1, ...paid, coinbase, block: BLOCK, spentBy: null };
  const chain = { outputs: () => [output], tx: () => ({ txid, raw, block: BLOCK }), confirmations: () => confs } as unknown as UtxoChain;
  const common = { chain, format: LITECOIN, scheme: { kind: "legacy" }, matureConfs: 100, paysInterest: false, beside: () => [] } as const;
  const own = new OwnOutputs({ ...common, publicKey: new Uint8Array(33), scripts: [paid.script] });
  return [unspentsOf(own.pool()).reduce((sum, { value }) => sum + value, 0n), own.unspendable()];
}

test("what came out of Litecoin's extension block can be spent after six confirmations, a block's reward after a hundred", () => {
  const { litecoinPegOut, litecoinWitness } = chainTxs;
  const PAID = 500_000_000n;
  expect([1, 5, 6].map((confs) => fundsAt(confs, litecoinPegOut, true))).toEqual([
    [0n, PAID],
    [0n, PAID],
    [PAID, 0n],
  ]);
  expect([6, 99, 100].map((confs) => fundsAt(confs, litecoinWitness, true)[0] === 0n)).toEqual([true, true, false]);
});
