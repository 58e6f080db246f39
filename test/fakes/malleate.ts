import { secp256k1 } from "@noble/curves/secp256k1.js";
import { type ChainTx, txToChainTx } from "../../src/chain/chainTx.ts";
import { concatBytes } from "../../src/core/util/bytes.ts";
import { pushBytes, pushesOf } from "../../src/core/utxo/script.ts";
import type { Tx } from "../../src/core/utxo/tx.ts";

/** The same transaction with every signature's S turned over: as valid for blocks, under another id, and anybody can do it. P2PKH only. */
export function malleate(tx: Tx): ChainTx {
  const inputs = tx.inputs.map((i) => {
    const [signature, key] = pushesOf(i.scriptSig) ?? [];
    if (!signature || !key) throw new Error("not P2PKH");
    const { r, s } = secp256k1.Signature.fromBytes(signature.subarray(0, -1), "der");
    const high = new secp256k1.Signature(r, secp256k1.Point.Fn.ORDER - s).toBytes("der");
    return { ...i, scriptSig: concatBytes(pushBytes(concatBytes(high, signature.subarray(-1))), pushBytes(key)) };
  });
  return txToChainTx({ ...tx, inputs });
}
