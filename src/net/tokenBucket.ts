/** Allows `perSec` units a second on average and `burst` at once. Time comes in from outside, unix milliseconds. */
export class TokenBucket {
  #perSec: number;
  #burst: number;
  #tokens: number;
  #atMs: number;

  constructor(perSec: number, burst: number, nowMs: number) {
    this.#perSec = perSec;
    this.#burst = burst;
    this.#tokens = burst;
    this.#atMs = nowMs;
  }

  /** Takes `count` if they are there. A clock that jumps back refills nothing and takes nothing away. */
  take(count: number, nowMs: number): boolean {
    this.#refill(nowMs);
    if (this.#tokens < count) return false;
    this.#tokens -= count;
    return true;
  }

  /** Takes `count` whether they are there or not, for costs known only afterwards. The debt never exceeds the burst. */
  charge(count: number, nowMs: number): void {
    this.#refill(nowMs);
    this.#tokens = Math.max(-this.#burst, this.#tokens - count);
  }

  #refill(nowMs: number): void {
    if (nowMs > this.#atMs) this.#tokens = Math.min(this.#burst, this.#tokens + ((nowMs - this.#atMs) / 1000) * this.#perSec);
    this.#atMs = nowMs;
  }

  /** New limits; what has been saved up to now stays, within the new burst, and a larger burst is granted at once. */
  resize(perSec: number, burst: number): void {
    this.#tokens = Math.min(burst, this.#tokens + Math.max(0, burst - this.#burst));
    this.#perSec = perSec;
    this.#burst = burst;
  }
}
