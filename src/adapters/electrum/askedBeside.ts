import type { Clock } from "../../ports/clock.ts";
import { SOON_MS } from "./firstToTell.ts";
import type { RemoteServer } from "./remoteServer.ts";
import { withinMs } from "./withinMs.ts";

/** Late things of one server from which on it is asked for no more of them; and how long what came late is kept for a look that takes it, ms: it may have megabytes. */
const MAX_LATE = 20;
const KEPT_MS = 60_000;

type Asked<T> = { readonly servers: readonly RemoteServer[]; readonly sinceMs: number; readonly answer: Promise<T>; isLate: boolean };
type Taken<T> = { readonly answer: T; readonly wasLate: boolean };

/** What few servers are asked and most others deny: looks wait for it for a moment only. It goes on beside them, and is there at a later one. */
export class AskedBeside<T> {
  readonly #clock: Clock;
  readonly #asked = new Map<string, Asked<T>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * What `ask` comes to, once. Null: not yet.
   * @param servers that are asked
   */
  async take(what: string, servers: readonly RemoteServer[], ask: () => Promise<T>): Promise<Taken<T> | null> {
    const nowMs = this.#clock.nowMs();
    for (const [key, { sinceMs, isLate }] of this.#asked) if (isLate && Math.abs(nowMs - sinceMs) > KEPT_MS) this.#asked.delete(key);
    const before = this.#asked.get(what);
    if (before === undefined && servers.every((server) => this.#lateOf(server) >= MAX_LATE)) return null;
    const asked = before ?? { servers, sinceMs: nowMs, answer: ask(), isLate: false };
    this.#asked.set(what, asked);
    const coming = asked.answer.then((answer): Taken<T> => ({ answer, wasLate: before !== undefined }));
    // What is on the way already has been waited for.
    const taken = await withinMs(this.#clock, before === undefined ? SOON_MS : 0, coming).catch((cause: unknown) => {
      this.#asked.delete(what);
      throw cause;
    });
    asked.isLate = taken === null;
    if (taken !== null) this.#asked.delete(what);
    return taken;
  }

  #lateOf(server: RemoteServer): number {
    return [...this.#asked.values()].filter(({ servers, isLate }) => isLate && servers.includes(server)).length;
  }
}
