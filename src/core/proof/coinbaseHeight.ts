import { OP } from "../utxo/opcodes.ts";
import { readOp } from "../utxo/script.ts";
import type { Tx } from "../utxo/tx.ts";

/** Bytes a height takes in a script at most: 4 hold all until block 2^31. */
const MAX_BYTES = 4;

/** At which height the first transaction of a block says that it stands (BIP-34); null: it does not say. */
export function coinbaseHeight({ inputs }: Tx): number | null {
  const step = inputs[0] && readOp(inputs[0].scriptSig, 0);
  if (!step) return null;
  const { op, data } = step;
  if (data === undefined) return op >= OP.OP_1 && op <= OP.OP_16 ? op - OP.OP_1 + 1 : null;
  if (data.length === 0 || data.length > MAX_BYTES || (data.at(-1) ?? 0) > 0x7f) return null;
  return data.reduceRight((height, byte) => height * 256 + byte, 0);
}
