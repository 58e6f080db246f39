import { Aborted, type Clock, sleep, withDeadline } from "../../src/ports/clock.ts";
import type { GossipMessage, GossipVerdict, MeshView, P2p, PeerAnswer, PeerConnection, PeerId } from "../../src/ports/network.ts";

const LATENCY_MS = 10;
const DEADLINE_MS = 10_000;

type Gossip = { readonly id: number; readonly topic: string; readonly data: Uint8Array };
type GossipHandler = (message: GossipMessage) => GossipVerdict | Promise<GossipVerdict>;
type RequestHandler = (peer: PeerId, request: Uint8Array) => Promise<PeerAnswer>;

/**
 * The network as the application sees it, without gossip rules: light nodes send to the relays they are connected to,
 * relays pass on what their own application accepts. Messages can be lost on purpose.
 */
export class P2pHub {
  readonly #clock: Clock;
  readonly #nodes = new Map<PeerId, HubNode>();
  #published = 0;
  /** False: this message does not make it from one node to the other. */
  deliver: (from: PeerId, to: PeerId, message: { readonly topic: string; readonly data: Uint8Array }) => boolean = () => true;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  node(peerId: PeerId, options: { readonly isRelay?: boolean } = {}): HubNode {
    const node = new HubNode(this, this.#clock, peerId, options.isRelay ?? false);
    this.#nodes.set(peerId, node);
    return node;
  }

  connect(a: PeerId, b: PeerId): void {
    this.#link(a, b, true);
  }

  disconnect(a: PeerId, b: PeerId): void {
    this.#link(a, b, false);
  }

  /** For the nodes of this hub. */
  get(peerId: PeerId): HubNode | undefined {
    return this.#nodes.get(peerId);
  }

  /** For the nodes of this hub. */
  nextId(): number {
    return this.#published++;
  }

  /** For the nodes of this hub. */
  send(from: PeerId, to: PeerId, message: Gossip): void {
    if (!this.deliver(from, to, message)) return;
    this.#clock.after(LATENCY_MS, () => void this.#nodes.get(to)?.receive(from, message));
  }

  #link(a: PeerId, b: PeerId, up: boolean): void {
    const [x, y] = [this.#nodes.get(a), this.#nodes.get(b)];
    if (!x || !y) throw new Error(`no such nodes: ${a}, ${b}`);
    x.setPeer(y, up);
    y.setPeer(x, up);
  }
}

export class HubNode implements P2p {
  readonly peerId: PeerId;
  readonly isRelay: boolean;
  /** What was published here, oldest first. */
  readonly published: { readonly topic: string; readonly data: Uint8Array }[] = [];
  /** Requests asked of others, oldest first. */
  readonly asked: { readonly peer: PeerId; readonly request: Uint8Array }[] = [];
  /** Verdicts of the own application, oldest first. */
  readonly verdicts: GossipVerdict[] = [];
  readonly #hub: P2pHub;
  readonly #clock: Clock;
  readonly #peers = new Map<PeerId, HubNode>();
  readonly #topics = new Set<string>();
  readonly #seen = new Set<number>();
  readonly #listeners = new Set<() => void>();
  #onGossip: GossipHandler = () => "accept";
  #onRequest: RequestHandler = async () => ({ kind: "none" });

  constructor(hub: P2pHub, clock: Clock, peerId: PeerId, isRelay: boolean) {
    this.#hub = hub;
    this.#clock = clock;
    this.peerId = peerId;
    this.isRelay = isRelay;
  }

  setPeer(peer: HubNode, up: boolean): void {
    if (up) this.#peers.set(peer.peerId, peer);
    else this.#peers.delete(peer.peerId);
    if (peer.isRelay) for (const listener of [...this.#listeners]) listener();
  }

  publish(topic: string, data: Uint8Array): void {
    this.published.push({ topic, data });
    const message = { id: this.#hub.nextId(), topic, data };
    this.#seen.add(message.id);
    this.#forward(message, undefined);
  }

  async receive(from: PeerId, message: Gossip): Promise<void> {
    if (this.#seen.has(message.id) || !this.#peers.has(from)) return;
    this.#seen.add(message.id);
    const verdict = await this.#onGossip({ topic: message.topic, data: message.data, from });
    this.verdicts.push(verdict);
    if (verdict === "accept" && this.isRelay) this.#forward(message, from);
  }

  #forward(message: Gossip, from: PeerId | undefined): void {
    for (const peer of this.#peers.values()) {
      if (peer.peerId === from) continue;
      if (peer.isRelay || (this.isRelay && peer.#topics.has(message.topic))) this.#hub.send(this.peerId, peer.peerId, message);
    }
  }

  subscribe(topic: string): void {
    if (this.isRelay) throw new Error("a relay never subscribes");
    this.#topics.add(topic);
  }

  unsubscribe(topic: string): void {
    this.#topics.delete(topic);
  }

  subscribed(topic: string): boolean {
    return this.#topics.has(topic);
  }

  setMessageHandler(handler: GossipHandler): void {
    this.#onGossip = handler;
  }

  setRequestHandler(handler: RequestHandler): void {
    this.#onRequest = handler;
  }

  request(peer: PeerId, request: Uint8Array, signal?: AbortSignal): Promise<PeerAnswer> {
    this.asked.push({ peer, request });
    return withDeadline(this.#clock, DEADLINE_MS, signal, async (inner) => {
      await sleep(this.#clock, LATENCY_MS, inner);
      const node = this.#peers.get(peer);
      if (!node) return { kind: "err", message: "no answer: peer is gone" };
      const answer = await node.#onRequest(this.peerId, request);
      await sleep(this.#clock, LATENCY_MS, inner);
      return answer;
    });
  }

  async requestAnyRelay(request: Uint8Array, options: { readonly not?: readonly PeerId[]; readonly signal?: AbortSignal } = {}) {
    for (const peer of this.relays()) {
      if (options.not?.includes(peer)) continue;
      try {
        const answer = await this.request(peer, request, options.signal);
        if (answer.kind === "ok") return { peer, data: answer.data };
      } catch (cause) {
        if (!(cause instanceof Aborted) || options.signal?.aborted) throw cause;
      }
    }
    return null;
  }

  relays(): readonly PeerId[] {
    return Array.from(this.#peers.values()).flatMap((peer) => (peer.isRelay ? [peer.peerId] : []));
  }

  peers(): readonly PeerConnection[] {
    return Array.from(this.#peers.keys(), (id) => ({
      id,
      idBytes: new Uint8Array(),
      address: `/memory/${id}`,
      direction: "outbound" as const,
    }));
  }

  mesh(): MeshView {
    return {
      topics: new Map(Array.from(this.#topics, (topic) => [topic, []])),
      peerTopics: new Map(Array.from(this.#peers.values(), (peer) => [peer.peerId, [...peer.#topics]])),
      connectedRelays: this.relays(),
    };
  }

  onRelaysChanged(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async relayReady(signal?: AbortSignal): Promise<void> {
    while (this.relays().length === 0) await sleep(this.#clock, 1000, signal);
  }
}
