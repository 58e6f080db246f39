import type { Clock } from "../../src/ports/clock.ts";

type Held = { readonly usual: unknown; readonly values: { readonly value: unknown }[] };

/** What faults set for a while. Of several at a time the latest holds; when the last of them is over, what was there before the first. */
export class Passing {
  readonly #clock: Clock;
  readonly #held = new Map<string, Held>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * @param name  of what is set; the same for all faults that set it
   * @param usual what there is now, if no fault set it
   * @returns `forMs`
   */
  set<T>(name: string, value: T, usual: T, forMs: number, apply: (value: T) => void): number {
    const held = this.#held.get(name) ?? { usual, values: [] };
    this.#held.set(name, held);
    const mine = { value };
    held.values.push(mine);
    apply(value);
    this.#clock.after(forMs, () => {
      held.values.splice(held.values.indexOf(mine), 1);
      const last = held.values.at(-1);
      if (last === undefined) this.#held.delete(name);
      apply((last === undefined ? held.usual : last.value) as T);
    });
    return forMs;
  }
}
