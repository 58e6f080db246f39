import type { AnnouncedRoot } from "../../core/book/bookChange.ts";
import type { OrderbookState } from "../../core/book/orderbookState.ts";
import { type PairDiff, parseSyncAnswer } from "../../core/message/orderbookAnswer.ts";
import { encodeP2pRequest } from "../../core/message/requestMessage.ts";
import { Aborted, type Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { P2p, PeerId } from "../../ports/network.ts";
import { KeyedBuckets } from "./keyedBuckets.ts";

/** Questions about keys under way: to all peers, and to one. */
const MAX_OPEN = 256;
const MAX_OPEN_PER_PEER = 16;
/** Orders in answers, of one peer and of all: hashing one takes some 50 microseconds. */
const PEER_RATE = { perSec: 1000, burst: 10_000 };
const MAX_PEERS = 1000;
const TOTAL_RATE = { perSec: 5000, burst: 40_000 };

/** Name of the budget that all share. */
const ALL = "all";
const sizeOf = (diff: PairDiff): number => (diff.type === "FullTrie" ? diff.orders : diff.changes).length;

/** A question under way; `end` breaks it off. */
type Open = { readonly peer: PeerId; readonly pubkey: string; readonly end: AbortController };

export type KeySyncDeps = { readonly p2p: P2p; readonly clock: Clock; readonly log: Log; readonly book: OrderbookState };

/**
 * Fetches the orders of a key whose announced roots differ from ours, from the peer that delivered its keep-alive. When
 * what it gives does not hash to those roots, one other relay is asked: whoever is fastest must not be able to hide orders.
 */
export class KeySync {
  readonly #deps: KeySyncDeps;
  /** By key and pairs, the oldest first. */
  readonly #open = new Map<string, Open>();
  readonly #peerBudget = new KeyedBuckets(PEER_RATE, MAX_PEERS);
  readonly #budget = new KeyedBuckets(TOTAL_RATE, 1);
  #turn = 0;
  #isStopped = false;

  constructor(deps: KeySyncDeps) {
    this.#deps = deps;
  }

  stop(): void {
    this.#isStopped = true;
    for (const { end } of this.#open.values()) end.abort();
  }

  /** Begins to ask, unless the same is being asked already. What has no room is asked for by the next keep-alive, 30 s later. */
  begin(peer: PeerId, pubkey: string, announced: readonly AnnouncedRoot[]): void {
    const name = `${pubkey} ${announced.map(({ pair }) => pair).join(" ")}`;
    if (this.#isStopped || this.#open.has(name) || !this.#makeRoom(peer, pubkey)) return;
    const open = { peer, pubkey, end: new AbortController() };
    this.#open.set(name, open);
    void this.#run(open, announced).finally(() => {
      if (this.#open.get(name) === open) this.#open.delete(name);
    });
  }

  /**
   * Anybody can announce what no order is behind, under ever new keys. So a question about a key that has orders in the book takes the
   * place of one about a key without, and where all places are taken whoever has most of them gives one up to a peer with fewer.
   */
  #makeRoom(peer: PeerId, pubkey: string): boolean {
    const counts = new Map<PeerId, number>();
    for (const open of this.#open.values()) counts.set(open.peer, (counts.get(open.peer) ?? 0) + 1);
    const here = counts.get(peer) ?? 0;
    if (here < MAX_OPEN_PER_PEER && this.#open.size < MAX_OPEN) return true;
    const { book } = this.#deps;
    if (book.knowsKey(pubkey) && this.#giveUp((open) => open.peer === peer && !book.knowsKey(open.pubkey))) return true;
    const most = Math.max(...counts.values());
    return here < MAX_OPEN_PER_PEER && here + 1 < most && this.#giveUp((open) => counts.get(open.peer) === most);
  }

  /** Breaks off the oldest question of a kind; false when there is none. */
  #giveUp(isOne: (open: Open) => boolean): boolean {
    for (const [name, open] of this.#open) {
      if (!isOne(open)) continue;
      this.#open.delete(name);
      open.end.abort();
      return true;
    }
    return false;
  }

  async #run({ peer, pubkey, end }: Open, announced: readonly AnnouncedRoot[]): Promise<void> {
    const { signal } = end;
    if ((await this.#ask(peer, pubkey, announced, signal)) || signal.aborted) return;
    const others = this.#deps.p2p.relays().filter((relay) => relay !== peer);
    const other = others[this.#turn++ % Math.max(1, others.length)];
    if (other !== undefined) await this.#ask(other, pubkey, announced, signal);
  }

  /** Takes the answer of one peer; true when it hashes to the announced roots. Never rejects. */
  async #ask(peer: PeerId, pubkey: string, announced: readonly AnnouncedRoot[], signal: AbortSignal): Promise<boolean> {
    const { p2p, clock, log, book } = this.#deps;
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
