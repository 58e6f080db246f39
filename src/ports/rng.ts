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

/** A uniform integer from 0 to `below` - 1. `below`: 1 to 2^32. */
export function randomBelow(rng: Rng, below: number): number {
  const limit = 2 ** 32 - (2 ** 32 % below);
  for (;;) {
    const b = rng.bytes(4);
    const value = ((b[0] ?? 0) | ((b[1] ?? 0) << 8) | ((b[2] ?? 0) << 16) | ((b[3] ?? 0) << 24)) >>> 0;
    if (value < limit) return value % below;
  }
}

/** A copy in random order (Fisher and Yates). */
export function shuffled<T>(rng: Rng, items: Iterable<T>): T[] {
  const out = [...items];
  for (let i = out.length - 1; i > 0; i--) {
    const j = randomBelow(rng, i + 1);
    const a = out[i] as T;
    out[i] = out[j] as T;
    out[j] = a;
  }
  return out;
}
