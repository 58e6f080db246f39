import { type Control, encodeFrame, MAX_FRAME_BYTES, type ParsedFrame, type WireMessage } from "../core/gossip/frame.ts";
import { hashKey, messageId, messageIdBytes } from "../core/gossip/messageId.ts";
import { parseFrame } from "../core/gossip/parseFrame.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { GossipVerdict, MeshView, PeerConnection, PeerId } from "../ports/network.ts";
import type { Rng } from "../ports/rng.ts";
import { GossipPeer } from "./gossipPeer.ts";
import { HaveWant } from "./haveWant.ts";
import { MessageCache } from "./messageCache.ts";
import { type JudgedMessage, type MessageHandler, MessageIntake } from "./messageIntake.ts";
import { OFFENCE, type RateLimit } from "./peerConduct.ts";
import { LIGHT_MESH, RELAY_MESH, RelayMesh } from "./relayMesh.ts";
import { TopicIndex } from "./topicIndex.ts";
import { TopicMesh } from "./topicMesh.ts";
import { WaitingPublishes } from "./waitingPublishes.ts";

const HEARTBEAT_MS = 1000;
/** Upkeep of the relay mesh comes with every tenth heartbeat. */
const HEARTBEATS_PER_UPKEEP = 10;
const NOBODY: readonly PeerId[] = [];

/** Rates per peer. A relay hands on the traffic of many. */
export type GossipRates = { readonly relay: RateLimit; readonly other: RateLimit };

export type RouterDeps = {
  readonly self: { readonly id: PeerId; readonly idBytes: Uint8Array };
  readonly isRelay: boolean;
  readonly rates: GossipRates;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly log: Log;
  readonly sendFrame: (peer: PeerId, frame: Uint8Array) => boolean;
  /** Hands over no more frames of a peer for now (true), or again. */
  readonly hold: (peer: PeerId, on: boolean) => void;
  /** The peer has done too much wrong: disconnect it and keep it away for a while. */
  readonly drop: (peer: PeerId, reason: string) => void;
  readonly onRelaysChanged: () => void;
  /** A peer this node has dialled or was given as a seed. */
  readonly isChosen: (peer: PeerId) => boolean;
};

/**
 * KDF's gossip (p2p-wire.md 3 and 4): relay mesh, subscriptions, publishing, forwarding, de-duplication, limits. A
 * message is forwarded once, after the application has accepted it; the reference's relay also forwards on arrival.
 */
export class GossipRouter {
  readonly #deps: RouterDeps;
  readonly #peers = new Map<PeerId, GossipPeer>();
  readonly #topics = new TopicIndex();
  readonly #relays: RelayMesh;
  readonly #mesh: TopicMesh;
  readonly #cache = new MessageCache();
  readonly #haveWant: HaveWant;
  readonly #intake: MessageIntake;
  readonly #waiting = new WaitingPublishes();
  readonly #subscribed = new Set<string>();
  #cancelHeartbeat: (() => void) | undefined;
  #heartbeats = 0;

  constructor(deps: RouterDeps) {
    this.#deps = deps;
    const { isRelay, rng } = deps;
    const sizes = isRelay ? RELAY_MESH : LIGHT_MESH;
    const send = (peer: PeerId, control: Control): void => this.#peers.get(peer)?.sendControl(encodeFrame({ control }));
    this.#intake = new MessageIntake({
      rng,
      log: deps.log,
      onVerdict: (verdict, judged) => this.#onVerdict(verdict, judged),
      onCrowded: deps.hold,
    });
    this.#relays = new RelayMesh({
      isRelay,
      sizes,
      rng,
      send,
      hasEverSubscribed: (peer) => this.#topics.hasEverSubscribed(peer),
      isChosen: deps.isChosen,
      onChange: () => this.#onMeshChange(),
    });
    this.#mesh = new TopicMesh({
      sizes,
      rng,
      send,
      hasCandidates: () => !this.#topics.isEmpty,
      candidates: (topic) => this.#directPeers(topic),
    });
    this.#haveWant = new HaveWant({
      cache: this.#cache,
      isSeen: (key, topic) => this.#intake.isSeen(key, topic, deps.clock.nowMs()),
      isWanted: (topic) => isRelay || this.#subscribed.has(topic),
      sendControl: send,
      sendFrame: deps.sendFrame,
    });
  }

  start(): void {
    this.#cancelHeartbeat = this.#deps.clock.after(HEARTBEAT_MS, () => this.#heartbeat());
  }

  stop(): void {
    this.#cancelHeartbeat?.();
    this.#cancelHeartbeat = undefined;
  }

  setMessageHandler(handler: MessageHandler): void {
    this.#intake.setHandler(handler);
  }

  addPeer(connection: PeerConnection): void {
    const { clock, sendFrame, rates } = this.#deps;
    const peer = new GossipPeer(connection, rates.other, clock.nowMs(), sendFrame);
    this.#peers.set(connection.id, peer);
    this.#relays.greet(connection.id);
    for (const topic of this.#subscribed) peer.sendControl(encodeFrame({ subscriptions: [{ subscribe: true, topic }] }));
  }

  removePeer(id: PeerId): void {
    if (!this.#peers.delete(id)) return;
    this.#topics.removePeer(id);
    this.#mesh.removePeer(id);
    this.#haveWant.removePeer(id);
    this.#relays.remove(id);
  }

  /** Relays this node sends to. */
  relays(): readonly PeerId[] {
    return [...this.#relays.mesh];
  }

  /** Every connected peer that said it is a relay. */
  connectedRelays(): ReadonlySet<PeerId> {
    return this.#relays.connected;
  }

  meshView(): MeshView {
    return {
      topics: new Map([...this.#subscribed].map((topic) => [topic, [...this.#mesh.peers(topic)]])),
      peerTopics: new Map([...this.#peers.keys()].map((peer) => [peer, [...this.#topics.topics(peer)]])),
      connectedRelays: [...this.#relays.connected],
    };
  }

  /** When the last frame of a peer came, unix ms; undefined when it is not connected. */
  heardMs(id: PeerId): number | undefined {
    return this.#peers.get(id)?.heardMs;
  }

  /** Holds an offence outside gossip against a peer. */
  blame(id: PeerId, cost: number, reason: string): void {
    const peer = this.#peers.get(id);
    if (peer !== undefined) this.#blame(peer, cost, reason);
  }

  /** A relay gets all topics and must not announce any: peers would no longer take it for a relay. */
  subscribe(topic: string): void {
    if (this.#deps.isRelay || this.#subscribed.has(topic)) return;
    this.#subscribed.add(topic);
    this.#mesh.join(topic);
    for (const peer of this.#peers.values()) peer.sendControl(encodeFrame({ subscriptions: [{ subscribe: true, topic }] }));
  }

  unsubscribe(topic: string): void {
    if (!this.#subscribed.delete(topic)) return;
    for (const peer of this.#peers.values()) peer.sendControl(encodeFrame({ subscriptions: [{ subscribe: false, topic }] }));
    this.#mesh.leave(topic, this.#deps.clock.nowMs());
  }

  /**
   * Sends an own message. Without a relay it waits up to 10 s for one.
   *
   * @param from author id bytes when another key than the node's stands behind the message
   */
  publish(topic: string, data: Uint8Array, from: Uint8Array = this.#deps.self.idBytes): void {
    const { clock, rng, log } = this.#deps;
    const message: WireMessage = { from, data, seqno: rng.bytes(8), topic };
    const frame = encodeFrame({ publish: [message] });
    if (frame.length > MAX_FRAME_BYTES) throw new RangeError(`a gossip message of ${frame.length} bytes, the limit is ${MAX_FRAME_BYTES}`);
    const id = messageId(data, message.seqno);
    this.#intake.noteOwn(id, topic, clock.nowMs());
    this.#cache.put(hashKey(id), messageIdBytes(id), topic, frame);
    const targets = new Set(this.#deps.isRelay ? this.#includingSubscribers(topic) : this.#directPeers(topic));
    for (const relay of this.#relays.mesh) targets.add(relay);
    for (const peer of targets) this.#sendMessage(peer, frame);
    if (this.#relays.mesh.size === 0 && !this.#waiting.add(frame, clock.nowMs())) log.warn("publish_lost_without_relay", { topic });
  }

  onFrame(id: PeerId, bytes: Uint8Array): void {
    const peer = this.#peers.get(id);
    if (peer === undefined) return;
    const nowMs = this.#deps.clock.nowMs();
    peer.heardMs = nowMs;
    if (!peer.conduct.takeFrame(bytes.length, nowMs)) {
      this.#judge(peer, "too many frames or bytes");
      return;
    }
    const parsed = parseFrame(bytes);
    if (!parsed.ok) {
      this.#blame(peer, OFFENCE.garbageFrame, `gossip frame refused: ${parsed.error.why}`);
      return;
    }
    const frame = parsed.value;
    this.#logUnknown(peer, frame);
    // Any part of a frame may end the connection; what comes behind it would be remembered for nobody.
    const isHere = (): boolean => this.#peers.get(id) === peer;
    for (const { subscribe, topic } of frame.subscriptions ?? []) {
      if (!isHere()) return;
      this.#onSubscription(peer, subscribe, topic);
    }
    if (frame.control !== undefined && isHere()) this.#onControl(peer, frame.control, nowMs);
    for (const message of frame.publish ?? []) {
      if (!isHere()) return;
      this.#onMessage(peer, ownMemory(message, bytes.length), nowMs);
    }
    for (let i = 0; i < frame.invalidMessages && isHere(); i++) this.#onInvalidMessage(peer, nowMs);
  }

  #onSubscription(peer: GossipPeer, subscribe: boolean, topic: string): void {
    if (!subscribe) {
      this.#topics.remove(peer.id, topic);
      this.#mesh.onUnsubscribed(peer.id, topic);
      return;
    }
    const taken = this.#topics.add(peer.id, topic);
    if (taken === "too_many") this.#blame(peer, OFFENCE.tooManyTopics, "too many topics");
    if (typeof taken === "object") this.#mesh.onUnsubscribed(peer.id, taken.left);
  }

  #onControl(peer: GossipPeer, control: Control, nowMs: number): void {
    if (!peer.conduct.takeControl(nowMs)) {
      this.#judge(peer, "too many control messages");
      return;
    }
    if (control.iAmRelay !== undefined) {
      this.#relays.onIAmRelay(peer.id, control.iAmRelay);
      if (this.#relays.connected.has(peer.id)) peer.conduct.setLimit(this.#deps.rates.relay);
    }
    if (control.included !== undefined) this.#relays.onIncluded(peer.id, control.included);
    if (control.graft !== undefined) this.#mesh.onGraft(peer.id, control.graft, nowMs);
    if (control.prune !== undefined) this.#mesh.onPrune(peer.id, control.prune, nowMs);
    if (control.ihave !== undefined) this.#haveWant.onIHave(peer.id, control.ihave);
    if (control.iwant !== undefined) this.#haveWant.onIWant(peer.id, control.iwant);
  }

  #onMessage(peer: GossipPeer, message: WireMessage, nowMs: number): void {
    if (!peer.conduct.takeMessage(nowMs)) {
      this.#judge(peer, "too many messages");
      return;
    }
    if (this.#deps.isRelay || this.#subscribed.has(message.topic)) this.#intake.take(peer.id, message, nowMs);
  }

  #onInvalidMessage(peer: GossipPeer, nowMs: number): void {
    if (!peer.conduct.takeMessage(nowMs)) this.#judge(peer, "too many messages");
    // A relay of the reference passes on whatever topic somebody made up, so only its rate is held against it.
    else if (!this.#relays.connected.has(peer.id)) this.#blame(peer, OFFENCE.invalidMessage, "malformed gossip message");
  }

  #onVerdict(verdict: GossipVerdict, judged: JudgedMessage): void {
    if (verdict === "accept") this.#forward(judged);
    else if (verdict === "reject") {
      // A relay of the reference forwards before it looks, so it answers only for what it wrote itself.
      const peer = this.#peers.get(judged.source);
      const isCourier = this.#relays.connected.has(judged.source) && !peer?.isAuthor(judged.message.from);
      if (peer !== undefined && !isCourier) this.#blame(peer, OFFENCE.rejectedMessage, "invalid message");
    }
  }

  #forward({ message, id, source, isHeldBy }: JudgedMessage): void {
    const { isRelay } = this.#deps;
    const { topic } = message;
    // A light node without direct neighbours on the topic has nobody to serve.
    if (!isRelay && this.#directPeers(topic).length === 0) return;
    const frame = encodeFrame({ publish: [message] });
    this.#cache.put(hashKey(id), messageIdBytes(id), topic, frame);
    const targets = new Set(isRelay ? this.#includingSubscribers(topic) : this.#mesh.peers(topic));
    if (isRelay) for (const relay of this.#relays.mesh) targets.add(relay);
    for (const target of targets) {
      // Whoever it names as its author gets it like all others: nothing proves the name, and a message's id does not cover it.
      if (target === source || isHeldBy(target)) continue;
      this.#sendMessage(target, frame);
    }
  }

  #sendMessage(peer: PeerId, frame: Uint8Array): void {
    // A full queue means a slow reader: it misses this message, everybody else goes on.
    if (!this.#deps.sendFrame(peer, frame)) this.#peers.get(peer)?.noteLostMessage();
  }

  /** Peers that want a topic and have this relay in their mesh. */
  #includingSubscribers(topic: string): PeerId[] {
    const { includedBy } = this.#relays;
    return [...this.#topics.peers(topic)].filter((peer) => includedBy.has(peer));
  }

  /** Peers subscribed to a topic that are no relays: light nodes connected directly. */
  #directPeers(topic: string): readonly PeerId[] {
    const peers = this.#topics.peers(topic);
    return peers.size === 0 ? NOBODY : [...peers].filter((peer) => !this.#relays.connected.has(peer));
  }

  #onMeshChange(): void {
    const [first] = this.#relays.mesh;
    if (first !== undefined) for (const frame of this.#waiting.takeAll(this.#deps.clock.nowMs())) this.#sendMessage(first, frame);
    this.#deps.onRelaysChanged();
  }

  #blame(peer: GossipPeer, cost: number, reason: string): void {
    peer.conduct.blame(cost, this.#deps.clock.nowMs());
    this.#judge(peer, reason);
  }

  #judge(peer: GossipPeer, reason: string): void {
    if (peer.conduct.isIntolerable && this.#peers.has(peer.id)) {
      this.removePeer(peer.id);
      this.#deps.drop(peer.id, reason);
    }
  }

  #logUnknown(peer: GossipPeer, frame: ParsedFrame): void {
    for (const field of frame.unknownControl) {
      if (peer.isNewUnknown(field)) this.#deps.log.info("unknown_gossip_control", { peer: peer.id, ...field });
    }
  }

  #heartbeat(): void {
    const { clock, log } = this.#deps;
    this.#cancelHeartbeat = clock.after(HEARTBEAT_MS, () => this.#heartbeat());
    const nowMs = clock.nowMs();
    for (const peer of this.#peers.values()) {
      if (!peer.flush()) this.#deps.drop(peer.id, "does not read");
      const lost = peer.takeLostMessages();
      if (lost > 0) log.debug("gossip_messages_lost", { peer: peer.id, count: lost });
    }
    this.#intake.expire(nowMs);
    this.#mesh.heartbeat(nowMs);
    if (!this.#cache.isEmpty && !this.#topics.isEmpty)
      for (const topic of this.#subscribed) this.#haveWant.announce(topic, this.#outsideMesh(topic));
    this.#haveWant.heartbeat();
    this.#cache.shift();
    this.#heartbeats++;
    if (this.#heartbeats % HEARTBEATS_PER_UPKEEP === 0) this.#relays.upkeep();
  }

  #outsideMesh(topic: string): readonly PeerId[] {
    const direct = this.#directPeers(topic);
    if (direct.length === 0) return direct;
    const mesh = new Set(this.#mesh.peers(topic));
    return direct.filter((peer) => !mesh.has(peer));
  }
}

/** A message that keeps no much larger frame alive while somebody holds on to it. */
function ownMemory(message: WireMessage, frameBytes: number): WireMessage {
  if (frameBytes <= 2048 + 2 * message.data.length) return message;
  const { from, data, seqno, topic, signature, key } = message;
  return {
    ...(from === undefined ? {} : { from: from.slice() }),
    data: data.slice(),
    ...(seqno === undefined ? {} : { seqno: seqno.slice() }),
    topic,
    ...(signature === undefined ? {} : { signature: signature.slice() }),
    ...(key === undefined ? {} : { key: key.slice() }),
  };
}
