/** Budget of one source: `perSec` on average, `burst` at once. */
export type Rate = { readonly perSec: number; readonly burst: number };

type Bucket = { tokens: number; atMs: number; placedMs: number };

/** A name moves to the end of the queue for being forgotten at most this often: it is used for every message. */
const PLACE_MS = 1_000;

/** A token bucket per name. Remembers the `capacity` names used last, to the second; one that was forgotten starts full again. */
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
    const bucket = this.#refilled(name, nowMs);
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }

  /** Whether the name was used of late. */
  has(name: string): boolean {
    return this.#buckets.has(name);
  }

  /** Whether `take` would succeed. Does not count as a use. */
  hasToken(name: string, nowMs: number): boolean {
    const bucket = this.#buckets.get(name);
    if (bucket !== undefined) this.#refill(bucket, nowMs);
    return bucket === undefined || bucket.tokens >= 1;
  }

  /** Takes `count` tokens away even if they are not there; the debt never exceeds a full burst. */
  charge(name: string, count: number, nowMs: number): void {
    const bucket = this.#refilled(name, nowMs);
    bucket.tokens = Math.max(-this.#rate.burst, bucket.tokens - count);
  }

  #refill(bucket: Bucket, nowMs: number): void {
    const passedMs = Math.max(0, nowMs - bucket.atMs);
    bucket.tokens = Math.min(this.#rate.burst, bucket.tokens + (passedMs / 1000) * this.#rate.perSec);
    bucket.atMs = nowMs;
  }

  #refilled(name: string, nowMs: number): Bucket {
    const known = this.#buckets.get(name);
    const bucket = known ?? { tokens: this.#rate.burst, atMs: nowMs, placedMs: nowMs };
    this.#refill(bucket, nowMs);
    if (known && Math.abs(nowMs - known.placedMs) < PLACE_MS) return bucket;
    bucket.placedMs = nowMs;
    this.#buckets.delete(name);
    this.#buckets.set(name, bucket);
    const oldest = this.#buckets.keys().next();
    if (this.#buckets.size > this.#capacity && !oldest.done) this.#buckets.delete(oldest.value);
    return bucket;
  }
}
