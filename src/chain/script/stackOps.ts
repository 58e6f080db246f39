import { OP } from "../../core/utxo/opcodes.ts";
import { encodeScriptNum } from "../../core/utxo/scriptNum.ts";
import type { ScriptError } from "./scriptError.ts";

export type Stack = Uint8Array[];

/** Truth of a stack item: any non-zero byte, but negative zero is false. */
export function castToBool(item: Uint8Array): boolean {
  for (let i = 0; i < item.length; i++) {
    if (item[i] !== 0) return !(i === item.length - 1 && item[i] === 0x80);
  }
  return false;
}

const SHORT: ScriptError = "InvalidStackOperation";

/** Item counted from the top, 1 = top. Only called after the depth was checked. */
export function top(stack: Stack, n = 1): Uint8Array {
  const item = stack[stack.length - n];
  if (!item) throw new Error("script stack shorter than checked");
  return item;
}

function take(stack: Stack, n: number): Uint8Array {
  const [item] = stack.splice(stack.length - n, 1);
  if (!item) throw new Error("script stack shorter than checked");
  return item;
}

/** Least depth each opcode needs. */
const NEEDS: ReadonlyMap<number, number> = new Map([
  [OP.TOALTSTACK, 1],
  [OP.OP_2DROP, 2],
  [OP.OP_2DUP, 2],
  [OP.OP_3DUP, 3],
  [OP.OP_2OVER, 4],
  [OP.OP_2ROT, 6],
  [OP.OP_2SWAP, 4],
  [OP.IFDUP, 1],
  [OP.DROP, 1],
  [OP.DUP, 1],
  [OP.NIP, 2],
  [OP.OVER, 2],
  [OP.ROT, 3],
  [OP.SWAP, 2],
  [OP.TUCK, 2],
  [OP.SIZE, 1],
]);

/** Opcodes that move items about. `undefined`: not one of them. PICK and ROLL read a number and live with the numbers. */
export function runStackOp(opcode: number, stack: Stack, altStack: Stack): ScriptError | null | undefined {
  if (stack.length < (NEEDS.get(opcode) ?? 0)) return SHORT;
  switch (opcode) {
    case OP.TOALTSTACK:
      altStack.push(take(stack, 1));
      return null;
    case OP.FROMALTSTACK:
      if (altStack.length < 1) return "InvalidAltStackOperation";
      stack.push(take(altStack, 1));
      return null;
    case OP.OP_2DROP:
      stack.splice(-2);
      return null;
    case OP.OP_2DUP:
      stack.push(...stack.slice(-2));
      return null;
    case OP.OP_3DUP:
      stack.push(...stack.slice(-3));
      return null;
    case OP.OP_2OVER:
      stack.push(...stack.slice(-4, -2));
      return null;
    case OP.OP_2ROT:
      stack.push(...stack.splice(-6, 2));
      return null;
    case OP.OP_2SWAP:
      stack.push(...stack.splice(-4, 2));
      return null;
    case OP.IFDUP:
      if (castToBool(top(stack))) stack.push(top(stack));
      return null;
    case OP.DEPTH:
      stack.push(encodeScriptNum(BigInt(stack.length)));
      return null;
    case OP.DROP:
      stack.pop();
      return null;
    case OP.DUP:
      stack.push(top(stack));
      return null;
    case OP.NIP:
      take(stack, 2);
      return null;
    case OP.OVER:
      stack.push(top(stack, 2));
      return null;
    case OP.ROT:
      stack.push(take(stack, 3));
      return null;
    case OP.SWAP:
      stack.push(take(stack, 2));
      return null;
    case OP.TUCK:
      stack.splice(-2, 0, top(stack));
      return null;
    case OP.SIZE:
      stack.push(encodeScriptNum(BigInt(top(stack).length)));
      return null;
    default:
      return undefined;
  }
}
