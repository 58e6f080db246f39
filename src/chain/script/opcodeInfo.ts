import { OP } from "../../core/utxo/opcodes.ts";

/** Opcodes that fail a script wherever they stand, executed or not (Bitcoin 0.3.10, CVE-2010-5137). */
export const DISABLED_OPCODES: ReadonlySet<number> = new Set([
  OP.CAT,
  OP.SUBSTR,
  OP.LEFT,
  OP.RIGHT,
  OP.INVERT,
  OP.AND,
  OP.OR,
  OP.XOR,
  OP.OP_2MUL,
  OP.OP_2DIV,
  OP.MUL,
  OP.DIV,
  OP.MOD,
  OP.LSHIFT,
  OP.RSHIFT,
]);

const NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(OP).map(([name, value]) => [value, name.startsWith("OP_") ? name : `OP_${name}`]),
);

/** Name as a daemon's `asm` prints it: small numbers as numbers, unknown codes as OP_UNKNOWN. */
export function opcodeName(op: number): string {
  if (op === OP.OP_0) return "0";
  if (op === OP.OP_1NEGATE) return "-1";
  if (op >= OP.OP_1 && op <= OP.OP_16) return String(op - OP.OP_1 + 1);
  if (op >= OP.NOP4 && op <= OP.NOP10) return `OP_NOP${op - OP.NOP1 + 1}`;
  return NAMES.get(op) ?? "OP_UNKNOWN";
}
