import type { OrderbookState } from "../../core/book/orderbookState.ts";
import { parseOrderbookAnswer } from "../../core/message/orderbookAnswer.ts";
import { encodeP2pRequest } from "../../core/message/requestMessage.ts";
import { Aborted, type Clock } from "../../ports/clock.ts";
import type { PeerId } from "../../ports/network.ts";
import { type AskingDeps, askAnyRelay } from "./askAnyRelay.ts";

/** Pairs whose doubtful orders are asked about in one round. */
const MAX_CONFIRMED_PER_ROUND = 20;

export type BookLoaderDeps = AskingDeps & { readonly clock: Clock; readonly book: OrderbookState };

/** A pair whose book this node keeps, and how far it got with it. */
type FollowedPair = { readonly base: string; readonly rel: string; loaded: boolean };

/**
 * Fetches the books of followed pairs from relays: once when a pair is first wanted, again after all relays were lost.
 * What one relay says is then asked of another, since no answer is signed.
 */
export class BookLoader {
  readonly #deps: BookLoaderDeps;
  readonly #pairs = new Map<string, FollowedPair>();
  readonly #stopping = new AbortController();
  #hadRelays = false;
  #sweeping = false;

  constructor(deps: BookLoaderDeps) {
    this.#deps = deps;
    this.#hadRelays = deps.p2p.relays().length > 0;
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** Starts to follow a pair. Resolves after the first attempt to load it, whatever came of it; never rejects. */
  async add(pair: string, base: string, rel: string): Promise<void> {
    const followed: FollowedPair = { base, rel, loaded: false };
    this.#pairs.set(pair, followed);
    await this.#load(pair, followed);
  }

  remove(pair: string): void {
    this.#pairs.delete(pair);
  }

  /** To be called whenever relays came or went. True if the node had none and now has one. */
  relaysChanged(): boolean {
    const hasRelays = this.#deps.p2p.relays().length > 0;
    const reconnected = hasRelays && !this.#hadRelays;
    this.#hadRelays = hasRelays;
    if (reconnected) for (const followed of this.#pairs.values()) followed.loaded = false;
    if (hasRelays) void this.sweep();
    return reconnected;
  }

  /** One round over the pairs: loads what is not loaded, asks another relay about what is unconfirmed. Never rejects. */
  async sweep(): Promise<void> {
    if (this.#sweeping) return;
    this.#sweeping = true;
    try {
      let left = MAX_CONFIRMED_PER_ROUND;
      for (const [pair, followed] of [...this.#pairs]) {
        if (!followed.loaded) {
          if (await this.#load(pair, followed)) continue;
          // Nobody answers, or nobody tells this book: then it must not come before the others every time.
          this.#putLast(pair, followed);
          return;
        } else if (left > 0 && this.#doubtfulSources(pair).length > 0) {
          left--;
          await this.#confirm(pair, followed);
        }
      }
    } finally {
      this.#sweeping = false;
    }
  }

  #putLast(pair: string, followed: FollowedPair): void {
    if (this.#pairs.get(pair) !== followed) return;
    this.#pairs.delete(pair);
    this.#pairs.set(pair, followed);
  }

  async #load(pair: string, followed: FollowedPair): Promise<boolean> {
    const first = await this.#ask(pair, followed, []);
    if (first === null) return false;
    followed.loaded = true;
    // Always a second one where there is one: it confirms what the first has told, and tells what the first has hidden.
    await this.#ask(pair, followed, [first, ...this.#doubtfulSources(pair)]);
    return true;
  }

  async #confirm(pair: string, followed: FollowedPair): Promise<void> {
    await this.#ask(pair, followed, this.#doubtfulSources(pair));
  }

  /** Asks relays that are not in `not` until one gives a book, and takes it in. Returns who gave it; null for nobody. */
  async #ask(pair: string, { base, rel }: FollowedPair, not: readonly PeerId[]): Promise<PeerId | null> {
    const { clock, log, book } = this.#deps;
    const { signal } = this.#stopping;
    const request = encodeP2pRequest({ type: "GetOrderbook", base, rel });
    try {
      const told = await askAnyRelay(this.#deps, request, parseOrderbookAnswer, { about: pair, not, signal });
      if (told === null || signal.aborted) return null;
      book.orderbookAnswer(told.answer, pair, told.peer, clock.nowMs());
      return told.peer;
    } catch (cause) {
      if (!(cause instanceof Aborted)) log.warn("orderbook_not_loaded", { pair, cause: String(cause) });
    }
    return null;
  }

  /** Relays behind the unconfirmed orders of a pair; empty when all are confirmed. */
  #doubtfulSources(pair: string): readonly PeerId[] {
    const sources = new Set<PeerId>();
    for (const { confirmed, source } of this.#deps.book.inPair(pair)) if (!confirmed) sources.add(source ?? "");
    return [...sources];
  }
}
