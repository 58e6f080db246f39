import { err, ok, type Result } from "./result.ts";
import { toHex } from "./toHex.ts";

export { toHex };

const hexes = new WeakMap<Uint8Array, string>();

/** `toHex` of bytes that nobody changes any more, worked out once: for what is compared or looked up again and again. */
export function hexOf(bytes: Uint8Array): string {
  let hex = hexes.get(bytes);
  if (hex === undefined) {
    hex = toHex(bytes);
    hexes.set(bytes, hex);
  }
  return hex;
}

/** Value of each hex digit by its character code; -1 for everything else below 128. */
const DIGIT_VALUES = Int8Array.from({ length: 128 }, (_, code) => {
  const digit = Number.parseInt(String.fromCharCode(code), 16);
  return Number.isNaN(digit) ? -1 : digit;
});

/** Parses hex text (either case, no `0x`); odd length or another character is refused. */
export function parseHex(text: string): Result<Uint8Array, { kind: "BadHex" }> {
  if (text.length % 2 !== 0) return err({ kind: "BadHex" });
  const out = new Uint8Array(text.length / 2);
  for (let i = 0; i < out.length; i++) {
    const high = DIGIT_VALUES[text.charCodeAt(2 * i)] ?? -1;
    const low = DIGIT_VALUES[text.charCodeAt(2 * i + 1)] ?? -1;
    if (high < 0 || low < 0) return err({ kind: "BadHex" });
    out[i] = (high << 4) | low;
  }
  return ok(out);
}

/** Hex that our own code wrote: throws on anything else. Never call it on input from outside. */
export function fromHex(text: string): Uint8Array {
  const parsed = parseHex(text);
  if (!parsed.ok) throw new Error("fromHex: not hex");
  return parsed.value;
}

export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const p of parts) length += p.length;
  const out = new Uint8Array(length);
  let at = 0;
  for (const p of parts) {
    out.set(p, at);
    at += p.length;
  }
  return out;
}

/** Equality of content; not constant-time, so never for secrets that an attacker can probe. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

export function reversed(bytes: Uint8Array): Uint8Array {
  // A copy by the constructor: `Uint8Array.from` goes through an iterator, byte by byte.
  return new Uint8Array(bytes).reverse();
}
