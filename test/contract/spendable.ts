import { concatBytes } from "../../src/core/util/bytes.ts";
import { hash160 } from "../../src/core/utxo/hash.ts";
import { p2shScript } from "../../src/core/utxo/outputScript.ts";
import type { Tx } from "../../src/core/utxo/tx.ts";
import type { TxFormat } from "../../src/core/utxo/txCodec.ts";

/** `<n> OP_DROP OP_TRUE`: a script anybody may spend, different for every n. */
const redeemOf = (n: number): Uint8Array => Uint8Array.of(2, n & 0xff, (n >> 8) & 0xff, 0x75, 0x51);

/** P2SH of the n-th of those, 0 ≤ n < 65536. */
export const scriptNumber = (n: number): Uint8Array => p2shScript(hash160(redeemOf(n)));

/** Spends outputs to script `n`: all of `from`, one output of their sum less `fee` to `to`. */
export function spendOf(
  format: TxFormat,
  n: number,
  from: readonly { readonly txid: string; readonly vout: number; readonly value: bigint }[],
  to: Uint8Array,
  fee = 10_000n,
): Tx {
  const redeem = redeemOf(n);
  const scriptSig = concatBytes(Uint8Array.of(redeem.length), redeem);
  const sum = from.reduce((total, o) => total + o.value, 0n);
  const sapling = {
    version: 4,
    sapling: { versionGroupId: 0x892f2085, expiryHeight: 0, valueBalance: 0n, shieldedTail: new Uint8Array(3) },
  };
  return {
    ...(format.kind === "sapling" ? sapling : { version: 1 }),
    inputs: from.map(({ txid, vout }) => ({ txid, vout, scriptSig, sequence: 0xffffffff, witness: [] })),
    outputs: [{ value: sum - fee, script: to }],
    lockTime: 0,
  };
}
