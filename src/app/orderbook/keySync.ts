import type { AnnouncedRoot } from "../../core/book/bookChange.ts";
import type { OrderbookState } from "../../core/book/orderbookState.ts";
import { parseSyncAnswer } from "../../core/message/orderbookAnswer.ts";
import { encodeP2pRequest } from "../../core/message/requestMessage.ts";
import { Aborted, type Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { P2p, PeerId } from "../../ports/network.ts";

/** Sync requests under way at most. One more is not made: the next keep-alive, 30 s later, asks again. */
const MAX_OPEN = 64;

export type KeySyncDeps = { readonly p2p: P2p; readonly clock: Clock; readonly log: Log; readonly book: OrderbookState };

/** Fetches the orders of a key whose announced roots differ from ours, from the peer that delivered its keep-alive. */
export class KeySync {
  readonly #deps: KeySyncDeps;
  readonly #open = new Set<string>();
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
    if (this.#open.has(name) || this.#open.size >= MAX_OPEN) return;
    this.#open.add(name);
    void this.#run(peer, pubkey, announced).finally(() => this.#open.delete(name));
  }

  /** Never rejects. */
  async #run(peer: PeerId, pubkey: string, announced: readonly AnnouncedRoot[]): Promise<void> {
    const { p2p, clock, log, book } = this.#deps;
    const { signal } = this.#stopping;
    const trieRoots = announced.map(({ pair, root }) => [pair, root] as const);
    const fields = { peer, pubkey, pairs: announced.map(({ pair }) => pair) };
    try {
      const answer = await p2p.request(peer, encodeP2pRequest({ type: "SyncPubkeyOrderbookState", pubkey, trieRoots }), signal);
      if (signal.aborted) return;
      if (answer.kind !== "ok") {
        log.debug("orderbook_sync_refused", { ...fields, answer: answer.kind });
        return;
      }
      const parsed = parseSyncAnswer(answer.data);
      if (parsed.ok) book.syncAnswer(pubkey, announced, parsed.value, peer, clock.nowMs());
      else log.warn("orderbook_sync_unreadable", { ...fields, detail: parsed.error.detail });
    } catch (cause) {
      if (!(cause instanceof Aborted)) log.warn("orderbook_sync_failed", { ...fields, cause: String(cause) });
    }
  }
}
