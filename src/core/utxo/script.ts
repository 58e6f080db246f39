import { concatBytes } from "../util/bytes.ts";
import { OP } from "./opcodes.ts";

/** One step of a script: an opcode, and the bytes it pushes if it is a data push (OP_0 pushes none: an empty array). */
export type ScriptOp = {
  readonly op: number;
  readonly data?: Uint8Array;
  /** Offset of the step's first byte and of the byte after it. */
  readonly start: number;
  readonly end: number;
};

/** Steps of a script in order; null when a push runs past the end. Linear in the script's length. */
export function decodeScript(script: Uint8Array): ScriptOp[] | null {
  const ops: ScriptOp[] = [];
  let at = 0;
  while (at < script.length) {
    const step = readOp(script, at);
    if (!step) return null;
    ops.push(step);
    at = step.end;
  }
  return ops;
}

/** The step at `start`; null at the end or when a push runs past it. */
export function readOp(script: Uint8Array, start: number): ScriptOp | null {
  const op = script[start];
  if (op === undefined) return null;
  if (op > OP.PUSHDATA4) return { op, start, end: start + 1 };
  const lengthBytes = op < OP.PUSHDATA1 ? 0 : op === OP.PUSHDATA1 ? 1 : op === OP.PUSHDATA2 ? 2 : 4;
  let length = op < OP.PUSHDATA1 ? op : 0;
  for (let i = 0; i < lengthBytes; i++) {
    const byte = script[start + 1 + i];
    if (byte === undefined) return null;
    length += byte * 2 ** (8 * i);
  }
  const from = start + 1 + lengthBytes;
  const end = from + length;
  return end > script.length ? null : { op, data: script.subarray(from, end), start, end };
}

/** Push of `data` in the fewest bytes that keep it a plain data push (no OP_N forms). */
export function pushBytes(data: Uint8Array): Uint8Array {
  const n = data.length;
  if (n < OP.PUSHDATA1) return concatBytes(Uint8Array.of(n), data);
  if (n <= 0xff) return concatBytes(Uint8Array.of(OP.PUSHDATA1, n), data);
  if (n <= 0xffff) return concatBytes(Uint8Array.of(OP.PUSHDATA2, n & 0xff, n >> 8), data);
  throw new RangeError("pushBytes: more than 65535 bytes");
}

/** Shortest push of `data` as BIP-62 rule 3 asks: OP_0, OP_1NEGATE and OP_1..OP_16 where they say the same. */
export function pushMinimal(data: Uint8Array): Uint8Array {
  const [first] = data;
  if (data.length === 1 && first !== undefined) {
    if (first >= 1 && first <= 16) return Uint8Array.of(OP.OP_1 + first - 1);
    if (first === 0x81) return Uint8Array.of(OP.OP_1NEGATE);
  }
  return pushBytes(data);
}

/** True when a data push uses the shortest form (relay policy; consensus inside witness scripts does not ask it). */
export function isMinimalPush(step: ScriptOp): boolean {
  if (!step.data) return true;
  return pushMinimal(step.data)[0] === step.op;
}

/** `script` without its OP_CODESEPARATORs, as the legacy digest wants it; a broken tail is kept as it is. */
export function removeCodeSeparators(script: Uint8Array): Uint8Array {
  if (!script.includes(OP.CODESEPARATOR)) return script;
  const parts: Uint8Array[] = [];
  let at = 0;
  for (let step = readOp(script, 0); step; step = readOp(script, at)) {
    if (step.op !== OP.CODESEPARATOR) parts.push(script.subarray(step.start, step.end));
    at = step.end;
  }
  return concatBytes(...parts, script.subarray(at));
}

/** Script size above which no interpreter runs it (consensus of the Bitcoin family). */
export const MAX_SCRIPT_BYTES = 10_000;

/** Data of a script that only pushes, as scriptSigs must; OP_N count as their one-byte number. Null otherwise. */
export function pushesOf(script: Uint8Array): Uint8Array[] | null {
  if (script.length > MAX_SCRIPT_BYTES) return null;
  const ops = decodeScript(script);
  if (!ops?.every((o) => o.op <= OP.OP_16)) return null;
  return ops.map((o) => o.data ?? (o.op === OP.OP_1NEGATE ? Uint8Array.of(0x81) : Uint8Array.of(o.op - OP.OP_1 + 1)));
}
