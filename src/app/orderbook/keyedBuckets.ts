/** Budget of one source: `perSec` on average, `burst` at once. */
export type Rate = { readonly perSec: number; readonly burst: number };

type Bucket = { tokens: number; atMs: number };

/** A token bucket per name. Remembers the `capacity` names used last; one that was forgotten starts full again. */
export class KeyedBuckets {
  readonly #rate: Rate;
  readonly #capacity: number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(rate: Rate, capacity: number) {
    this.#rate = rate;
    this.#capacity = capacity;
  }

  /** Spends one token of `name`; false when none is left. */
  take(name: string, nowMs: number): boolean {
    const { perSec, burst } = this.#rate;
    const bucket = this.#buckets.get(name) ?? { tokens: burst, atMs: nowMs };
    bucket.tokens = Math.min(burst, bucket.tokens + (Math.max(0, nowMs - bucket.atMs) / 1000) * perSec);
    bucket.atMs = nowMs;
    this.#buckets.delete(name);
    this.#buckets.set(name, bucket);
    const oldest = this.#buckets.keys().next();
    if (this.#buckets.size > this.#capacity && !oldest.done) this.#buckets.delete(oldest.value);
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }
}
