import { expect, test } from "vitest";
import type { BuiltTx } from "../../core/utxo/buildTx.ts";
import { p2pkhScript, p2shScript } from "../../core/utxo/outputScript.ts";
import { sortUnspents, type Unspent } from "../../core/utxo/sortedUnspents.ts";
import { txid } from "../../core/utxo/txCodec.ts";
import { after, poolOf, unspentsOf } from "./coinPool.ts";
import { OwnClusters } from "./ownClusters.ts";

const OWN = p2pkhScript(new Uint8Array(20));
const unspent = (txid: string, vout: number, value: bigint): Unspent => ({ txid: txid.repeat(64), vout, value, script: OWN });

test("a transaction takes only the output it spends: others of the same transaction, and of the same number, stay, and so does the pool before it", () => {
  const [spent, sibling, other] = [unspent("a", 1, 50n), unspent("a", 0, 20n), unspent("b", 1, 30n)];
  const built: BuiltTx = {
    tx: {
      version: 2,
      inputs: [{ txid: spent.txid, vout: spent.vout, scriptSig: new Uint8Array(0), sequence: 0xffffffff, witness: [] }],
      outputs: [
        { value: 10n, script: p2shScript(new Uint8Array(20)) },
        { value: 25n, script: OWN },
      ],
      lockTime: 0,
    },
    spent: sortUnspents([spent]),
    fee: 15n,
    change: 25n,
  };
  const pool = poolOf(sortUnspents([spent, sibling, other]), new OwnClusters());
  const left = after(pool, built);
  expect(unspentsOf(left).map((u) => u.value)).toEqual([20n, 25n, 30n]);
  // The pool before it is as it was, unless its owner gives it up.
  const id = txid(built.tx);
  expect([unspentsOf(pool).length, pool.clusters.isConfirmed(id), left.clusters.isConfirmed(id)]).toEqual([3, true, false]);
  expect(after(pool, built, pool.clusters).clusters).toBe(pool.clusters);
});
