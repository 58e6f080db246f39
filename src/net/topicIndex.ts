import type { PeerId } from "../ports/network.ts";

/** Topics one peer may be subscribed to. KDF never leaves a swap topic, so old nodes have many. */
const MAX_TOPICS_PER_PEER = 5000;
/** All peers together, save that each may have its own few hundred whatever the others do. */
const MAX_SUBSCRIPTIONS = 100_000;
const ALWAYS_PER_PEER = 200;
/** Topics of swaps, which end: all others stay as long as their subscriber. */
const SWAP_PREFIX = "swap/";
const NOBODY: ReadonlySet<PeerId> = new Set();

/** Which peer has announced which topics. */
export class TopicIndex {
  readonly #byTopic = new Map<string, Set<PeerId>>();
  readonly #byPeer = new Map<PeerId, Set<string>>();
  /** Those of swaps among `#byPeer`, the oldest first. */
  readonly #swaps = new Map<PeerId, Set<string>>();
  #count = 0;

  /**
   * `too_many`: the peer is at its own limit, and none of its topics is a swap's. `no_room`: at everybody's, which is not its fault. Neither is
   * taken. `left`: the topic of its oldest swap made room for this one: a maker of KDF that runs for months follows thousands that are over, and the
   * one that begins counts.
   */
  add(peer: PeerId, topic: string): "added" | "too_many" | "no_room" | { readonly left: string } {
    const topics = this.topics(peer);
    if (topics.has(topic)) return "added";
    if (topics.size >= MAX_TOPICS_PER_PEER) {
      const [oldest] = this.#swaps.get(peer) ?? [];
      if (oldest === undefined) return "too_many";
      this.remove(peer, oldest);
      this.#insert(peer, topic);
      return { left: oldest };
    }
    if (topics.size >= ALWAYS_PER_PEER && this.#count >= MAX_SUBSCRIPTIONS) return "no_room";
    this.#insert(peer, topic);
    return "added";
  }

  #insert(peer: PeerId, topic: string): void {
    const topics = this.#byPeer.get(peer) ?? new Set();
    this.#byPeer.set(peer, topics);
    topics.add(topic);
    if (topic.startsWith(SWAP_PREFIX)) {
      const swaps = this.#swaps.get(peer) ?? new Set();
      this.#swaps.set(peer, swaps);
      swaps.add(topic);
    }
    let peers = this.#byTopic.get(topic);
    if (peers === undefined) {
      peers = new Set();
      this.#byTopic.set(topic, peers);
    }
    peers.add(peer);
    this.#count++;
  }

  remove(peer: PeerId, topic: string): void {
    if (!this.#byPeer.get(peer)?.delete(topic)) return;
    this.#count--;
    this.#swaps.get(peer)?.delete(topic);
    const peers = this.#byTopic.get(topic);
    peers?.delete(peer);
    if (peers?.size === 0) this.#byTopic.delete(topic);
  }

  removePeer(peer: PeerId): void {
    for (const topic of [...this.topics(peer)]) this.remove(peer, topic);
    this.#byPeer.delete(peer);
    this.#swaps.delete(peer);
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
