import type { Control, Prune } from "../core/gossip/frame.ts";
import type { PeerId } from "../ports/network.ts";
import { type Rng, shuffled } from "../ports/rng.ts";
import type { MeshSizes } from "./relayMesh.ts";

/** A pruned peer is not grafted again for this long; after leaving a topic for the shorter time (p2p-wire.md 3). */
const PRUNE_BACKOFF_SEC = 60;
const UNSUBSCRIBE_BACKOFF_SEC = 10;
/** The longest back-off taken from a peer, seconds. */
const MAX_BACKOFF_SEC = 3600;

type Deps = {
  readonly sizes: MeshSizes;
  readonly rng: Rng;
  readonly send: (peer: PeerId, control: Control) => void;
  /** Whether any connected peer is subscribed to any topic. Without one every mesh is empty. */
  readonly hasCandidates: () => boolean;
  /** Connected peers subscribed to a topic that are no relays. */
  readonly candidates: (topic: string) => readonly PeerId[];
};

/**
 * Ordinary gossip meshes per topic. In this network they join only light nodes that are connected to each other
 * directly, since relays subscribe to nothing.
 */
export class TopicMesh {
  readonly #deps: Deps;
  readonly #meshes = new Map<string, Set<PeerId>>();
  /** topic → peer → unix ms until which it is not grafted. */
  readonly #backoff = new Map<string, Map<PeerId, number>>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  join(topic: string): void {
    if (!this.#meshes.has(topic)) this.#meshes.set(topic, new Set());
  }

  leave(topic: string, nowMs: number): void {
    for (const peer of this.#meshes.get(topic) ?? []) {
      this.#setBackoff(topic, peer, UNSUBSCRIBE_BACKOFF_SEC, nowMs);
      this.#deps.send(peer, { prune: [{ topic, backoffSec: UNSUBSCRIBE_BACKOFF_SEC }] });
    }
    this.#meshes.delete(topic);
  }

  peers(topic: string): Iterable<PeerId> {
    return this.#meshes.get(topic) ?? [];
  }

  /** Grafts for topics this node is not in go unanswered, as in the reference. */
  onGraft(peer: PeerId, topics: readonly string[], nowMs: number): void {
    const refused: Prune[] = [];
    for (const topic of new Set(topics)) {
      const mesh = this.#meshes.get(topic);
      if (mesh === undefined || mesh.has(peer)) continue;
      if (mesh.size < this.#deps.sizes.high && !this.#isBackedOff(topic, peer, nowMs) && this.#deps.candidates(topic).includes(peer))
        mesh.add(peer);
      else {
        refused.push({ topic, backoffSec: PRUNE_BACKOFF_SEC });
        this.#setBackoff(topic, peer, PRUNE_BACKOFF_SEC, nowMs);
      }
    }
    if (refused.length > 0) this.#deps.send(peer, { prune: refused });
  }

  onPrune(peer: PeerId, prunes: readonly Prune[], nowMs: number): void {
    for (const { topic, backoffSec = PRUNE_BACKOFF_SEC } of prunes) {
      if (!this.#meshes.get(topic)?.delete(peer)) continue;
      this.#setBackoff(topic, peer, Math.min(backoffSec, MAX_BACKOFF_SEC), nowMs);
    }
  }

  onUnsubscribed(peer: PeerId, topic: string): void {
    this.#meshes.get(topic)?.delete(peer);
  }

  removePeer(peer: PeerId): void {
    for (const mesh of this.#meshes.values()) mesh.delete(peer);
  }

  heartbeat(nowMs: number): void {
    const { sizes, rng, send, candidates } = this.#deps;
    this.#forgetBackoffs(nowMs);
    if (!this.#deps.hasCandidates()) return;
    for (const [topic, mesh] of this.#meshes) {
      if (mesh.size < sizes.low) {
        const all = candidates(topic);
        if (all.length === 0) continue;
        const wanted = all.filter((peer) => !mesh.has(peer) && !this.#isBackedOff(topic, peer, nowMs));
        for (const peer of shuffled(rng, wanted).slice(0, sizes.n - mesh.size)) {
          mesh.add(peer);
          send(peer, { graft: [topic] });
        }
      } else if (mesh.size > sizes.high) {
        for (const peer of shuffled(rng, mesh).slice(sizes.n)) {
          mesh.delete(peer);
          this.#setBackoff(topic, peer, PRUNE_BACKOFF_SEC, nowMs);
          send(peer, { prune: [{ topic, backoffSec: PRUNE_BACKOFF_SEC }] });
        }
      }
    }
  }

  #isBackedOff(topic: string, peer: PeerId, nowMs: number): boolean {
    return (this.#backoff.get(topic)?.get(peer) ?? 0) > nowMs;
  }

  #setBackoff(topic: string, peer: PeerId, seconds: number, nowMs: number): void {
    let peers = this.#backoff.get(topic);
    if (peers === undefined) {
      peers = new Map();
      this.#backoff.set(topic, peers);
    }
    peers.set(peer, nowMs + seconds * 1000);
  }

  #forgetBackoffs(nowMs: number): void {
    for (const [topic, peers] of this.#backoff) {
      for (const [peer, untilMs] of peers) if (untilMs <= nowMs) peers.delete(peer);
      if (peers.size === 0) this.#backoff.delete(topic);
    }
  }
}
