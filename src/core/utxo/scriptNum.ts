import { equalBytes } from "../util/bytes.ts";

/** Little-endian sign-and-magnitude number, shortest form; zero is empty. */
export function encodeScriptNum(n: bigint): Uint8Array {
  const out: number[] = [];
  let rest = n < 0n ? -n : n;
  while (rest > 0n) {
    out.push(Number(rest & 0xffn));
    rest >>= 8n;
  }
  const top = out.at(-1);
  if (top === undefined) return new Uint8Array(0);
  if (top & 0x80) out.push(n < 0n ? 0x80 : 0);
  else if (n < 0n) out[out.length - 1] = top | 0x80;
  return Uint8Array.from(out);
}

/** Reads a script number of at most `maxBytes`; null when longer or, with `minimal`, not in its shortest form. */
export function decodeScriptNum(bytes: Uint8Array, maxBytes = 4, minimal = true): bigint | null {
  if (bytes.length > maxBytes) return null;
  let n = 0n;
  for (let i = bytes.length - 1; i >= 0; i--) n = (n << 8n) | BigInt(bytes[i] ?? 0);
  const top = bytes.at(-1);
  if (top === undefined) return 0n;
  if (top & 0x80) n = -(n ^ (0x80n << BigInt(8 * (bytes.length - 1))));
  if (minimal && !equalBytes(encodeScriptNum(n), bytes)) return null;
  return n;
}
