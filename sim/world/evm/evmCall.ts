import { keccak_256 } from "@noble/hashes/sha3.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { type AbiTuple, type AbiType, decodeWords, encodeWords, SELECTOR_BYTES, WORD_BYTES } from "../../../src/core/evm/abi.ts";
import type { EvmAddress } from "../../../src/core/evm/address.ts";
import { concatBytes, toHex } from "../../../src/core/util/bytes.ts";
import type { EvmState } from "./evmState.ts";

/** Topics are hex without `0x`. */
export type EvmLog = { readonly address: EvmAddress; readonly topics: readonly string[]; readonly data: Uint8Array };

/** One call of a contract, and what it may change. */
export type Frame = {
  readonly state: EvmState;
  /** Those of the whole transaction. */
  readonly logs: EvmLog[];
  /** Timestamp of the block. */
  readonly timeSec: bigint;
  readonly from: EvmAddress;
  readonly to: EvmAddress;
  /** Wei that came along; they are with `to` already. */
  readonly value: bigint;
  readonly data: Uint8Array;
};

/** A contract carried out in TypeScript. `gas`: of the call without what its bytes cost. Throws `Revert`. */
export type NativeContract = { run(frame: Frame): { readonly output: Uint8Array; readonly gas: bigint } };

/** A call fails: everything it did is taken back. Thrown as the machine would, through however many calls. */
export class Revert extends Error {
  override readonly name = "Revert";
  readonly data: Uint8Array;
  constructor(data: Uint8Array = new Uint8Array(0)) {
    super(`reverted with ${toHex(data)}`);
    this.data = data;
  }
}

const hashOf = (text: string): string => toHex(keccak_256(utf8ToBytes(text)));
const selectorOf = (signature: string): string => hashOf(signature).slice(0, 2 * SELECTOR_BYTES);
export const topicOf = hashOf;

/** The selectors of functions, by their signatures. */
export function selectors<const S extends string>(signatures: readonly S[]): ReadonlyMap<string, S> {
  return new Map(signatures.map((signature) => [selectorOf(signature), signature]));
}

/** A custom error without arguments. */
export function customError(name: string): Revert {
  return new Revert(keccak_256(utf8ToBytes(`${name}()`)).subarray(0, SELECTOR_BYTES));
}

/** What checked arithmetic says (`Panic(0x11)`). */
export function overflow(): Revert {
  return new Revert(concatBytes(keccak_256(utf8ToBytes("Panic(uint256)")).subarray(0, SELECTOR_BYTES), encodeWords(["uint256"], [0x11n])));
}

export const selectorIn = (data: Uint8Array): string => toHex(data.subarray(0, SELECTOR_BYTES));

/** Arguments as a contract reads them: what follows them does not matter, too few or a dirty padding is refused. */
export function argumentsOf<const T extends readonly AbiType[]>(data: Uint8Array, types: T): AbiTuple<T> {
  const words = decodeWords(data.subarray(SELECTOR_BYTES, SELECTOR_BYTES + types.length * WORD_BYTES), types);
  if (!words.ok) throw new Revert();
  return words.value;
}
