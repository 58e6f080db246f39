/** Messages are remembered this long (p2p-wire.md 3). */
const LIFE_MS = 60_000;
/** About 100 bytes each. At 4000 messages a second the oldest go a little before their time. */
const MAX_ENTRIES = 262_144;

/** Which messages were seen lately. Keys are compact strings; entries leave in the order they came. */
export class SeenCache {
  /** key → time to forget, in order of insertion. */
  readonly #entries = new Map<string, number>();
  /** Nothing is old before this time. */
  #nextOldMs = 0;

  /** Remembers a message; false when it is known already. */
  add(key: string, nowMs: number): boolean {
    this.#forgetOld(nowMs);
    if (this.#entries.has(key)) return false;
    this.#entries.set(key, nowMs + LIFE_MS);
    return true;
  }

  has(key: string, nowMs: number): boolean {
    this.#forgetOld(nowMs);
    return this.#entries.has(key);
  }

  /** So that another copy is taken: for messages that could not be looked at. */
  forget(key: string): void {
    this.#entries.delete(key);
  }

  get size(): number {
    return this.#entries.size;
  }

  #forgetOld(nowMs: number): void {
    if (nowMs < this.#nextOldMs && this.#entries.size < MAX_ENTRIES) return;
    for (const [key, untilMs] of this.#entries) {
      if (untilMs > nowMs && this.#entries.size < MAX_ENTRIES) {
        this.#nextOldMs = untilMs;
        return;
      }
      this.#entries.delete(key);
    }
    // Empty: the next one to come is old no sooner than this.
    this.#nextOldMs = nowMs + LIFE_MS;
  }
}
