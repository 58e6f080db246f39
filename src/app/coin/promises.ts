import type { FeeRate } from "../../core/utxo/feeRate.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Promised } from "./coinPool.ts";
import { TimedHolds } from "./timedHolds.ts";

/** The rate promised transactions are built at, at most; `insured`: with what makes them do without their owner. */
export type Ceiling = { readonly ceiling: FeeRate; readonly insured: boolean };

type Hold = {
  /** What is still promised. */
  amounts: bigint[];
  /** The highest rate the promised transactions are built at. */
  readonly ceiling: FeeRate;
  readonly insured: boolean;
  /** Reckoned for each of them: the most that one of the transactions costs at the ceiling. */
  readonly feeEach: bigint;
  /** Promises used up, by the transaction that was signed for each. */
  readonly used: Map<string, bigint>;
};
/** The promise a signed transaction uses up. */
export type UsedPromise = { readonly holdId: string; readonly amount: bigint };

const NONE: ReadonlySet<string> = new Set();

/** The transactions promised to swaps and not yet signed, by holds of one swap each. */
export class Promises {
  readonly #holds: TimedHolds<Hold>;

  constructor(clock: Clock, onChange: () => void) {
    this.#holds = new TimedHolds(clock, onChange);
  }

  get size(): number {
    return this.#holds.size;
  }

  /**
   * Value promised to swaps and not yet signed for, with the fees of the transactions.
   * @param without ids of holds that are left out
   */
  held(without: ReadonlySet<string> = NONE): bigint {
    let sum = 0n;
    for (const [id, h] of this.#holds.entries()) if (!without.has(id)) for (const a of h.amounts) sum += a + h.feeEach;
    return sum;
  }

  /** @param ttlMs after which the hold ends by itself; null: never. @returns its id */
  add(amounts: readonly bigint[], at: Ceiling & { readonly feeEach: bigint }, ttlMs: number | null): string {
    const { ceiling, insured, feeEach } = at;
    return this.#holds.add({ amounts: [...amounts], ceiling, insured, feeEach, used: new Map() }, ttlMs);
  }

  /** The highest rate transactions of a hold are built at; null when there is no such hold. */
  ceilingOf(id: string): FeeRate | null {
    return this.#holds.get(id)?.ceiling ?? null;
  }

  /** The hold no longer ends by itself. */
  keep(id: string): void {
    this.#holds.keep(id);
  }

  release(id: string): void {
    this.#holds.release(id);
  }

  /** A signed transaction uses up a promise. */
  use(id: string, { holdId, amount }: UsedPromise): void {
    const hold = this.#holds.get(holdId);
    const at = hold?.amounts.indexOf(amount) ?? -1;
    if (!hold || at < 0) return;
    hold.amounts.splice(at, 1);
    hold.used.set(id, amount);
  }

  /** A transaction that used one up is gone: what it was promised stands again. */
  giveBack(id: string): void {
    for (const hold of this.#holds.values()) {
      const amount = hold.used.get(id);
      if (amount === undefined) continue;
      hold.used.delete(id);
      hold.amounts.push(amount);
    }
  }

  /** What is promised, without one promise that is being kept, and without some holds. */
  promised(kept?: UsedPromise, without: ReadonlySet<string> = NONE): readonly Promised[] {
    return this.#holds.entries().flatMap(([id, { amounts, ceiling, insured }]) => {
      if (without.has(id)) return [];
      const at = id === kept?.holdId ? amounts.indexOf(kept.amount) : -1;
      return (at < 0 ? amounts : amounts.toSpliced(at, 1)).map((amount) => ({ amount, ceiling, insured }));
    });
  }
}
