import { OP } from "../../core/utxo/opcodes.ts";
import { decodeScriptNum, encodeScriptNum } from "../../core/utxo/scriptNum.ts";
import type { ScriptError } from "./scriptError.ts";
import { type Stack, top } from "./stackOps.ts";

/** Longest operand of arithmetic, bytes. */
const MAX_NUM_BYTES = 4;

const readNum = (item: Uint8Array, minimal: boolean): bigint | null => decodeScriptNum(item, MAX_NUM_BYTES, minimal);

const bool = (b: boolean): bigint => (b ? 1n : 0n);

const UNARY: ReadonlyMap<number, (a: bigint) => bigint> = new Map([
  [OP.OP_1ADD, (a: bigint) => a + 1n],
  [OP.OP_1SUB, (a: bigint) => a - 1n],
  [OP.NEGATE, (a: bigint) => -a],
  [OP.ABS, (a: bigint) => (a < 0n ? -a : a)],
  [OP.NOT, (a: bigint) => bool(a === 0n)],
  [OP.OP_0NOTEQUAL, (a: bigint) => bool(a !== 0n)],
]);

const BINARY: ReadonlyMap<number, (a: bigint, b: bigint) => bigint> = new Map([
  [OP.ADD, (a: bigint, b: bigint) => a + b],
  [OP.SUB, (a: bigint, b: bigint) => a - b],
  [OP.BOOLAND, (a: bigint, b: bigint) => bool(a !== 0n && b !== 0n)],
  [OP.BOOLOR, (a: bigint, b: bigint) => bool(a !== 0n || b !== 0n)],
  [OP.NUMEQUAL, (a: bigint, b: bigint) => bool(a === b)],
  [OP.NUMEQUALVERIFY, (a: bigint, b: bigint) => bool(a === b)],
  [OP.NUMNOTEQUAL, (a: bigint, b: bigint) => bool(a !== b)],
  [OP.LESSTHAN, (a: bigint, b: bigint) => bool(a < b)],
  [OP.GREATERTHAN, (a: bigint, b: bigint) => bool(a > b)],
  [OP.LESSTHANOREQUAL, (a: bigint, b: bigint) => bool(a <= b)],
  [OP.GREATERTHANOREQUAL, (a: bigint, b: bigint) => bool(a >= b)],
  [OP.MIN, (a: bigint, b: bigint) => (a < b ? a : b)],
  [OP.MAX, (a: bigint, b: bigint) => (a > b ? a : b)],
]);

function runPickOrRoll(opcode: number, stack: Stack, minimal: boolean): ScriptError | null {
  if (stack.length < 2) return "InvalidStackOperation";
  const wanted = readNum(top(stack), minimal);
  if (wanted === null) return "ScriptNum";
  stack.pop();
  if (wanted < 0n || wanted >= BigInt(stack.length)) return "InvalidStackOperation";
  const n = Number(wanted);
  const item = top(stack, n + 1);
  if (opcode === OP.ROLL) stack.splice(stack.length - n - 1, 1);
  stack.push(item);
  return null;
}

function runWithin(stack: Stack, minimal: boolean): ScriptError | null {
  if (stack.length < 3) return "InvalidStackOperation";
  const [x, min, max] = [top(stack, 3), top(stack, 2), top(stack, 1)].map((item) => readNum(item, minimal));
  if (x == null || min == null || max == null) return "ScriptNum";
  stack.splice(-3);
  stack.push(encodeScriptNum(bool(min <= x && x < max)));
  return null;
}

/** Opcodes that read numbers. `undefined`: not one of them. */
export function runNumericOp(opcode: number, stack: Stack, minimal: boolean): ScriptError | null | undefined {
  if (opcode === OP.PICK || opcode === OP.ROLL) return runPickOrRoll(opcode, stack, minimal);
  if (opcode === OP.WITHIN) return runWithin(stack, minimal);
  const unary = UNARY.get(opcode);
  if (unary) {
    if (stack.length < 1) return "InvalidStackOperation";
    const a = readNum(top(stack), minimal);
    if (a === null) return "ScriptNum";
    stack.pop();
    stack.push(encodeScriptNum(unary(a)));
    return null;
  }
  const binary = BINARY.get(opcode);
  if (!binary) return undefined;
  if (stack.length < 2) return "InvalidStackOperation";
  const a = readNum(top(stack, 2), minimal);
  const b = readNum(top(stack, 1), minimal);
  if (a === null || b === null) return "ScriptNum";
  stack.splice(-2);
  const result = binary(a, b);
  if (opcode !== OP.NUMEQUALVERIFY) stack.push(encodeScriptNum(result));
  else if (result === 0n) return "NumEqualVerify";
  return null;
}
