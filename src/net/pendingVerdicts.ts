import type { PeerId } from "../ports/network.ts";

/** Messages waiting for the application's verdict: in all, of one peer, and their bytes. */
const MAX_PENDING = 8192;
const MAX_PENDING_PER_PEER = 4096;
const MAX_PENDING_BYTES = 32 * 1024 * 1024;
/**
 * A peer with this many waiting is asked to wait itself, and may go on when so few are left. When half of all places are
 * taken the lower pair counts, so that many peers together do not fill the queue either.
 */
const CROWDED = { above: 512, below: 256 };
const CROWDED_WHEN_BUSY = { above: 16, below: 8 };
/** An answer later than this no longer counts. */
const MAX_WAIT_MS = 30_000;

/** A message the application is thinking about. */
export type PendingMessage = {
  readonly key: string;
  readonly peer: PeerId;
  readonly bytes: number;
  readonly sinceMs: number;
  /** Peers that have delivered it meanwhile, the first one included: they do not get it from us. */
  readonly holders: Set<PeerId>;
};

/** The bounded queue of messages between arrival and verdict. */
export class PendingVerdicts {
  readonly #byKey = new Map<string, PendingMessage>();
  readonly #byPeer = new Map<PeerId, number>();
  readonly #crowded = new Set<PeerId>();
  readonly #onCrowded: (peer: PeerId, isCrowded: boolean) => void;
  #bytes = 0;

  /** @param onCrowded a peer has too many waiting, or no longer */
  constructor(onCrowded: (peer: PeerId, isCrowded: boolean) => void) {
    this.#onCrowded = onCrowded;
  }

  /** False when the queue is full, for everybody or for this peer. */
  hasRoom(peer: PeerId, bytes: number): boolean {
    if (this.#byKey.size >= MAX_PENDING || this.#bytes + bytes > MAX_PENDING_BYTES) return false;
    return (this.#byPeer.get(peer) ?? 0) < MAX_PENDING_PER_PEER;
  }

  enter(key: string, peer: PeerId, bytes: number, nowMs: number): PendingMessage {
    const pending: PendingMessage = { key, peer, bytes, sinceMs: nowMs, holders: new Set([peer]) };
    this.#byKey.set(key, pending);
    const waiting = (this.#byPeer.get(peer) ?? 0) + 1;
    this.#byPeer.set(peer, waiting);
    this.#bytes += bytes;
    if (waiting > this.#limits().above && !this.#crowded.has(peer)) {
      this.#crowded.add(peer);
      this.#onCrowded(peer, true);
    }
    return pending;
  }

  /** Notes that another peer has the message too. */
  addHolder(key: string, peer: PeerId): void {
    this.#byKey.get(key)?.holders.add(peer);
  }

  /** True when the verdict still counts. */
  leave(pending: PendingMessage): boolean {
    if (this.#byKey.get(pending.key) !== pending) return false;
    this.#byKey.delete(pending.key);
    this.#bytes -= pending.bytes;
    const left = (this.#byPeer.get(pending.peer) ?? 1) - 1;
    if (left > 0) this.#byPeer.set(pending.peer, left);
    else this.#byPeer.delete(pending.peer);
    if (left < this.#limits().below && this.#crowded.delete(pending.peer)) this.#onCrowded(pending.peer, false);
    return true;
  }

  #limits(): { readonly above: number; readonly below: number } {
    return this.#byKey.size > MAX_PENDING / 2 ? CROWDED_WHEN_BUSY : CROWDED;
  }

  /** Gives up on messages without a verdict; returns how many. */
  expire(nowMs: number): number {
    let count = 0;
    for (const pending of this.#byKey.values()) {
      if (nowMs - pending.sinceMs < MAX_WAIT_MS) break;
      this.leave(pending);
      count++;
    }
    return count;
  }
}
