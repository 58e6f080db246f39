/** How much of something each key holds. Who holds most is known at once: it is asked with every message of a full book. */
export class Holdings {
  readonly #counts = new Map<string, number>();
  /** The keys that hold so much, whoever came to it first in front. */
  readonly #holders = new Map<number, Set<string>>();
  #most = 0;
  readonly #freeRoomOf: (key: string) => number;

  /** @param freeRoomOf how much of what a key holds counts for nothing: 0 for all but a few */
  constructor(freeRoomOf: (key: string) => number) {
    this.#freeRoomOf = freeRoomOf;
  }

  #counting(key: string, held: number): number {
    return Math.max(0, held - this.#freeRoomOf(key));
  }

  of(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  /** The key that holds most, of what counts, if that is more than `newcomer` would have with one more. */
  mostBeside(newcomer: string): string | undefined {
    let most = this.#counting(newcomer, this.of(newcomer) + 1);
    let found: string | undefined;
    for (let held = this.#most; held > most; held--) {
      for (const key of this.#holders.get(held) ?? []) {
        const counts = this.#counting(key, held);
        if (counts > most) [most, found] = [counts, key];
        if (counts === held) break;
      }
    }
    return found;
  }

  add(key: string): void {
    const count = this.of(key) + 1;
    this.#move(key, count);
    this.#most = Math.max(this.#most, count);
  }

  /** One less, of a key that holds something. */
  take(key: string): void {
    this.#move(key, this.of(key) - 1);
    while (this.#most > 0 && !this.#holders.has(this.#most)) this.#most--;
  }

  #move(key: string, count: number): void {
    const before = this.of(key);
    const holders = this.#holders.get(before);
    holders?.delete(key);
    if (holders?.size === 0) this.#holders.delete(before);
    if (count === 0) {
      this.#counts.delete(key);
      return;
    }
    this.#counts.set(key, count);
    this.#holders.set(count, (this.#holders.get(count) ?? new Set()).add(key));
  }
}
