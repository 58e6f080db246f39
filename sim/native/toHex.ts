/** Node's own, of one call: the program's core knows no Node, and makes a list of characters for each text. */
export function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
}
