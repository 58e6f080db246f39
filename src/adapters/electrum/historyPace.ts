/** From so many lines on a history is not asked for at each change. */
const LONG = 100;
/**
 * Pause for each of its lines, ms, once more for each other long one of the server: ElectrumX (1.15) counts one for 5,000 bytes it sends,
 * some fifty lines, and forgives about one a second.
 */
const PER_LINE_MS = 25;
/** Long histories of a server that are remembered; the ones told longest ago are forgotten. */
const MAX_KEPT = 1_000;

type Told = { readonly lines: number; readonly atMs: number };

/**
 * When a long history may be asked for again: anybody can pay a script some thousands of times and then go on, and whoever asks for all of
 * it at each change is cut off by every honest server within minutes.
 */
export class HistoryPace {
  /** By server's name and script. */
  readonly #told = new Map<string, Map<string, Told>>();

  /** A clock that was set back makes nothing late: then it is due. */
  isDue(server: string, scriptHash: string, nowMs: number): boolean {
    const long = this.#told.get(server);
    const told = long?.get(scriptHash);
    if (long === undefined || told === undefined || nowMs < told.atMs) return true;
    return nowMs - told.atMs >= told.lines * PER_LINE_MS * long.size;
  }

  told(server: string, scriptHash: string, lines: number, nowMs: number): void {
    const long = this.#told.get(server) ?? new Map<string, Told>();
    this.#told.set(server, long);
    long.delete(scriptHash);
    if (lines >= LONG) long.set(scriptHash, { lines, atMs: nowMs });
    for (const oldest of long.keys()) {
      if (long.size <= MAX_KEPT) break;
      long.delete(oldest);
    }
  }

  /** Nobody follows the script any more: it holds up no others, at whomever it was asked for. */
  forget(scriptHash: string): void {
    for (const long of this.#told.values()) long.delete(scriptHash);
  }
}
