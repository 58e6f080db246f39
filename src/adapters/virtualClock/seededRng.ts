import type { Rng } from "../../ports/rng.ts";

/**
 * Randomness for the simulator: xoshiro128** (Blackman and Vigna) filled from one number by splitmix32. The same seed
 * gives the same bytes on every machine. Predictable, so never for keys that hold anything.
 *
 * @param seed integer; only its low 32 bits count
 */
export function seededRng(seed: number): Rng {
  let mix = seed | 0;
  const splitmix = (): number => {
    mix = (mix + 0x9e3779b9) | 0;
    let z = mix ^ (mix >>> 16);
    z = Math.imul(z, 0x21f0aaad);
    z ^= z >>> 15;
    z = Math.imul(z, 0x735a2d97);
    return z ^ (z >>> 15);
  };
  let a = splitmix();
  let b = splitmix();
  let c = splitmix();
  let d = splitmix();

  const next = (): number => {
    const x = Math.imul(b, 5);
    const result = Math.imul((x << 7) | (x >>> 25), 9);
    const t = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= t;
    d = (d << 11) | (d >>> 21);
    return result;
  };

  return {
    bytes(length: number): Uint8Array {
      const out = new Uint8Array(length);
      for (let i = 0; i < length; i += 4) {
        const word = next();
        out[i] = word;
        out[i + 1] = word >>> 8;
        out[i + 2] = word >>> 16;
        out[i + 3] = word >>> 24;
      }
      return out;
    },
  };
}
