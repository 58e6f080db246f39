import type { PeerId } from "../ports/network.ts";

/** Questions to one peer, on average a second and at once: less than what a node of ours answers, since it leaves the rest unanswered. */
const PER_SEC = 16;
const BURST = 80;
/** A question that would have to wait longer is not asked. */
const MAX_WAIT_MS = 30_000;

const INTERVAL_MS = 1000 / PER_SEC;
const SAVED_MS = (BURST - 1) * INTERVAL_MS;

/**
 * When peers may be asked next. A client that looks at hundreds of books has as many questions asked; a relay drops what comes
 * faster than it answers, and the client would be shown empty books.
 */
export class RequestPace {
  /** When all that was asked of a peer so far is paid for, unix ms; who was asked longest ago in front. Who has nothing to pay is forgotten: strangers are asked, too, under ever new ids. */
  readonly #paidAtMs = new Map<PeerId, number>();

  /**
   * Takes a turn with whichever peer has the next one free; among equals with the first. Undefined: no peer, or none in time.
   *
   * @returns the peer, and in how many milliseconds it may be asked
   */
  takeTurn(peers: readonly PeerId[], nowMs: number): { readonly peer: PeerId; readonly waitMs: number } | undefined {
    let best: { readonly peer: PeerId; readonly waitMs: number } | undefined;
    for (const peer of peers) {
      const waitMs = Math.max(0, this.#paidAt(peer, nowMs) - nowMs - SAVED_MS);
      if (waitMs <= MAX_WAIT_MS && waitMs < (best?.waitMs ?? Number.POSITIVE_INFINITY)) best = { peer, waitMs };
    }
    if (best) this.#pay(best.peer, nowMs);
    return best;
  }

  /** Peers that are remembered. */
  get size(): number {
    return this.#paidAtMs.size;
  }

  #pay(peer: PeerId, nowMs: number): void {
    const paidAtMs = this.#paidAt(peer, nowMs) + INTERVAL_MS;
    this.#paidAtMs.delete(peer);
    for (const oldest of this.#paidAtMs.keys()) {
      if (this.#paidAt(oldest, nowMs) > nowMs) break;
      this.#paidAtMs.delete(oldest);
    }
    this.#paidAtMs.set(peer, paidAtMs);
  }

  #paidAt(peer: PeerId, nowMs: number): number {
    const paidAtMs = this.#paidAtMs.get(peer) ?? 0;
    // Nothing is asked that far ahead: the clock was set back.
    const isOfLater = paidAtMs > nowMs + MAX_WAIT_MS + SAVED_MS + INTERVAL_MS;
    return isOfLater ? nowMs : Math.max(nowMs, paidAtMs);
  }
}
