const HEX_DIGITS = Array.from("0123456789abcdef", (digit) => digit.charCodeAt(0));
/** Bytes turned into text at once: the characters are arguments of one call, whose number is limited. */
const HEX_PIECE = 4_096;

/** Lower-case hex without prefix. One flat string: it is a map key on every path that is hot. */
export function toHex(bytes: Uint8Array): string {
  let out = "";
  for (let start = 0; start < bytes.length; start += HEX_PIECE) {
    const count = Math.min(HEX_PIECE, bytes.length - start);
    const codes: number[] = new Array(2 * count);
    for (let i = 0; i < count; i++) {
      const byte = bytes[start + i] ?? 0;
      codes[2 * i] = HEX_DIGITS[byte >> 4] ?? 0;
      codes[2 * i + 1] = HEX_DIGITS[byte & 15] ?? 0;
    }
    out += String.fromCharCode(...codes);
  }
  return out;
}
