import { sha256 } from "@noble/hashes/sha2.js";
import { base58check, bech32, bech32m } from "@scure/base";
import { concatBytes, equalBytes } from "../util/bytes.ts";
import { err, ok, type Result } from "../util/result.ts";
import { bech32Fault } from "./bech32Fault.ts";
import { encodeCashAddr, parseCashAddr } from "./cashAddr.ts";
import { hash160 } from "./hash.ts";
import { classifyOutput, p2pkhScript, p2shScript, p2trScript, p2wpkhScript, p2wshScript } from "./outputScript.ts";

/** The forms an own address can have. */
export type AddressFormat = "standard" | "segwit" | "cashaddress";

/** How a coin writes addresses. */
export type AddressRules = {
  /** 1 or 2 bytes in front of the hash (`taddr` of the coins file is the first of two). */
  readonly p2pkhPrefix: Uint8Array;
  readonly p2shPrefix: Uint8Array;
  /** Human-readable part of witness addresses; null where the coins file names none. */
  readonly hrp: string | null;
  /** `segwit` of the coins file: witness addresses of this coin are accepted. */
  readonly segwit: boolean;
  /** Prefix of cash addresses; null unless that is the coin's format. */
  readonly cashPrefix: string | null;
  /** Form of the own address. */
  readonly format: AddressFormat;
};

export type AddressKind = "p2pkh" | "p2sh" | "p2wpkh" | "p2wsh" | "p2tr";

/** A destination. `hash`: 20 bytes, or 32 for p2wsh and p2tr. */
export type Address = { readonly kind: AddressKind; readonly hash: Uint8Array };

/** Why a text is no address of the coin (rpc.md 4.8 row 2 lists the texts KDF makes of these). */
export type AddressError =
  /** None of the three forms, tried in this order; one reason for each. */
  | {
      readonly kind: "UnknownFormat";
      readonly base58: "invalid address" | "invalid address prefix";
      readonly bech32: string;
      readonly cashAddress: string;
    }
  /** An address in Litecoin's extension block (LIP-3): nothing that pays it is made here. */
  | { readonly kind: "InExtensionBlock" }
  | { readonly kind: "SegwitNotActivated" }
  | { readonly kind: "WrongHrp"; readonly hrp: string }
  /** A well-formed cash address, but `activated` is what this coin uses. */
  | { readonly kind: "FormatMismatch"; readonly activated: AddressFormat; readonly used: AddressFormat };

/** No supported form is longer (BIP-173 allows 90). */
const MAX_CHARS = 100;
/** How addresses in the extension block begin, of the main network and of the others. */
const IN_EXTENSION_BLOCK = /^(?:ltcmweb|tmweb)1/i;
const HASH_BYTES = 20;
const base58 = base58check(sha256);

function decodeBase58(text: string): Uint8Array | null {
  try {
    return base58.decode(text);
  } catch {
    return null;
  }
}

function parseBase58(text: string, rules: AddressRules): Address | "invalid address" | "invalid address prefix" {
  const payload = decodeBase58(text);
  if (!payload || (payload.length !== HASH_BYTES + 1 && payload.length !== HASH_BYTES + 2)) return "invalid address";
  const prefix = payload.subarray(0, -HASH_BYTES);
  const hash = payload.slice(-HASH_BYTES);
  if (equalBytes(prefix, rules.p2pkhPrefix)) return { kind: "p2pkh", hash };
  return equalBytes(prefix, rules.p2shPrefix) ? { kind: "p2sh", hash } : "invalid address prefix";
}

type Witness = { readonly hrp: string; readonly address: Address };

/** What is wrong is said in KDF's words (reference rpc.md 4.8 row 2). */
function parseBech32(text: string): Witness | string {
  const v0 = bech32.decodeUnsafe(text);
  const later = v0 ? undefined : bech32m.decodeUnsafe(text);
  const decoded = v0 ?? later;
  if (!decoded) return `bech32: ${bech32Fault(text)}`;
  const [version, ...symbols] = decoded.words;
  const program = bech32.fromWordsUnsafe(symbols);
  if (version === undefined) return "the bech32 payload was empty";
  if (!program) return "bech32: invalid padding";
  const hash = Uint8Array.from(program);
  if (version === 0 && v0 && hash.length === 20) return { hrp: decoded.prefix, address: { kind: "p2wpkh", hash } };
  if (version === 0 && v0 && hash.length === 32) return { hrp: decoded.prefix, address: { kind: "p2wsh", hash } };
  if (version === 1 && later && hash.length === 32) return { hrp: decoded.prefix, address: { kind: "p2tr", hash } };
  return "unsupported witness version or length";
}

/**
 * Reads an address of one coin. Base58 is accepted whatever the own format is, witness addresses wherever the coins file
 * says `segwit`, cash addresses only where they are the coin's format.
 */
export function parseAddress(text: string, rules: AddressRules): Result<Address, AddressError> {
  if (IN_EXTENSION_BLOCK.test(text)) return err({ kind: "InExtensionBlock" });
  if (text.length > MAX_CHARS) {
    return err({ kind: "UnknownFormat", base58: "invalid address", bech32: `bech32: ${bech32Fault(text)}`, cashAddress: "too long" });
  }
  const base = parseBase58(text, rules);
  if (typeof base !== "string") return ok(base);
  const witness = parseBech32(text);
  if (typeof witness !== "string") {
    if (!rules.segwit) return err({ kind: "SegwitNotActivated" });
    return witness.hrp === rules.hrp ? ok(witness.address) : err({ kind: "WrongHrp", hrp: witness.hrp });
  }
  // Without a prefix of its own the text is looked at as one of Bitcoin Cash, on every coin, as in KDF.
  const cash = parseCashAddr(text, rules.cashPrefix ?? "bitcoincash");
  if (!cash.ok) {
    const cashAddress = cash.error.reason === "characters" ? "wrong characters" : "Checksum verification failed";
    return err({ kind: "UnknownFormat", base58: base, bech32: witness, cashAddress });
  }
  if (cash.value.prefix !== rules.cashPrefix) return err({ kind: "FormatMismatch", activated: rules.format, used: "cashaddress" });
  return ok({ kind: cash.value.kind, hash: cash.value.hash });
}

/** Text of an address. Key and script hashes follow `rules.format` where it is cashaddress, else base58. */
export function addressText(address: Address, rules: AddressRules): string {
  const { kind, hash } = address;
  if (kind === "p2pkh" || kind === "p2sh") {
    if (rules.format === "cashaddress" && rules.cashPrefix !== null) return encodeCashAddr({ prefix: rules.cashPrefix, kind, hash });
    return base58.encode(concatBytes(kind === "p2pkh" ? rules.p2pkhPrefix : rules.p2shPrefix, hash));
  }
  if (rules.hrp === null) throw new RangeError("addressText: the coin has no bech32 prefix");
  if (kind === "p2tr") return bech32m.encode(rules.hrp, [1, ...bech32m.toWords(hash)]);
  return bech32.encode(rules.hrp, [0, ...bech32.toWords(hash)]);
}

/** Output script that pays to an address. */
export function addressScript({ kind, hash }: Address): Uint8Array {
  switch (kind) {
    case "p2pkh":
      return p2pkhScript(hash);
    case "p2sh":
      return p2shScript(hash);
    case "p2wpkh":
      return p2wpkhScript(hash);
    case "p2wsh":
      return p2wshScript(hash);
    case "p2tr":
      return p2trScript(hash);
  }
}

/** Address text to output script. */
export function addressToScript(text: string, rules: AddressRules): Result<Uint8Array, AddressError> {
  const address = parseAddress(text, rules);
  return address.ok ? ok(addressScript(address.value)) : address;
}

/** Address that an output script pays to; a bare public key is shown as its P2PKH address. Null where there is none. */
export function scriptToAddress(script: Uint8Array, rules: AddressRules): string | null {
  const output = classifyOutput(script);
  switch (output.kind) {
    case "p2pkh":
    case "p2sh":
      return addressText({ kind: output.kind, hash: output.hash }, rules);
    case "p2pk":
      return addressText({ kind: "p2pkh", hash: hash160(output.pubkey) }, rules);
    case "p2wpkh":
    case "p2wsh":
      return rules.hrp === null ? null : addressText({ kind: output.kind, hash: output.hash }, rules);
    case "p2tr":
      return rules.hrp === null ? null : addressText({ kind: "p2tr", hash: output.outputKey }, rules);
    default:
      return null;
  }
}

/** Own address of a key in the coin's format: P2WPKH for segwit, else P2PKH. */
export function pubkeyToAddress(pubkey: Uint8Array, rules: AddressRules): Address {
  return { kind: rules.format === "segwit" ? "p2wpkh" : "p2pkh", hash: hash160(pubkey) };
}
