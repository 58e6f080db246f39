/** A 64-bit hash as two unsigned 32-bit halves. */
export type Hash64 = { readonly high: number; readonly low: number };

/** Two 64-bit keys as 32-bit halves, low halves first: [k0 low, k0 high, k1 low, k1 high]. */
export type SipKey = readonly [number, number, number, number];

const ZERO_KEY: SipKey = [0, 0, 0, 0];

/**
 * SipHash-1-3 (Aumasson and Bernstein, with one compression and three finalisation rounds). With the zero key it is
 * the standard hasher of Rust. Halves instead of bigint: it runs for every gossip message.
 */
export function sipHash13(data: Uint8Array, key: SipKey = ZERO_KEY): Hash64 {
  let v0l = key[0] ^ 0x70736575;
  let v0h = key[1] ^ 0x736f6d65;
  let v1l = key[2] ^ 0x6e646f6d;
  let v1h = key[3] ^ 0x646f7261;
  let v2l = key[0] ^ 0x6e657261;
  let v2h = key[1] ^ 0x6c796765;
  let v3l = key[2] ^ 0x79746573;
  let v3h = key[3] ^ 0x74656462;

  const round = (): void => {
    let s = (v0l >>> 0) + (v1l >>> 0);
    v0h = (v0h + v1h + (s > 0xffffffff ? 1 : 0)) | 0;
    v0l = s | 0;
    let l = (v1l << 13) | (v1h >>> 19);
    v1h = ((v1h << 13) | (v1l >>> 19)) ^ v0h;
    v1l = l ^ v0l;
    l = v0l;
    v0l = v0h;
    v0h = l;

    s = (v2l >>> 0) + (v3l >>> 0);
    v2h = (v2h + v3h + (s > 0xffffffff ? 1 : 0)) | 0;
    v2l = s | 0;
    l = (v3l << 16) | (v3h >>> 16);
    v3h = ((v3h << 16) | (v3l >>> 16)) ^ v2h;
    v3l = l ^ v2l;

    s = (v0l >>> 0) + (v3l >>> 0);
    v0h = (v0h + v3h + (s > 0xffffffff ? 1 : 0)) | 0;
    v0l = s | 0;
    l = (v3l << 21) | (v3h >>> 11);
    v3h = ((v3h << 21) | (v3l >>> 11)) ^ v0h;
    v3l = l ^ v0l;

    s = (v2l >>> 0) + (v1l >>> 0);
    v2h = (v2h + v1h + (s > 0xffffffff ? 1 : 0)) | 0;
    v2l = s | 0;
    l = (v1l << 17) | (v1h >>> 15);
    v1h = ((v1h << 17) | (v1l >>> 15)) ^ v2h;
    v1l = l ^ v2l;
    l = v2l;
    v2l = v2h;
    v2h = l;
  };

  const whole = data.length & ~7;
  for (let i = 0; i < whole; i += 8) {
    const l = wordAt(data, i);
    const h = wordAt(data, i + 4);
    v3l ^= l;
    v3h ^= h;
    round();
    v0l ^= l;
    v0h ^= h;
  }
  // The last word: the remaining 0 to 7 bytes and, on top, the length modulo 256. Reads past the end give 0.
  const l = wordAt(data, whole);
  const h = wordAt(data, whole + 4) | (data.length << 24);
  v3l ^= l;
  v3h ^= h;
  round();
  v0l ^= l;
  v0h ^= h;

  v2l ^= 0xff;
  round();
  round();
  round();
  return { high: (v0h ^ v1h ^ v2h ^ v3h) >>> 0, low: (v0l ^ v1l ^ v2l ^ v3l) >>> 0 };
}

function wordAt(data: Uint8Array, at: number): number {
  return (data[at] ?? 0) | ((data[at + 1] ?? 0) << 8) | ((data[at + 2] ?? 0) << 16) | ((data[at + 3] ?? 0) << 24);
}
