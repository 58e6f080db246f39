/** So many requests at once, and one more each `pauseMs`: what somebody else can have this node ask for is not to cost servers more than they bear. */
export class AskCredit {
  readonly #most: number;
  readonly #pauseMs: number;
  #left: number;
  #countedAtMs = 0;

  constructor(most: number, pauseMs: number) {
    this.#most = most;
    this.#pauseMs = pauseMs;
    this.#left = most;
  }

  /** Whether there is one. A clock that was set back gives none. */
  has(nowMs: number): boolean {
    const earned = Math.max(0, nowMs - this.#countedAtMs) / this.#pauseMs;
    this.#left = Math.min(this.#most, this.#left + earned);
    this.#countedAtMs = nowMs;
    return this.#left >= 1;
  }

  /** Whether there was one, which is used now. */
  take(nowMs: number): boolean {
    const has = this.has(nowMs);
    if (has) this.#left--;
    return has;
  }

  /** One that was used cost nobody anything. */
  giveBack(): void {
    this.#left++;
  }
}
