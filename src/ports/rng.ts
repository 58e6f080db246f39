/** Randomness. The real one is the operating system's; the simulator's is drawn from a printed seed. */
export interface Rng {
  bytes(length: number): Uint8Array;
}

/** A version-4 UUID (RFC 9562) in lower-case text. */
export function randomUuid(rng: Rng): string {
  const b = rng.bytes(16);
  b[6] = ((b[6] ?? 0) & 0x0f) | 0x40;
  b[8] = ((b[8] ?? 0) & 0x3f) | 0x80;
  const h = Array.from(b, (x) => x.toString(16).padStart(2, "0")).join("");
  return `${h.slice(0, 8)}-${h.slice(8, 12)}-${h.slice(12, 16)}-${h.slice(16, 20)}-${h.slice(20)}`;
}
