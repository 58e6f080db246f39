import { toHex } from "../../src/core/util/bytes.ts";
import type { Tx } from "../../src/core/utxo/tx.ts";
import { txid } from "../../src/core/utxo/txCodec.ts";
import type { UtxoChain } from "../../src/ports/chain.ts";
import type { ChainHarness } from "./chainHarness.ts";

/** What the reads must answer for a script, worked out from the chain itself in the plainest way. */
export function truthOf(h: Pick<ChainHarness, "blocks" | "mempool">, script: Uint8Array): string[] {
  const placed: { readonly tx: Tx; readonly height: number | null }[] = [
    ...h.blocks().flatMap((b) => b.txs.map((tx) => ({ tx, height: b.height }))),
    ...h.mempool().map((tx) => ({ tx, height: null })),
  ];
  return placed
    .flatMap(({ tx, height }) =>
      tx.outputs.flatMap((o, vout) => {
        if (toHex(o.script) !== toHex(script)) return [];
        const id = txid(tx);
        const spender = placed.find((p) => p.tx.inputs.some((i) => i.txid === id && i.vout === vout));
        const spent = spender ? `${txid(spender.tx)}@${spender.height}` : "unspent";
        return [`${id}:${vout} ${o.value} @${height} ${spent}`];
      }),
    )
    .sort();
}

/** What the reads do answer, in the same form. */
export const seenBy = (chain: UtxoChain, script: Uint8Array): string[] =>
  chain
    .outputs(script)
    .map((o) => {
      const spent = o.spentBy ? `${o.spentBy.txid}@${o.spentBy.block?.height ?? null}` : "unspent";
      return `${o.txid}:${o.vout} ${o.value} @${o.block?.height ?? null} ${spent}`;
    })
    .sort();
