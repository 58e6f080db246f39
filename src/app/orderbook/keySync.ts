import type { AnnouncedRoot } from "../../core/book/bookChange.ts";
import type { OrderbookState } from "../../core/book/orderbookState.ts";
import { type PairDiff, parseSyncAnswer } from "../../core/message/orderbookAnswer.ts";
import { encodeP2pRequest } from "../../core/message/requestMessage.ts";
import { Aborted, type Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { P2p, PeerId } from "../../ports/network.ts";
import { KeyedBuckets } from "./keyedBuckets.ts";

/** Questions about keys under way: to all peers, and to one. One more is not asked: the next keep-alive, 30 s later, asks again. */
const MAX_OPEN = 256;
const MAX_OPEN_PER_PEER = 16;
/** Orders in answers, of one peer and of all: hashing one takes some 50 microseconds. */
const PEER_RATE = { perSec: 1000, burst: 10_000 };
const MAX_PEERS = 1000;
const TOTAL_RATE = { perSec: 5000, burst: 40_000 };

/** Name of the budget that all share. */
const ALL = "all";
const sizeOf = (diff: PairDiff): number => (diff.type === "FullTrie" ? diff.orders : diff.changes).length;

export type KeySyncDeps = { readonly p2p: P2p; readonly clock: Clock; readonly log: Log; readonly book: OrderbookState };

/**
 * Fetches the orders of a key whose announced roots differ from ours, from the peer that delivered its keep-alive. When
 * what it gives does not hash to those roots, one other relay is asked: whoever is fastest must not be able to hide orders.
 */
export class KeySync {
  readonly #deps: KeySyncDeps;
  readonly #open = new Set<string>();
  readonly #openOf = new Map<PeerId, number>();
  readonly #peerBudget = new KeyedBuckets(PEER_RATE, MAX_PEERS);
  readonly #budget = new KeyedBuckets(TOTAL_RATE, 1);
  #turn = 0;
  readonly #stopping = new AbortController();

  constructor(deps: KeySyncDeps) {
    this.#deps = deps;
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** Begins to ask, unless the same is being asked already. */
  begin(peer: PeerId, pubkey: string, announced: readonly AnnouncedRoot[]): void {
    const name = `${pubkey} ${announced.map(({ pair }) => pair).join(" ")}`;
    const openHere = this.#openOf.get(peer) ?? 0;
    if (this.#open.has(name) || this.#open.size >= MAX_OPEN || openHere >= MAX_OPEN_PER_PEER) return;
    this.#open.add(name);
    this.#openOf.set(peer, openHere + 1);
    void this.#run(peer, pubkey, announced).finally(() => {
      this.#open.delete(name);
      const left = (this.#openOf.get(peer) ?? 1) - 1;
      if (left > 0) this.#openOf.set(peer, left);
      else this.#openOf.delete(peer);
    });
  }

  async #run(peer: PeerId, pubkey: string, announced: readonly AnnouncedRoot[]): Promise<void> {
    if (await this.#ask(peer, pubkey, announced)) return;
    const others = this.#deps.p2p.relays().filter((relay) => relay !== peer);
    const other = others[this.#turn++ % Math.max(1, others.length)];
    if (other !== undefined && !this.#stopping.signal.aborted) await this.#ask(other, pubkey, announced);
  }

  /** Takes the answer of one peer; true when it hashes to the announced roots. Never rejects. */
  async #ask(peer: PeerId, pubkey: string, announced: readonly AnnouncedRoot[]): Promise<boolean> {
    const { p2p, clock, log, book } = this.#deps;
    const { signal } = this.#stopping;
    if (!this.#peerBudget.hasToken(peer, clock.nowMs()) || !this.#budget.hasToken(ALL, clock.nowMs())) return false;
    const trieRoots = announced.map(({ pair, root }) => [pair, root] as const);
    const fields = { peer, pubkey, pairs: announced.map(({ pair }) => pair) };
    try {
      const answer = await p2p.request(peer, encodeP2pRequest({ type: "SyncPubkeyOrderbookState", pubkey, trieRoots }), signal);
      if (signal.aborted) return false;
      if (answer.kind !== "ok") {
        log.debug("orderbook_sync_refused", { ...fields, answer: answer.kind });
        return false;
      }
      const parsed = parseSyncAnswer(answer.data);
      if (parsed.ok) {
        const orders = [...parsed.value.pairs.values()].reduce((sum, diff) => sum + sizeOf(diff), 0);
        this.#peerBudget.charge(peer, orders, clock.nowMs());
        this.#budget.charge(ALL, orders, clock.nowMs());
      }
      if (parsed.ok) return book.syncAnswer(pubkey, announced, parsed.value, peer, clock.nowMs());
      log.warn("orderbook_sync_unreadable", { ...fields, detail: parsed.error.detail });
    } catch (cause) {
      if (!(cause instanceof Aborted)) log.warn("orderbook_sync_failed", { ...fields, cause: String(cause) });
    }
    return false;
  }
}
