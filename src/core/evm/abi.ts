import { concatBytes, fromHex, toHex } from "../util/bytes.ts";
import { err, ok, type Result } from "../util/result.ts";
import { ADDRESS_BYTES, addressBytes, addressFromBytes, type EvmAddress } from "./address.ts";

/** The types whose values stand in one word of 32 bytes (contract ABI specification): all that swaps and tokens need. */
type AbiValues = {
  readonly uint256: bigint;
  readonly uint64: bigint;
  readonly uint8: bigint;
  readonly bool: boolean;
  readonly address: EvmAddress;
  readonly bytes32: Uint8Array;
  readonly bytes20: Uint8Array;
};
export type AbiType = keyof AbiValues;
export type AbiTuple<T extends readonly AbiType[]> = { readonly [K in keyof T]: T[K] extends AbiType ? AbiValues[T[K]] : never };

export type AbiFault = { readonly kind: "BadAbi"; readonly detail: string };

export const WORD_BYTES = 32;
export const SELECTOR_BYTES = 4;

const UINT_BITS = { uint256: 256n, uint64: 64n, uint8: 8n } as const;

function uintWord(value: bigint, type: keyof typeof UINT_BITS): Uint8Array {
  if (value < 0n || value >> UINT_BITS[type] !== 0n) throw new RangeError(`${value} is no ${type}`);
  return fromHex(value.toString(16).padStart(2 * WORD_BYTES, "0"));
}

function bytesWord(value: Uint8Array, length: number): Uint8Array {
  if (value.length !== length) throw new RangeError(`${value.length} bytes for bytes${length}`);
  return concatBytes(value, new Uint8Array(WORD_BYTES - length));
}

function wordOf(type: AbiType, value: AbiValues[AbiType]): Uint8Array {
  if (typeof value === "bigint" && (type === "uint256" || type === "uint64" || type === "uint8")) return uintWord(value, type);
  if (typeof value === "boolean") return uintWord(value ? 1n : 0n, "uint8");
  if (typeof value === "string") return concatBytes(new Uint8Array(WORD_BYTES - ADDRESS_BYTES), addressBytes(value));
  if (value instanceof Uint8Array) return bytesWord(value, type === "bytes20" ? 20 : 32);
  throw new RangeError(`a ${typeof value} for ${type}`);
}

/** Arguments or results as words. Throws on a value that does not fit its type: our own code made it. */
export function encodeWords<const T extends readonly AbiType[]>(types: T, values: AbiTuple<T>): Uint8Array {
  const list: readonly AbiValues[AbiType][] = values;
  return concatBytes(
    ...types.map((type, i) => {
      const value = list[i];
      if (value === undefined) throw new RangeError(`no value for ${type}`);
      return wordOf(type, value);
    }),
  );
}

/** Calldata: the selector, 8 hex digits, and the arguments. */
export function encodeCall<const T extends readonly AbiType[]>(selector: string, types: T, values: AbiTuple<T>): Uint8Array {
  return concatBytes(fromHex(selector), encodeWords(types, values));
}

const isZero = (bytes: Uint8Array): boolean => bytes.every((byte) => byte === 0);

function wordValue(type: AbiType, word: Uint8Array): AbiValues[AbiType] | null {
  if (type === "bytes32") return word;
  if (type === "bytes20") return isZero(word.subarray(20)) ? word.subarray(0, 20) : null;
  if (type === "address") {
    const pad = WORD_BYTES - ADDRESS_BYTES;
    return isZero(word.subarray(0, pad)) ? addressFromBytes(word.subarray(pad)) : null;
  }
  const value = BigInt(`0x${toHex(word)}`);
  if (type === "bool") return value <= 1n ? value === 1n : null;
  return value >> UINT_BITS[type] === 0n ? value : null;
}

/** Reads exactly these words: nothing may follow, and every padding must be zero. */
export function decodeWords<const T extends readonly AbiType[]>(data: Uint8Array, types: T): Result<AbiTuple<T>, AbiFault> {
  if (data.length !== types.length * WORD_BYTES)
    return err({ kind: "BadAbi", detail: `${data.length} bytes instead of ${types.length * WORD_BYTES}` });
  const values: AbiValues[AbiType][] = [];
  for (const [i, type] of types.entries()) {
    const value = wordValue(type, data.subarray(i * WORD_BYTES, (i + 1) * WORD_BYTES));
    if (value === null) return err({ kind: "BadAbi", detail: `word ${i} is no ${type}` });
    values.push(value);
  }
  // One value for each type, of that type: what the tuple says.
  return ok(values as unknown as AbiTuple<T>);
}

/** Arguments of calldata that begins with `selector`. */
export function decodeCall<const T extends readonly AbiType[]>(
  data: Uint8Array,
  selector: string,
  types: T,
): Result<AbiTuple<T>, AbiFault> {
  if (toHex(data.subarray(0, SELECTOR_BYTES)) !== selector) return err({ kind: "BadAbi", detail: "another function" });
  return decodeWords(data.subarray(SELECTOR_BYTES), types);
}
