/**
 * What one server is asked for at once at most, and each second after that, in what ElectrumX (1.15) counts: it slows down from a thousand
 * on, cuts off at ten thousand and forgives one a second. Something is left for all else that is asked.
 */
const USUAL_BURST = 3_000;
const PER_SEC = 0.7;
/** Servers remembered; those that have not been asked for an hour owe nothing. */
const MAX_KEPT = 100;

type Named = { readonly name: string };

/** Keeps the reading of blocks, or of short histories, within what each server bears. */
export class ReadPace {
  readonly #burst: number;
  readonly #left = new Map<string, { readonly left: number; readonly atMs: number }>();

  /** @param burst at once at most */
  constructor(burst = USUAL_BURST) {
    this.#burst = burst;
  }

  /** Those of `servers` that may be asked now. */
  open<T extends Named>(servers: readonly T[], nowMs: number): readonly T[] {
    return servers.filter(({ name }) => this.#leftOf(name, nowMs) >= 1);
  }

  /** @param cost as ElectrumX counts */
  spend(server: Named, cost: number, nowMs: number): void {
    const left = this.#leftOf(server.name, nowMs) - cost;
    if (this.#left.size >= MAX_KEPT && !this.#left.has(server.name)) this.#left.clear();
    this.#left.set(server.name, { left, atMs: nowMs });
  }

  /** A clock that was set back gives nothing. */
  #leftOf(name: string, nowMs: number): number {
    const known = this.#left.get(name);
    if (known === undefined) return this.#burst;
    return Math.min(this.#burst, known.left + (Math.max(0, nowMs - known.atMs) / 1_000) * PER_SEC);
  }
}
