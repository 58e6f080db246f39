import type { ChainIndex } from "../../chainIndex/chainIndex.ts";
import { dropOldest } from "../../core/util/dropOldest.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Anchored } from "./checkedHeaders.ts";
import type { HeaderPlan } from "./headerPlan.ts";
import type { HeaderReader } from "./headerReader.ts";
import type { RemoteServer } from "./remoteServer.ts";

/** A branch that took longer to look at and is not better is left alone for so many times as long, and at most so long, ms. */
const QUICK_MS = 2_000;
const REST_FACTOR = 10;
const MAX_REST_MS = 1_800_000;
/** Branches that are read on, of so many headers, for so long after a look at them, ms: those that went further wait for our chain to go on. */
const MAX_BRANCHES = 8;
const MAX_HEADERS = 2_000;
const KEPT_MS = 3_600_000;

export type KeptBranchesDeps = { readonly index: ChainIndex; readonly reader: HeaderReader; readonly clock: Clock };
/** A branch that its server has and that parts from our chain at `fork`. */
type Standing = HeaderPlan & { readonly fork: number; readonly chain: Anchored };
type Kept = { readonly plan: HeaderPlan; readonly atMs: number };

/**
 * What is known of branches that servers show and nobody follows: where headers are dear to check, a way of more than a hundred is read at
 * several looks, and one that answers late is left alone between them.
 */
export class KeptBranches {
  readonly #deps: KeptBranchesDeps;
  /** By server, oldest look first. */
  readonly #kept = new Map<RemoteServer, Kept>();
  readonly #restUntilMs = new WeakMap<RemoteServer, number>();

  constructor(deps: KeptBranchesDeps) {
    this.#deps = deps;
  }

  /** How far the branch of a server was read, or null. */
  of(server: RemoteServer): HeaderPlan | null {
    const kept = this.#kept.get(server);
    if (kept === undefined) return null;
    // A clock that was set back forgets it, too.
    return Math.abs(this.#deps.clock.nowMs() - kept.atMs) <= KEPT_MS ? kept.plan : null;
  }

  /** What was read of a server's branch, if that server still has it, and it still parts from our chain where it did. */
  async standing(server: RemoteServer, tipHeight: number): Promise<Standing | null> {
    const { index, reader } = this.#deps;
    const kept = this.of(server);
    const [first, last] = [kept?.headers[0], kept?.headers.at(-1)];
    if (!kept || kept.fork === null || kept.chain === null || !first || !last || kept.height > tipHeight) return null;
    const parts = index.headerAt(kept.fork)?.hash === first.prevHash && index.headerAt(kept.fork + 1)?.hash !== first.hash;
    const here = parts ? await reader.headerOf(server, kept.height) : null;
    return here?.ok && here.value.hash === last.hash ? { ...kept, fork: kept.fork, chain: kept.chain } : null;
  }

  /** A look at a server's branch is over. `plan`: what is to be read on; null: nothing. `sinceMs`: when it began. */
  looked(server: RemoteServer, plan: HeaderPlan | null, sinceMs: number): void {
    const nowMs = this.#deps.clock.nowMs();
    this.forget(server);
    if (plan !== null && plan.headers.length <= MAX_HEADERS) this.#kept.set(server, { plan, atMs: nowMs });
    dropOldest(this.#kept, MAX_BRANCHES);
    const tookMs = nowMs - sinceMs;
    if (tookMs > QUICK_MS) this.#restUntilMs.set(server, nowMs + Math.min(MAX_REST_MS, REST_FACTOR * tookMs));
  }

  forget(server: RemoteServer): void {
    this.#kept.delete(server);
  }

  /** Whether a server's branch is left alone now. */
  rests(server: RemoteServer): boolean {
    const leftMs = (this.#restUntilMs.get(server) ?? 0) - this.#deps.clock.nowMs();
    // A clock that was set back must not make the rest hours longer.
    return leftMs > 0 && leftMs <= MAX_REST_MS;
  }
}
