/** libp2p peer id: base58 text for people and maps, bytes for the wire. */
export type PeerId = string;

export type PeerConnection = {
  readonly id: PeerId;
  /** Multihash bytes (38 for ed25519, 39 for secp256k1). */
  readonly idBytes: Uint8Array;
  /** Multiaddress text of the other end. */
  readonly address: string;
  readonly direction: "inbound" | "outbound";
};

export type TransportHandlers = {
  readonly onPeer: (peer: PeerConnection) => void;
  readonly onPeerGone: (peer: PeerId) => void;
  /** One gossip frame (protobuf RPC, without the length prefix), at most 1,048,476 bytes. */
  readonly onFrame: (peer: PeerId, frame: Uint8Array) => void;
  /** One request on `protocol`; `undefined` = close the stream without an answer. */
  readonly onRequest: (peer: PeerId, protocol: string, payload: Uint8Array) => Promise<Uint8Array | undefined>;
};

/**
 * Connections to peers, below gossip. Two implementations: `adapters/libp2p` (sockets) and `adapters/memoryNet`
 * (function calls on a virtual clock, with faults). Gossip, discovery and limits live above it, in `net/`.
 */
export interface PeerTransport {
  readonly self: { readonly id: PeerId; readonly idBytes: Uint8Array };
  start(handlers: TransportHandlers): Promise<void>;
  stop(): Promise<void>;
  /** Dials a multiaddress (`/ip4/127.0.0.1/tcp/47771`, optionally `/p2p/<id>`, which is then enforced). */
  dial(address: string, signal: AbortSignal): Promise<PeerId>;
  disconnect(peer: PeerId, reason: string): void;
  /** Queues a gossip frame on the one outbound stream; false when the peer is gone or its queue is full. */
  sendFrame(peer: PeerId, frame: Uint8Array): boolean;
  /**
   * Stops (true) and goes on (false) handing over the gossip frames of a peer; a few that were under way still come.
   * What the peer sends meanwhile waits, here within bounds and then at the peer. A transport without it never waits.
   */
  hold?(peer: PeerId, on: boolean): void;
  /** One request-response exchange; rejects at the deadline of `signal`. */
  request(peer: PeerId, protocol: string, payload: Uint8Array, signal: AbortSignal): Promise<Uint8Array>;
}

/**
 * What the application says about a gossip message: forward it, drop it quietly, hold it against the peer, or it was
 * not looked at for want of room or budget, so that a copy from another peer is welcome.
 */
export type GossipVerdict = "accept" | "ignore" | "reject" | "busy";

export type GossipMessage = {
  readonly topic: string;
  readonly data: Uint8Array;
  /** The peer that handed it to us. */
  readonly from: PeerId;
};

/** Answer of `/request-response/2` (reference p2p-wire.md 5.2). `data` is MessagePack. */
export type PeerAnswer =
  | { readonly kind: "ok"; readonly data: Uint8Array }
  | { readonly kind: "none" }
  | { readonly kind: "err"; readonly message: string };

/** State of the gossip meshes at one moment. */
export type MeshView = {
  /** Peers this node sends a topic's messages to beside its relays, for each topic it is subscribed to. */
  readonly topics: ReadonlyMap<string, readonly PeerId[]>;
  /** Topics each connected peer is subscribed to. */
  readonly peerTopics: ReadonlyMap<PeerId, readonly string[]>;
  /** Connected peers that are relays; this node sends its messages to some of them (`relays()`). */
  readonly connectedRelays: readonly PeerId[];
};

/** The peer-to-peer network as the application sees it. Implemented in `net/`. */
export interface P2p {
  readonly peerId: PeerId;
  readonly isRelay: boolean;
  /** Signed by nobody at this level. `fromPeer`: author id bytes, for messages of per-order or watcher keys. */
  publish(topic: string, data: Uint8Array, fromPeer?: Uint8Array): void;
  subscribe(topic: string): void;
  unsubscribe(topic: string): void;
  setMessageHandler(handler: (message: GossipMessage) => GossipVerdict | Promise<GossipVerdict>): void;
  /** `request` is the MessagePack of a P2PRequest. Rejects with `Aborted` at the deadline. */
  request(peer: PeerId, request: Uint8Array, signal?: AbortSignal): Promise<PeerAnswer>;
  /** Asks the relays in the mesh one after another until one answers Ok; null if none does. `not`: relays to leave out. */
  requestAnyRelay(
    request: Uint8Array,
    options?: { readonly not?: readonly PeerId[]; readonly signal?: AbortSignal },
  ): Promise<{ readonly peer: PeerId; readonly data: Uint8Array } | null>;
  setRequestHandler(handler: (peer: PeerId, request: Uint8Array) => Promise<PeerAnswer>): void;
  relays(): readonly PeerId[];
  peers(): readonly PeerConnection[];
  /** Who talks to whom about what, for people who look. */
  mesh(): MeshView;
  /** Fires when a first relay appears and when one is (re)gained or lost. */
  onRelaysChanged(listener: () => void): () => void;
  /** Resolves when at least one relay is in the mesh. */
  relayReady(signal?: AbortSignal): Promise<void>;
}
