/** Bytes of printable ASCII text (0x20 to 0x7e). Throws on other characters: only for text this node made or has parsed. */
export function asciiToBytes(text: string): Uint8Array {
  const out = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x20 || code > 0x7e) throw new Error(`character ${code} in a text that must be printable ASCII`);
    out[i] = code;
  }
  return out;
}

/** Printable ASCII of at most `maxLength` bytes; undefined for anything else. */
export function parseAscii(bytes: Uint8Array, maxLength: number): string | undefined {
  if (bytes.length > maxLength) return undefined;
  let text = "";
  for (let i = 0; i < bytes.length; i++) {
    const b = bytes[i] ?? 0;
    if (b < 0x20 || b > 0x7e) return undefined;
    text += String.fromCharCode(b);
  }
  return text;
}
