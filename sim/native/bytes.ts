export * from "../../src/core/util/bytes.ts";

/** Node's own, of one call: the program's core knows no Node, and makes a list of characters for each text. */
export function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
}

const hexes = new WeakMap<Uint8Array, string>();

export function hexOf(bytes: Uint8Array): string {
  let hex = hexes.get(bytes);
  if (hex === undefined) {
    hex = toHex(bytes);
    hexes.set(bytes, hex);
  }
  return hex;
}
