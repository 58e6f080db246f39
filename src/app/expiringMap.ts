import type { Clock } from "../ports/clock.ts";

/** Bounded memory of recent things. Entries vanish after `lifeMs`; when full, the oldest makes room. */
export class ExpiringMap<V> {
  readonly #clock: Clock;
  readonly #lifeMs: number;
  readonly #limit: number;
  readonly #entries = new Map<string, { readonly value: V; readonly untilMs: number }>();

  constructor(clock: Clock, lifeMs: number, limit: number) {
    this.#clock = clock;
    this.#lifeMs = lifeMs;
    this.#limit = limit;
  }

  /** Entries kept; those whose life is over go with the next one that is set. */
  get size(): number {
    return this.#entries.size;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    if (entry.untilMs > this.#clock.nowMs()) return entry.value;
    this.#entries.delete(key);
    return undefined;
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  /** Starts the entry's life anew. */
  set(key: string, value: V): void {
    this.#entries.delete(key);
    const nowMs = this.#clock.nowMs();
    // All live equally long, so the dead ones are in front.
    for (const [old, { untilMs }] of this.#entries) {
      if (untilMs > nowMs) break;
      this.#entries.delete(old);
    }
    const oldest = this.#entries.size >= this.#limit ? this.#entries.keys().next() : undefined;
    if (oldest && !oldest.done) this.#entries.delete(oldest.value);
    this.#entries.set(key, { value, untilMs: nowMs + this.#lifeMs });
  }
}
