import type { Clock } from "../../ports/clock.ts";

type Entry<T> = { readonly hold: T; cancelTimer: (() => void) | null };

/** Holds of swaps by their ids; each ends by itself after its time, unless it is kept. */
export class TimedHolds<T> {
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry<T>>();
  readonly #onChange: () => void;
  #next = 1;

  constructor(clock: Clock, onChange: () => void) {
    this.#clock = clock;
    this.#onChange = onChange;
  }

  get size(): number {
    return this.#entries.size;
  }
  get(id: string): T | undefined {
    return this.#entries.get(id)?.hold;
  }
  values(): T[] {
    return [...this.#entries.values()].map(({ hold }) => hold);
  }
  entries(): (readonly [id: string, hold: T])[] {
    return [...this.#entries].map(([id, { hold }]) => [id, hold]);
  }

  /** @param ttlMs after which the hold ends by itself; null: never. @returns its id */
  add(hold: T, ttlMs: number | null): string {
    const id = `hold-${this.#next++}`;
    this.#entries.set(id, { hold, cancelTimer: ttlMs === null ? null : this.#clock.after(ttlMs, () => this.release(id)) });
    this.#onChange();
    return id;
  }

  /** The hold no longer ends by itself. */
  keep(id: string): void {
    const entry = this.#entries.get(id);
    entry?.cancelTimer?.();
    if (entry) entry.cancelTimer = null;
  }

  release(id: string): void {
    const entry = this.#entries.get(id);
    if (!entry) return;
    entry.cancelTimer?.();
    this.#entries.delete(id);
    this.#onChange();
  }
}
