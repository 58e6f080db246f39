/** How many things happened in the last `windowSec` seconds, to the second, in one number a second. */
export class RecentCount {
  /** Counts of single seconds; the second `s` has the place `s % length`. */
  readonly #counts: number[];
  #lastSec = 0;

  constructor(windowSec: number) {
    this.#counts = new Array<number>(windowSec).fill(0);
  }

  note(nowMs: number): void {
    const place = this.#forgetUntil(nowMs);
    this.#counts[place] = (this.#counts[place] ?? 0) + 1;
  }

  count(nowMs: number): number {
    this.#forgetUntil(nowMs);
    return this.#counts.reduce((sum, n) => sum + n, 0);
  }

  /** Empties the places of the seconds that began since the last call. A clock set back changes nothing. */
  #forgetUntil(nowMs: number): number {
    const { length } = this.#counts;
    const nowSec = Math.max(this.#lastSec, Math.floor(nowMs / 1_000));
    for (let sec = Math.max(this.#lastSec, nowSec - length) + 1; sec <= nowSec; sec++) this.#counts[sec % length] = 0;
    this.#lastSec = nowSec;
    return nowSec % length;
  }
}
