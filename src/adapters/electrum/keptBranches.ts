import type { ChainIndex } from "../../chainIndex/chainIndex.ts";
import { dropOldest } from "../../core/util/dropOldest.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Anchored } from "./checkedHeaders.ts";
import type { HeaderPlan } from "./headerPlan.ts";
import type { HeaderReader } from "./headerReader.ts";
import type { RemoteServer } from "./remoteServer.ts";
import { withinMs } from "./withinMs.ts";

/** So long a look waits for a branch, ms. One that takes longer and is not better is left alone for so many times as long, and at most so long, ms. */
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
/** What was read of a branch, from when to when, unix ms; null: its server gave nothing. */
export type BranchRead = { readonly plan: HeaderPlan | null; readonly sinceMs: number; readonly untilMs: number };
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
  readonly #reading = new WeakMap<RemoteServer, Promise<BranchRead>>();

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
    const { reader } = this.#deps;
    const kept = this.of(server);
    const [first, last] = [kept?.headers[0], kept?.headers.at(-1)];
    if (!kept || kept.fork === null || kept.chain === null || !first || !last || kept.height > tipHeight) return null;
    const here = this.#parts(kept) ? await reader.headerOf(server, kept.height) : null;
    return here?.ok && here.value.hash === last.hash ? { ...kept, fork: kept.fork, chain: kept.chain } : null;
  }

  /** Whether a branch parts from our chain where it did. */
  #parts({ fork, headers: [first] }: HeaderPlan): boolean {
    const { index } = this.#deps;
    if (fork === null || first === undefined) return false;
    return index.headerAt(fork)?.hash === first.prevHash && index.headerAt(fork + 1)?.hash !== first.hash;
  }

  /**
   * What is read of a server's branch. What takes long goes on, and is there at a later look, if it still parts from our chain where
   * it did: one that answers late must not hold up each look. Null: not yet.
   */
  async read(server: RemoteServer, begin: () => Promise<HeaderPlan | null>): Promise<BranchRead | null> {
    const { clock } = this.#deps;
    const before = this.#reading.get(server);
    const reading = before ?? this.#timed(begin);
    this.#reading.set(server, reading);
    // One that is being read already has been waited for.
    const read = await withinMs(clock, before === undefined ? QUICK_MS : 0, reading);
    if (read === null) return null;
    this.#reading.delete(server);
    const isStale = before !== undefined && read.plan?.chain != null && !this.#parts(read.plan);
    return isStale ? { ...read, plan: null } : read;
  }

  async #timed(begin: () => Promise<HeaderPlan | null>): Promise<BranchRead> {
    const { clock } = this.#deps;
    const sinceMs = clock.nowMs();
    const plan = await begin();
    return { plan, sinceMs, untilMs: clock.nowMs() };
  }

  /** A look at a server's branch is over. `plan`: what is to be read on; null: nothing. The look after it may be hours later. */
  looked(server: RemoteServer, { plan, sinceMs, untilMs }: BranchRead): void {
    this.forget(server);
    if (plan !== null && plan.headers.length <= MAX_HEADERS) this.#kept.set(server, { plan, atMs: this.#deps.clock.nowMs() });
    dropOldest(this.#kept, MAX_BRANCHES);
    const tookMs = untilMs - sinceMs;
    if (tookMs > QUICK_MS) this.#restUntilMs.set(server, untilMs + Math.min(MAX_REST_MS, REST_FACTOR * tookMs));
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
