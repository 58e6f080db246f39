import { err, ok, type Result } from "../util/result.ts";

/** A cash address (specification "CashAddr" of Bitcoin Cash, 160-bit hashes only): `prefix` without the colon, lower case. */
export type CashAddr = { readonly prefix: string; readonly kind: "p2pkh" | "p2sh"; readonly hash: Uint8Array };

export type CashAddrError = { readonly kind: "BadCashAddr"; readonly reason: "characters" | "checksum" | "length" | "version" };

const ALPHABET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
const GENERATOR = [0x98f2bc8e61n, 0x79b76d99e2n, 0xf33e5fb3c4n, 0xae2eabe2a8n, 0x1e4f43e470n];
const CHECKSUM_SYMBOLS = 8;
/** Version byte and a 20-byte hash in 5-bit symbols. */
const PAYLOAD_SYMBOLS = Math.ceil(((1 + 20) * 8) / 5);
/** Longest text read; the known prefixes have at most 13 characters. */
const MAX_CHARS = 100;
const P2PKH_VERSION = 0;
const P2SH_VERSION = 8;

function polymod(symbols: readonly number[]): bigint {
  let c = 1n;
  for (const d of symbols) {
    const top = c >> 35n;
    c = ((c & 0x07ffffffffn) << 5n) ^ BigInt(d);
    for (const [i, g] of GENERATOR.entries()) if ((top >> BigInt(i)) & 1n) c ^= g;
  }
  return c ^ 1n;
}

const prefixSymbols = (prefix: string): number[] => [...Array.from(prefix, (ch) => ch.charCodeAt(0) & 31), 0];

/** Regroups bits; null when a byte group would end in set padding bits. */
function regroup(input: readonly number[], from: number, to: number, pad: boolean): number[] | null {
  const out: number[] = [];
  let bits = 0;
  let value = 0;
  for (const x of input) {
    value = ((value << from) | x) & 0xfff;
    bits += from;
    while (bits >= to) {
      bits -= to;
      out.push((value >> bits) & ((1 << to) - 1));
    }
  }
  const rest = value & ((1 << bits) - 1);
  if (pad && bits > 0) out.push(rest << (to - bits));
  return !pad && (bits >= from || rest !== 0) ? null : out;
}

export function encodeCashAddr({ prefix, kind, hash }: CashAddr): string {
  const payload = regroup([kind === "p2pkh" ? P2PKH_VERSION : P2SH_VERSION, ...hash], 8, 5, true) ?? [];
  const sum = polymod([...prefixSymbols(prefix), ...payload, ...new Array<number>(CHECKSUM_SYMBOLS).fill(0)]);
  const checksum = Array.from({ length: CHECKSUM_SYMBOLS }, (_, i) => Number((sum >> BigInt(5 * (7 - i))) & 31n));
  return `${prefix}:${[...payload, ...checksum].map((s) => ALPHABET[s]).join("")}`;
}

/**
 * Reads a cash address in lower or upper case, not mixed.
 * @param defaultPrefix stands in when the text has none, as wallets often leave it out
 */
export function parseCashAddr(text: string, defaultPrefix: string | null): Result<CashAddr, CashAddrError> {
  const bad = (reason: CashAddrError["reason"]) => err<CashAddrError>({ kind: "BadCashAddr", reason });
  if (text.length > MAX_CHARS) return bad("length");
  const lower = text.toLowerCase();
  if (text !== lower && text !== text.toUpperCase()) return bad("characters");
  const colon = lower.indexOf(":");
  const prefix = colon >= 0 ? lower.slice(0, colon) : defaultPrefix;
  if (prefix === null || !/^[a-z0-9]+$/.test(prefix)) return bad("characters");
  const symbols = Array.from(lower.slice(colon + 1), (ch) => ALPHABET.indexOf(ch));
  if (symbols.includes(-1)) return bad("characters");
  if (symbols.length !== PAYLOAD_SYMBOLS + CHECKSUM_SYMBOLS) return bad("length");
  if (polymod([...prefixSymbols(prefix), ...symbols]) !== 0n) return bad("checksum");
  const payload = regroup(symbols.slice(0, PAYLOAD_SYMBOLS), 5, 8, false);
  const version = payload?.[0];
  if (!payload || (version !== P2PKH_VERSION && version !== P2SH_VERSION)) return bad("version");
  return ok({ prefix, kind: version === P2PKH_VERSION ? "p2pkh" : "p2sh", hash: Uint8Array.from(payload.slice(1)) });
}
