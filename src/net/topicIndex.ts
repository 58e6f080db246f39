import type { PeerId } from "../ports/network.ts";

/** Topics one peer may be subscribed to. KDF never leaves a swap topic, so old nodes have many. */
const MAX_TOPICS_PER_PEER = 5000;
/** All peers together, save that each may have its own few hundred whatever the others do. */
const MAX_SUBSCRIPTIONS = 100_000;
const ALWAYS_PER_PEER = 200;
const NOBODY: ReadonlySet<PeerId> = new Set();

/** Which peer has announced which topics. */
export class TopicIndex {
  readonly #byTopic = new Map<string, Set<PeerId>>();
  readonly #byPeer = new Map<PeerId, Set<string>>();
  #count = 0;

  /** `too_many`: the peer is at its own limit. `no_room`: at everybody's, which is not its fault. Neither is taken. */
  add(peer: PeerId, topic: string): "added" | "too_many" | "no_room" {
    let topics = this.#byPeer.get(peer);
    if (topics?.has(topic)) return "added";
    const held = topics?.size ?? 0;
    if (held >= MAX_TOPICS_PER_PEER) return "too_many";
    if (held >= ALWAYS_PER_PEER && this.#count >= MAX_SUBSCRIPTIONS) return "no_room";
    if (topics === undefined) {
      topics = new Set();
      this.#byPeer.set(peer, topics);
    }
    topics.add(topic);
    let peers = this.#byTopic.get(topic);
    if (peers === undefined) {
      peers = new Set();
      this.#byTopic.set(topic, peers);
    }
    peers.add(peer);
    this.#count++;
    return "added";
  }

  remove(peer: PeerId, topic: string): void {
    if (!this.#byPeer.get(peer)?.delete(topic)) return;
    this.#count--;
    const peers = this.#byTopic.get(topic);
    peers?.delete(peer);
    if (peers?.size === 0) this.#byTopic.delete(topic);
  }

  removePeer(peer: PeerId): void {
    for (const topic of [...this.topics(peer)]) this.remove(peer, topic);
    this.#byPeer.delete(peer);
  }

  /** No connected peer is subscribed to anything. */
  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** Whether the peer has announced a subscription since it connected, also one it has left again. */
  hasEverSubscribed(peer: PeerId): boolean {
    return this.#byPeer.has(peer);
  }

  peers(topic: string): ReadonlySet<PeerId> {
    return this.#byTopic.get(topic) ?? NOBODY;
  }

  topics(peer: PeerId): ReadonlySet<string> {
    return this.#byPeer.get(peer) ?? NOBODY;
  }
}
