/** From so many lines on a history is not asked for at each change. */
const LONG = 100;
/** Pause for each line, ms: ElectrumX (1.15) counts one for 5,000 bytes it sends, some fifty lines, and forgives about one a second. */
const PER_LINE_MS = 25;
/**
 * Of what may be asked of a server this part is for all its long histories equally often, whatever their lengths, so that a very long one does not
 * wait for as many times its length as there are others. The rest is for each the same lines: one that is just long does not wait for a very long one.
 */
const EQUALLY_OFTEN = 0.75;
/** Long histories of a server that are remembered; the ones told longest ago are forgotten. */
const MAX_KEPT = 1_000;

type Told = { readonly lines: number; readonly atMs: number };

/** The long histories of one server, and their lines together. */
class LongOnes {
  readonly #told = new Map<string, Told>();
  #lines = 0;

  get(scriptHash: string): Told | undefined {
    return this.#told.get(scriptHash);
  }

  /** Told last: those told longest ago are forgotten. */
  set(scriptHash: string, told: Told): void {
    this.#told.set(scriptHash, told);
    this.#lines += told.lines;
    for (const oldest of this.#told.keys()) {
      if (this.#told.size <= MAX_KEPT) break;
      this.delete(oldest);
    }
  }

  delete(scriptHash: string): void {
    this.#lines -= this.#told.get(scriptHash)?.lines ?? 0;
    this.#told.delete(scriptHash);
  }

  /** Pause before one of so many lines may be asked for again, ms: all of them together then cost no more than a line each `PER_LINE_MS`. */
  pauseMs(lines: number): number {
    return PER_LINE_MS / (EQUALLY_OFTEN / this.#lines + (1 - EQUALLY_OFTEN) / (lines * this.#told.size));
  }
}

/**
 * When a long history may be asked for again: anybody can pay a script some thousands of times and then go on, and whoever asks for all of
 * it at each change is cut off by every honest server within minutes.
 */
export class HistoryPace {
  /** By server's name. */
  readonly #told = new Map<string, LongOnes>();

  /** A clock that was set back makes nothing late: then it is due. */
  isDue(server: string, scriptHash: string, nowMs: number): boolean {
    const long = this.#told.get(server);
    const told = long?.get(scriptHash);
    if (long === undefined || told === undefined || nowMs < told.atMs) return true;
    return nowMs - told.atMs >= long.pauseMs(told.lines);
  }

  told(server: string, scriptHash: string, lines: number, nowMs: number): void {
    const long = this.#told.get(server) ?? new LongOnes();
    this.#told.set(server, long);
    long.delete(scriptHash);
    if (lines >= LONG) long.set(scriptHash, { lines, atMs: nowMs });
  }

  /** Nobody follows the script any more: it holds up no others, at whomever it was asked for. */
  forget(scriptHash: string): void {
    for (const long of this.#told.values()) long.delete(scriptHash);
  }
}
