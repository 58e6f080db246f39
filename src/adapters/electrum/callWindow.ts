/** Calls on the way at once: servers slow down who asks for more (ElectrumX's session costs). */
const MOST = 100;
/** So few are not what an answer was late for. Fewer would have one that is late on purpose hold up a look for long. */
const FEWEST = 10;
/** Part of those that were on the way when an answer was late that is asked for at once from then on. */
const SHARE = 4;
/** Twice as many are tried again after each so long without a late answer, ms. */
const DOUBLED_MS = 3_600_000;

/**
 * How many calls may be on the way to a server at once. Some, at somebody's home, work off one after the other, or a whole batch before they answer any of it: the
 * deadline of a call is then over because of those before it, and each new connection would ask for as many again.
 */
export class CallWindow {
  #size = MOST;
  #lateAtMs = 0;

  size(nowMs: number): number {
    return Math.min(MOST, Math.floor(this.#size * 2 ** Math.floor(Math.abs(nowMs - this.#lateAtMs) / DOUBLED_MS)));
  }

  /**
   * An answer did not come in time while so many calls were on the way.
   * @returns whether these may have been too many
   */
  late(onTheWay: number, nowMs: number): boolean {
    if (onTheWay <= FEWEST) return false;
    this.#size = Math.max(FEWEST, Math.floor(onTheWay / SHARE));
    this.#lateAtMs = nowMs;
    return true;
  }
}
