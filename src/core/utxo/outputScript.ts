import { concatBytes } from "../util/bytes.ts";
import { OP } from "./opcodes.ts";
import { decodeScript, pushBytes, type ScriptOp } from "./script.ts";

function wrap(before: readonly number[], data: Uint8Array, after: readonly number[] = []): Uint8Array {
  return concatBytes(Uint8Array.from(before), pushBytes(data), Uint8Array.from(after));
}

function sized(data: Uint8Array, length: number): Uint8Array {
  if (data.length !== length) throw new RangeError(`script: expected ${length} bytes, got ${data.length}`);
  return data;
}

export const p2pkhScript = (hash20: Uint8Array): Uint8Array => wrap([OP.DUP, OP.HASH160], sized(hash20, 20), [OP.EQUALVERIFY, OP.CHECKSIG]);
export const p2shScript = (hash20: Uint8Array): Uint8Array => wrap([OP.HASH160], sized(hash20, 20), [OP.EQUAL]);
export const p2pkScript = (pubkey: Uint8Array): Uint8Array => wrap([], pubkey, [OP.CHECKSIG]);
export const p2wpkhScript = (hash20: Uint8Array): Uint8Array => wrap([OP.OP_0], sized(hash20, 20));
export const p2wshScript = (sha256OfScript: Uint8Array): Uint8Array => wrap([OP.OP_0], sized(sha256OfScript, 32));
export const p2trScript = (outputKey: Uint8Array): Uint8Array => wrap([OP.OP_1], sized(outputKey, 32));
export const opReturnScript = (data: Uint8Array): Uint8Array => wrap([OP.RETURN], data);

/** What an output script pays to. */
export type OutputKind =
  | { readonly kind: "p2pkh"; readonly hash: Uint8Array }
  | { readonly kind: "p2sh"; readonly hash: Uint8Array }
  | { readonly kind: "p2pk"; readonly pubkey: Uint8Array }
  | { readonly kind: "p2wpkh"; readonly hash: Uint8Array }
  | { readonly kind: "p2wsh"; readonly hash: Uint8Array }
  | { readonly kind: "p2tr"; readonly outputKey: Uint8Array }
  | { readonly kind: "witness_unknown"; readonly version: number; readonly program: Uint8Array }
  | { readonly kind: "multisig"; readonly required: number; readonly pubkeys: readonly Uint8Array[] }
  | { readonly kind: "op_return"; readonly data: readonly Uint8Array[] }
  | { readonly kind: "nonstandard" };

/** A witness program (BIP-141): a small number, then one push of 2 to 40 bytes. */
export function witnessProgram(script: Uint8Array): { readonly version: number; readonly program: Uint8Array } | null {
  const [op, length] = script;
  if (op === undefined || length === undefined || script.length !== length + 2 || length < 2 || length > 40) return null;
  if (op !== OP.OP_0 && (op < OP.OP_1 || op > OP.OP_16)) return null;
  return { version: op === OP.OP_0 ? 0 : op - OP.OP_1 + 1, program: script.subarray(2) };
}

function hasKeyShape(key: Uint8Array): boolean {
  const [first] = key;
  return (key.length === 33 && (first === 2 || first === 3)) || (key.length === 65 && first === 4);
}

function classifyMultisig(ops: readonly ScriptOp[]): OutputKind | null {
  const first = ops[0]?.op ?? 0;
  const count = ops.at(-2)?.op ?? 0;
  if (ops.at(-1)?.op !== OP.CHECKMULTISIG || first < OP.OP_1 || first > OP.OP_16 || count < first || count > OP.OP_16) return null;
  const pubkeys = ops.slice(1, -2).map((o) => o.data ?? new Uint8Array(0));
  if (pubkeys.length !== count - OP.OP_1 + 1 || !pubkeys.every(hasKeyShape)) return null;
  return { kind: "multisig", required: first - OP.OP_1 + 1, pubkeys };
}

/** Recognises the standard forms of an output script. */
export function classifyOutput(script: Uint8Array): OutputKind {
  const at = (i: number) => script[i];
  if (
    script.length === 25 &&
    at(0) === OP.DUP &&
    at(1) === OP.HASH160 &&
    at(2) === 20 &&
    at(23) === OP.EQUALVERIFY &&
    at(24) === OP.CHECKSIG
  ) {
    return { kind: "p2pkh", hash: script.subarray(3, 23) };
  }
  if (script.length === 23 && at(0) === OP.HASH160 && at(1) === 20 && at(22) === OP.EQUAL) {
    return { kind: "p2sh", hash: script.subarray(2, 22) };
  }
  const witness = witnessProgram(script);
  if (witness) {
    const { version, program } = witness;
    if (version === 0 && program.length === 20) return { kind: "p2wpkh", hash: program };
    if (version === 0 && program.length === 32) return { kind: "p2wsh", hash: program };
    if (version === 1 && program.length === 32) return { kind: "p2tr", outputKey: program };
    return { kind: "witness_unknown", version, program };
  }
  const ops = decodeScript(script);
  if (!ops) return { kind: "nonstandard" };
  const [first, second] = ops;
  if (first?.op === OP.RETURN && ops.slice(1).every((o) => o.op <= OP.OP_16)) {
    return { kind: "op_return", data: ops.slice(1).map((o) => o.data ?? new Uint8Array(0)) };
  }
  if (ops.length === 2 && first?.data && hasKeyShape(first.data) && second?.op === OP.CHECKSIG) {
    return { kind: "p2pk", pubkey: first.data };
  }
  return classifyMultisig(ops) ?? { kind: "nonstandard" };
}
