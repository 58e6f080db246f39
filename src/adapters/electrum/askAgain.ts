import { dropOldest } from "../../core/util/dropOldest.ts";

/**
 * First and longest pause, ms. ElectrumX counts each request it refuses for a hundred, forgives about one a second, and cuts off at ten
 * thousand: what is refused every five minutes is forgiven three times over.
 */
const FIRST_MS = 5_000;
const LAST_MS = 300_000;
/** Keys remembered; those refused longest ago are forgotten, and due. */
const MAX_KEPT = 10_000;

/** When what a server refused, or did not know, may be asked again: the pause doubles from time to time. */
export class AskAgain {
  readonly #pauses = new Map<string, { readonly atMs: number; readonly pauseMs: number }>();

  /** A clock that was set back makes nothing late: then it is due. */
  isDue(key: string, nowMs: number): boolean {
    const pause = this.#pauses.get(key);
    return pause === undefined || nowMs < pause.atMs || nowMs - pause.atMs >= pause.pauseMs;
  }

  refused(key: string, nowMs: number): void {
    const before = this.#pauses.get(key)?.pauseMs;
    this.#pauses.delete(key);
    this.#pauses.set(key, { atMs: nowMs, pauseMs: before === undefined ? FIRST_MS : Math.min(2 * before, LAST_MS) });
    dropOldest(this.#pauses, MAX_KEPT);
  }

  forget(key: string): void {
    this.#pauses.delete(key);
  }
}
