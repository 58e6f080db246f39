import { dropOldest } from "../../core/util/dropOldest.ts";
import { ok } from "../../core/util/result.ts";
import type { Clock } from "../../ports/clock.ts";
import { parseFullPeers } from "./answers.ts";
import { type DaemonCalls, RPC_MISC_ERROR } from "./daemonCalls.ts";

/** Blocks asked for at a time: a few steps of reading, and no more than a daemon has under way with one peer. */
export const FETCHED_AT_ONCE = 16;
/** A peer has so long before the next one is asked for the same block. */
const PATIENCE_MS = 10_000;
/** So many peers are asked for one block, one after another; then none for so long. */
const MAX_ASKED = 6;
const REST_MS = 600_000;
/** A daemon that cannot, or whose peers all prune, is left alone for so long: it may have found none yet. */
const CANNOT_MS = 60_000;
/** Blocks remembered, the last ones asked for. */
const MAX_KEPT = 1_000;

/**
 * Has a daemon fetch blocks again that it pruned away (`getblockfrompeer`, Bitcoin Core 23 and later): it takes them from a peer that keeps all,
 * and they are there some seconds later. Daemons that cannot, or whose peers all prune, are left alone for a while.
 */
export class PrunedBlocks {
  readonly #calls: DaemonCalls;
  readonly #clock: Clock;
  readonly #asked = new Map<string, { readonly times: number; readonly atMs: number }>();
  #couldNotAtMs = Number.NEGATIVE_INFINITY;

  constructor(calls: DaemonCalls, clock: Clock) {
    this.#calls = calls;
    this.#clock = clock;
  }

  /**
   * @param hashes of gone blocks, the first wanted first; `FETCHED_AT_ONCE` at most
   * @returns whether the first may be there soon
   */
  async fetch(hashes: readonly string[]): Promise<boolean> {
    const nowMs = this.#clock.nowMs();
    const restedMs = nowMs - this.#couldNotAtMs;
    // Less than none: the clock was set back.
    if (restedMs >= 0 && restedMs < CANNOT_MS) return false;
    const due = hashes.filter((hash) => this.#isDue(hash, nowMs));
    if (due.length > 0 && !(await this.#ask(due, nowMs))) this.#couldNotAtMs = nowMs;
    const [first = ""] = hashes;
    return nowMs - (this.#asked.get(first)?.atMs ?? Number.NEGATIVE_INFINITY) < PATIENCE_MS;
  }

  #isDue(hash: string, nowMs: number): boolean {
    const asked = this.#asked.get(hash);
    const sinceMs = nowMs - (asked?.atMs ?? Number.NEGATIVE_INFINITY);
    // Less than none: the clock was set back.
    return sinceMs < 0 || sinceMs >= (asked && asked.times >= MAX_ASKED ? REST_MS : PATIENCE_MS);
  }

  /** @returns false: this daemon cannot */
  async #ask(due: readonly string[], nowMs: number): Promise<boolean> {
    const peers = await this.#calls.ask("getpeerinfo", [], parseFullPeers);
    if (!peers.ok) return peers.error.kind !== "rpc" && peers.error.kind !== "bad_answer";
    if (peers.value.length === 0) return false;
    const times = due.map((hash) => (this.#asked.get(hash)?.times ?? 0) % MAX_ASKED);
    // Neighbours are asked of different peers, and each of another one the next time.
    const asking = due.map((hash, i) => [hash, peers.value[((times[i] ?? 0) + i) % peers.value.length]]);
    const answers = await this.#calls.askMany("getblockfrompeer", asking, () => ok(undefined));
    // What is there already, and a peer that has just left, are told with that code: the next look shows which.
    if (answers.every((a) => !a.ok && a.error.kind === "rpc" && a.error.code !== RPC_MISC_ERROR)) return false;
    for (const [i, hash] of due.entries()) {
      this.#asked.delete(hash);
      this.#asked.set(hash, { times: (times[i] ?? 0) + 1, atMs: nowMs });
    }
    dropOldest(this.#asked, MAX_KEPT);
    return true;
  }
}
