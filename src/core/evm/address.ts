import { keccak_256 } from "@noble/hashes/sha3.js";
import { uncompressedPubkey } from "../keys/keyPair.ts";
import { parseHex, toHex } from "../util/bytes.ts";
import { err, ok, type Result } from "../util/result.ts";

declare const brand: unique symbol;

/**
 * Address of an account or a contract: 40 lower-case hex digits, no `0x`. The brand says that it went through one of the
 * functions below, so two of them are equal exactly when `===` says so.
 */
export type EvmAddress = string & { readonly [brand]: "EvmAddress" };

export const ADDRESS_BYTES = 20;
/** Stands for the native coin where the swap contract asks for a token, and for "nobody". */
export const ZERO_ADDRESS = "0".repeat(2 * ADDRESS_BYTES) as EvmAddress;

/** Throws on another length than 20: our own code cut the bytes. */
export function addressFromBytes(bytes: Uint8Array): EvmAddress {
  if (bytes.length !== ADDRESS_BYTES) throw new RangeError(`an address of ${bytes.length} bytes`);
  return toHex(bytes) as EvmAddress;
}

/** Address of a compressed key that is a point of the curve: the last 20 bytes of Keccak-256 over x and y. */
export function addressOfPubkey(pubkey: Uint8Array): EvmAddress {
  return addressFromBytes(keccak_256(uncompressedPubkey(pubkey).subarray(1)).subarray(-ADDRESS_BYTES));
}

/** The form for people: `0x` and the mixed case of EIP-55. */
export function checksumAddress(address: EvmAddress): string {
  const hash = toHex(keccak_256(Uint8Array.from(address, (digit) => digit.charCodeAt(0))));
  return `0x${Array.from(address, (digit, i) => (Number.parseInt(hash.charAt(i), 16) >= 8 ? digit.toUpperCase() : digit)).join("")}`;
}

/**
 * Why a text is no address, in the order in which KDF looks (rpc.md 4.8, row 2).
 * - `NoPrefix`: KDF says `Address must be prefixed with 0x`.
 * - `BadLength`, `BadCharacter`: what follows `0x` is not 40 hex digits; `at` counts characters after the prefix.
 * - `BadChecksum`: not the case of EIP-55; all lower-case or all upper-case is refused too. KDF says `Invalid address checksum`.
 */
export type AddressFault =
  | { readonly kind: "NoPrefix" }
  | { readonly kind: "BadLength"; readonly length: number }
  | { readonly kind: "BadCharacter"; readonly at: number }
  | { readonly kind: "BadChecksum"; readonly expected: string };

/** `0x` and 40 hex digits of any case: contract addresses of the coins file and of activation requests. */
export function parseAnyCaseAddress(text: string): Result<EvmAddress, AddressFault> {
  if (!text.startsWith("0x")) return err({ kind: "NoPrefix" });
  const digits = text.slice(2);
  if (digits.length !== 2 * ADDRESS_BYTES) return err({ kind: "BadLength", length: digits.length });
  const at = digits.search(/[^0-9a-fA-F]/);
  return at < 0 ? ok(digits.toLowerCase() as EvmAddress) : err({ kind: "BadCharacter", at });
}

/** An address somebody typed as the place money goes to or came from: EIP-55 is required, as in KDF. */
export function parseAddress(text: string): Result<EvmAddress, AddressFault> {
  const parsed = parseAnyCaseAddress(text);
  if (!parsed.ok) return parsed;
  const expected = checksumAddress(parsed.value);
  return text === expected ? parsed : err({ kind: "BadChecksum", expected });
}

/** KDF's sentence for a refused address; without the trace item KDF puts in front (rpc.md 4.8). */
export function addressFaultText(fault: AddressFault): string {
  switch (fault.kind) {
    case "NoPrefix":
      return "Address must be prefixed with 0x";
    case "BadLength":
      return "Invalid input length";
    case "BadCharacter":
      return `Invalid character at position ${fault.at}`;
    case "BadChecksum":
      return "Invalid address checksum";
  }
}

/** The 20 bytes of an address. */
export function addressBytes(address: EvmAddress): Uint8Array {
  const bytes = parseHex(address);
  if (!bytes.ok) throw new Error("an EvmAddress that is not hex");
  return bytes.value;
}
