import type { Clock } from "../../ports/clock.ts";
import type { HeaderPlan } from "./headerFollower.ts";
import type { RemoteServer } from "./remoteServer.ts";

/** A branch that took longer to look at and is not better is left alone for so many times as long, and at most so long, ms. */
const QUICK_MS = 2_000;
const REST_FACTOR = 10;
const MAX_REST_MS = 1_800_000;
/** Branches that are read on, of so many headers, for so long after a look at them, ms: those that went further wait for our chain to go on. */
const MAX_BRANCHES = 8;
const MAX_HEADERS = 2_000;
const KEPT_MS = 3_600_000;

type Kept = { readonly plan: HeaderPlan; readonly atMs: number };

/**
 * What is known of branches that servers show and nobody follows: where headers are dear to check, a way of more than a hundred is read at
 * several looks, and one that answers late is left alone between them.
 */
export class KeptBranches {
  readonly #clock: Clock;
  /** By server, oldest look first. */
  readonly #kept = new Map<RemoteServer, Kept>();
  readonly #restUntilMs = new WeakMap<RemoteServer, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How far the branch of a server was read, or null. */
  of(server: RemoteServer): HeaderPlan | null {
    const kept = this.#kept.get(server);
    if (kept === undefined) return null;
    // A clock that was set back forgets it, too.
    return Math.abs(this.#clock.nowMs() - kept.atMs) <= KEPT_MS ? kept.plan : null;
  }

  /** A look at a server's branch is over. `plan`: what is to be read on; null: nothing. `sinceMs`: when it began. */
  looked(server: RemoteServer, plan: HeaderPlan | null, sinceMs: number): void {
    const nowMs = this.#clock.nowMs();
    this.forget(server);
    if (plan !== null && plan.headers.length <= MAX_HEADERS) this.#kept.set(server, { plan, atMs: nowMs });
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined && this.#kept.size > MAX_BRANCHES) this.#kept.delete(oldest);
    const tookMs = nowMs - sinceMs;
    if (tookMs > QUICK_MS) this.#restUntilMs.set(server, nowMs + Math.min(MAX_REST_MS, REST_FACTOR * tookMs));
  }

  forget(server: RemoteServer): void {
    this.#kept.delete(server);
  }

  /** Whether a server's branch is left alone now. */
  rests(server: RemoteServer): boolean {
    const leftMs = (this.#restUntilMs.get(server) ?? 0) - this.#clock.nowMs();
    // A clock that was set back must not make the rest hours longer.
    return leftMs > 0 && leftMs <= MAX_REST_MS;
  }
}
