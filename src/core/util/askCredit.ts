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

  /** Whether there was one, which is used now. A clock that was set back gives none. */
  take(nowMs: number): boolean {
    const earned = Math.max(0, nowMs - this.#countedAtMs) / this.#pauseMs;
    this.#left = Math.min(this.#most, this.#left + earned);
    this.#countedAtMs = nowMs;
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }

  /** One that was used cost nobody anything. */
  giveBack(): void {
    this.#left++;
  }
}
