import { concatBytes } from "../../core/util/bytes.ts";
import { OP } from "../../core/utxo/opcodes.ts";
import { readOp } from "../../core/utxo/script.ts";

/**
 * Takes out every occurrence of `needle` that starts at an instruction (Bitcoin's FindAndDelete, part of the legacy
 * signature hash). `found` counts them.
 */
export function findAndDelete(script: Uint8Array, needle: Uint8Array): { readonly script: Uint8Array; readonly found: number } {
  if (needle.length === 0 || needle.length > script.length) return { script, found: 0 };
  const matchesAt = (at: number): boolean => needle.every((b, i) => script[at + i] === b);
  const kept: Uint8Array[] = [];
  let found = 0;
  let keepFrom = 0;
  let at = 0;
  for (;;) {
    kept.push(script.subarray(keepFrom, at));
    while (script.length - at >= needle.length && matchesAt(at)) {
      at += needle.length;
      found++;
    }
    keepFrom = at;
    const step = readOp(script, at);
    if (!step) break;
    at = step.end;
  }
  if (found === 0) return { script, found };
  kept.push(script.subarray(keepFrom));
  return { script: concatBytes(...kept), found };
}

/** What a CHECKMULTISIG counts as when the number of keys is not known. */
const MULTISIG_SIGOPS = 20;

/**
 * Signature operations counted without running the script. In `accurate` mode a CHECKMULTISIG counts the number
 * pushed just before it.
 */
export function countSigOps(script: Uint8Array, accurate: boolean): number {
  let count = 0;
  let last = -1;
  for (let step = readOp(script, 0); step; step = readOp(script, step.end)) {
    if (step.op === OP.CHECKSIG || step.op === OP.CHECKSIGVERIFY) count++;
    else if (step.op === OP.CHECKMULTISIG || step.op === OP.CHECKMULTISIGVERIFY) {
      count += accurate && last >= OP.OP_1 && last <= OP.OP_16 ? last - OP.OP_1 + 1 : MULTISIG_SIGOPS;
    }
    last = step.op;
  }
  return count;
}

/** Pushes only; OP_RESERVED counts as one, as in Bitcoin. A script cut inside a push is none. */
export function isPushOnly(script: Uint8Array): boolean {
  let at = 0;
  while (at < script.length) {
    const step = readOp(script, at);
    if (!step || step.op > OP.OP_16) return false;
    at = step.end;
  }
  return true;
}
