import { secp256k1 } from "@noble/curves/secp256k1.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { toHex } from "../util/bytes.ts";
import { err, ok, type Result } from "../util/result.ts";
import { ADDRESS_BYTES, addressFromBytes, type EvmAddress } from "./address.ts";
import { parseRlp, type RlpItem } from "./rlp.ts";
import { recoverAddress } from "./signTx.ts";
import type { AccessList, EvmSignature, EvmTx, SignedEvmTx } from "./tx.ts";
import { signingBytes, TYPE_BYTES, V_EIP155, V_OLD } from "./txFields.ts";

/** What nodes of the network pass on at most: 4 x 32 KB. */
export const MAX_EVM_TX_BYTES = 131_072;
/** EIP-2294: `v` of a legacy transaction must fit into 64 bits. */
export const MAX_CHAIN_ID = 2n ** 63n - 1n - 36n;
const MAX_UINT64 = 2n ** 64n - 1n;
const MAX_UINT256 = 2n ** 256n - 1n;
const KEY_BYTES = 32;
const FIRST_LIST = 0xc0;

/** Why bytes are no transaction that could be in a block. `Unsupported`: of a type this node does not read. */
export type EvmTxFault =
  | { readonly kind: "NotATransaction"; readonly detail: string }
  | { readonly kind: "Unsupported"; readonly type: number };

/** Takes the fields of a list one after another. The first bad one sets `problem`; the others are then zero or empty. */
class Fields {
  problem: string | null = null;
  readonly #items: readonly RlpItem[];
  #next = 0;

  constructor(items: readonly RlpItem[]) {
    this.#items = items;
  }

  fail(detail: string): void {
    this.problem ??= detail;
  }

  bytes(name: string): Uint8Array {
    const item = this.#items[this.#next++];
    if (item instanceof Uint8Array) return item;
    this.fail(`${name} is not a text of bytes`);
    return new Uint8Array(0);
  }

  /** Numbers have no leading zeros. */
  uint(name: string, max: bigint): bigint {
    const bytes = this.bytes(name);
    if (bytes.length > KEY_BYTES || bytes[0] === 0) this.fail(`${name} is not a number`);
    const value = bytes.length === 0 || this.problem !== null ? 0n : BigInt(`0x${toHex(bytes)}`);
    if (value > max) this.fail(`${name} is too large`);
    return value;
  }

  target(): EvmAddress | null {
    const bytes = this.bytes("to");
    if (bytes.length === ADDRESS_BYTES) return addressFromBytes(bytes);
    if (bytes.length !== 0) this.fail("to is not an address");
    return null;
  }

  accessList(): AccessList {
    const list = this.#items[this.#next++];
    if (list === undefined || list instanceof Uint8Array) {
      this.fail("no access list");
      return [];
    }
    return list.map((entry) => {
      const [address, keys] = entry instanceof Uint8Array ? [] : entry;
      const whole =
        !(entry instanceof Uint8Array) && entry.length === 2 && address instanceof Uint8Array && address.length === ADDRESS_BYTES;
      if (!whole || keys === undefined || keys instanceof Uint8Array) {
        this.fail("a bad access list");
        return { address: addressFromBytes(new Uint8Array(ADDRESS_BYTES)), storageKeys: [] };
      }
      return { address: addressFromBytes(address), storageKeys: keys.map((key) => this.#storageKey(key)) };
    });
  }

  #storageKey(key: RlpItem): Uint8Array {
    if (key instanceof Uint8Array && key.length === KEY_BYTES) return key;
    this.fail("a bad storage key");
    return new Uint8Array(KEY_BYTES);
  }
}

type Parts = { readonly tx: EvmTx; readonly yParity: bigint };

function readCommon(f: Fields): Pick<EvmTx, "gasLimit" | "to" | "value" | "data"> {
  const gasLimit = f.uint("gas limit", MAX_UINT64);
  return { gasLimit, to: f.target(), value: f.uint("value", MAX_UINT256), data: f.bytes("data") };
}

/** EIP-2681: the greatest nonce an account can use. */
const readNonce = (f: Fields): bigint => f.uint("nonce", MAX_UINT64 - 1n);

function readLegacy(f: Fields): Parts {
  const nonce = readNonce(f);
  const gasPrice = f.uint("gas price", MAX_UINT256);
  const common = readCommon(f);
  const v = f.uint("v", MAX_UINT64);
  if (v >= V_EIP155 + 2n) {
    const chainId = (v - V_EIP155) / 2n;
    return { tx: { type: "legacy", chainId, nonce, gasPrice, ...common }, yParity: (v - V_EIP155) % 2n };
  }
  if (v !== V_OLD && v !== V_OLD + 1n) f.fail("v is out of range");
  return { tx: { type: "legacy", chainId: null, nonce, gasPrice, ...common }, yParity: v - V_OLD };
}

function readTyped(f: Fields, type: "eip2930" | "eip1559"): Parts {
  const chainId = f.uint("chain id", MAX_CHAIN_ID);
  const nonce = readNonce(f);
  const first = f.uint("price", MAX_UINT256);
  const maxFeePerGas = type === "eip1559" ? f.uint("fee cap", MAX_UINT256) : 0n;
  const rest = { ...readCommon(f), accessList: f.accessList() };
  const yParity = f.uint("y parity", 1n);
  if (type === "eip2930") return { tx: { type, chainId, nonce, gasPrice: first, ...rest }, yParity };
  if (first > maxFeePerGas) f.fail("the priority fee is above the fee cap");
  return { tx: { type, chainId, nonce, maxPriorityFeePerGas: first, maxFeePerGas, ...rest }, yParity };
}

const HALF_ORDER = secp256k1.Point.Fn.ORDER / 2n;

/** EIP-2: `s` in the lower half, or another signature of the same transaction would give it another id. */
function readSignature(f: Fields, yParity: bigint): EvmSignature {
  const r = f.uint("r", MAX_UINT256);
  const s = f.uint("s", MAX_UINT256);
  if (f.problem === null && (r === 0n || r >= secp256k1.Point.Fn.ORDER || s === 0n || s > HALF_ORDER)) f.fail("a bad signature");
  return { r, s, yParity: yParity === 1n ? 1 : 0 };
}

const FIELD_COUNTS = { legacy: 9, eip2930: 11, eip1559: 12 } as const;

function typeOf(first: number | undefined): EvmTx["type"] | null {
  if (first === undefined || first >= FIRST_LIST) return "legacy";
  return first === TYPE_BYTES.eip2930 ? "eip2930" : first === TYPE_BYTES.eip1559 ? "eip1559" : null;
}

/** Id of signed bytes: Keccak-256, lower-case hex. */
export const evmTxid = (raw: Uint8Array): string => toHex(keccak_256(raw));

/**
 * Reads a signed transaction of type 0 (with or without chain id), 1 or 2 and recovers its sender. Only the one canonical
 * form passes, so `serializeEvmTx` of what is read gives the same bytes.
 */
export function parseEvmTx(raw: Uint8Array): Result<SignedEvmTx, EvmTxFault> {
  const bad = (detail: string): Result<never, EvmTxFault> => err({ kind: "NotATransaction", detail });
  if (raw.length > MAX_EVM_TX_BYTES) return bad(`more than ${MAX_EVM_TX_BYTES} bytes`);
  const type = typeOf(raw[0]);
  if (type === null) return err({ kind: "Unsupported", type: raw[0] ?? 0 });
  const list = parseRlp(type === "legacy" ? raw : raw.subarray(1));
  if (!list.ok) return bad(list.error.detail);
  if (list.value instanceof Uint8Array || list.value.length !== FIELD_COUNTS[type]) return bad("another number of fields");
  const f = new Fields(list.value);
  const { tx, yParity } = type === "legacy" ? readLegacy(f) : readTyped(f, type);
  const signature = readSignature(f, yParity);
  if (f.problem !== null) return bad(f.problem);
  const from = recoverAddress(keccak_256(signingBytes(tx)), signature);
  if (from === null) return bad("a signature nobody can have made");
  return ok({ tx, signature, from, txid: evmTxid(raw), raw });
}
