import type { PeerId } from "../ports/network.ts";

/** Messages waiting for the application's verdict: in all, of one peer, and their bytes. */
const MAX_PENDING = 8192;
const MAX_PENDING_PER_PEER = 4096;
const MAX_PENDING_BYTES = 32 * 1024 * 1024;
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
  #bytes = 0;

  /** False when the queue is full, for everybody or for this peer. */
  hasRoom(peer: PeerId, bytes: number): boolean {
    if (this.#byKey.size >= MAX_PENDING || this.#bytes + bytes > MAX_PENDING_BYTES) return false;
    return (this.#byPeer.get(peer) ?? 0) < MAX_PENDING_PER_PEER;
  }

  enter(key: string, peer: PeerId, bytes: number, nowMs: number): PendingMessage {
    const pending: PendingMessage = { key, peer, bytes, sinceMs: nowMs, holders: new Set([peer]) };
    this.#byKey.set(key, pending);
    this.#byPeer.set(peer, (this.#byPeer.get(peer) ?? 0) + 1);
    this.#bytes += bytes;
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
    return true;
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
