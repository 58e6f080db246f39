import { ed25519PeerIdBytes, peerIdText } from "../../core/gossip/peerId.ts";
import { type Clock, sleep, withDeadline } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { PeerId, PeerTransport, TransportHandlers } from "../../ports/network.ts";
import type { Rng } from "../../ports/rng.ts";
import { createNode, type Libp2pOptions, type Node } from "./createNode.ts";
import { FrameReader } from "./frameReader.ts";
import { FrameWriter } from "./frameWriter.ts";
import type { Connection, Stream } from "./libp2pTypes.ts";
import { PING_PROTOCOL, PingAnswers, ping } from "./pings.ts";
import { exchange, RequestMemory, serve } from "./requestStream.ts";
import { TurnQueue } from "./turnQueue.ts";

const GOSSIP_PROTOCOLS = ["/meshsub/1.1.0", "/meshsub/1.0.0"];
const REQUEST_PROTOCOLS = ["/request-response/2", "/peers-exchange/2"];
/** As the reference: pings this often, waits this long, and closes on the first failure (p2p-wire.md 1). */
const PING_INTERVAL_MS = 15_000;
const PING_DEADLINE_MS = 20_000;
/** The longest an inbound request may take altogether. */
const SERVE_DEADLINE_MS = 20_000;
/** Streams at the same time per connection: gossip (one, and one that replaces it), requests of each protocol, pings. */
const GOSSIP_STREAMS = 4;
const REQUEST_STREAMS = 64;
const PING_STREAMS = 2;
/** Connections of one peer, since two nodes may dial each other at the same time; and second ones of all peers. */
const CONNECTIONS_PER_PEER = 2;
const MAX_SECOND_CONNECTIONS = 44;
/** Bytes of inbound requests that are still being read, all peers together. */
const MAX_REQUEST_MEMORY = 32 * 1024 * 1024;

export type Libp2pDeps = { readonly clock: Clock; readonly rng: Rng; readonly log: Log };

/** The transport over sockets, and where it listens once started (with the real port when 0 was asked for). */
export type Libp2pTransport = PeerTransport & { listenAddresses(): readonly string[] };

type Peer = {
  readonly connections: Set<Connection>;
  /** The connection that carries the outbound gossip stream. */
  readonly main: Connection;
  readonly writer: FrameWriter;
  inbound: { readonly stream: Stream; readonly reader: FrameReader } | undefined;
  isHeld: boolean;
  cancelPing: () => void;
};

/** `PeerTransport` over js-libp2p: tcp and websocket, noise, yamux (p2p-wire.md 1). The library is loaded by `start`. */
export function createLibp2pTransport(deps: Libp2pDeps, options: Libp2pOptions): Libp2pTransport {
  return new Transport(deps, options);
}

class Transport implements Libp2pTransport {
  readonly self: { readonly id: PeerId; readonly idBytes: Uint8Array };
  readonly #clock: Clock;
  readonly #rng: Rng;
  readonly #log: Log;
  readonly #options: Libp2pOptions;
  readonly #peers = new Map<PeerId, Peer>();
  readonly #turns: TurnQueue;
  readonly #requestMemory = new RequestMemory(MAX_REQUEST_MEMORY);
  #stopping = new AbortController();
  #node: Node | undefined;
  #handlers: TransportHandlers | undefined;

  constructor({ clock, rng, log }: Libp2pDeps, options: Libp2pOptions) {
    this.#clock = clock;
    this.#rng = rng;
    this.#log = log;
    this.#options = options;
    this.#turns = new TurnQueue(clock);
    const idBytes = ed25519PeerIdBytes(options.identitySeed.reveal());
    this.self = { id: peerIdText(idBytes), idBytes };
  }

  listenAddresses(): readonly string[] {
    return (this.#node?.libp2p.getMultiaddrs() ?? []).map(String);
  }

  async start(handlers: TransportHandlers): Promise<void> {
    const node = await createNode(this.#options, this.#clock);
    this.#stopping = new AbortController();
    this.#handlers = handlers;
    // Everything is in place before the first connection: peers ask within milliseconds.
    node.libp2p.addEventListener("connection:open", ({ detail }) => this.#onConnection(detail));
    node.libp2p.addEventListener("connection:close", ({ detail }) => this.#onConnectionClosed(detail));
    await node.libp2p.handle(GOSSIP_PROTOCOLS, (stream, connection) => this.#onGossipStream(stream, connection), {
      maxInboundStreams: GOSSIP_STREAMS,
      maxOutboundStreams: GOSSIP_STREAMS,
    });
    await node.libp2p.handle(REQUEST_PROTOCOLS, (stream, connection) => this.#onRequestStream(stream, connection), {
      maxInboundStreams: REQUEST_STREAMS,
      maxOutboundStreams: REQUEST_STREAMS,
    });
    const pings = new PingAnswers(this.#clock);
    await node.libp2p.handle(PING_PROTOCOL, (stream, connection) => pings.answer(stream, connection), {
      maxInboundStreams: PING_STREAMS,
      maxOutboundStreams: PING_STREAMS,
    });
    this.#node = node;
    try {
      await node.libp2p.start();
    } catch (cause) {
      this.#node = undefined;
      this.#handlers = undefined;
      throw cause;
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await sleep(this.#clock, 0);
    for (const peer of [...this.#peers.values()]) this.#abort(peer, "stopping");
    await this.#node?.stop();
    this.#node = undefined;
    this.#handlers = undefined;
  }

  async dial(address: string, signal: AbortSignal): Promise<PeerId> {
    const node = this.#running();
    const known = this.#peerAt(address);
    if (known !== undefined) return known;
    const connection = await node.libp2p.dial(node.parseAddress(address), { signal });
    return connection.remotePeer.toString();
  }

  disconnect(id: PeerId, reason: string): void {
    const peer = this.#peers.get(id);
    if (peer !== undefined) this.#clock.after(0, () => this.#abort(peer, reason));
  }

  sendFrame(id: PeerId, frame: Uint8Array): boolean {
    return this.#peers.get(id)?.writer.send(frame) ?? false;
  }

  hold(id: PeerId, on: boolean): void {
    const peer = this.#peers.get(id);
    if (peer === undefined) return;
    peer.isHeld = on;
    peer.inbound?.reader.hold(on);
  }

  async request(id: PeerId, protocol: string, payload: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
    const peer = this.#peers.get(id);
    if (peer === undefined) throw new Error("not connected");
    return exchange(await peer.main.newStream(protocol, { signal }), payload, signal);
  }

  #running(): Node {
    if (this.#node === undefined) throw new Error("the transport is not running");
    return this.#node;
  }

  /** A peer this node has dialled at an address, with the pin, if there is one, holding. */
  #peerAt(address: string): PeerId | undefined {
    const [host, pin] = address.split("/p2p/");
    for (const [id, { connections }] of this.#peers) {
      if (pin !== undefined && pin !== id) continue;
      for (const { direction, remoteAddr } of connections) {
        if (direction === "outbound" && remoteAddr.toString().split("/p2p/")[0] === host) return id;
      }
    }
    return undefined;
  }

  #onConnection(connection: Connection): void {
    const id = connection.remotePeer.toString();
    const known = this.#peers.get(id);
    if (known !== undefined) {
      if (this.#hasRoomForSecond(known)) known.connections.add(connection);
      else this.#clock.after(0, () => connection.abort(new Error("connected already")));
      return;
    }
    const peer: Peer = {
      connections: new Set([connection]),
      main: connection,
      writer: new FrameWriter({
        clock: this.#clock,
        open: (signal) => connection.newStream(GOSSIP_PROTOCOLS, { signal }),
        onBroken: (cause) => this.#onBroken(id, cause),
      }),
      inbound: undefined,
      isHeld: false,
      cancelPing: () => undefined,
    };
    this.#peers.set(id, peer);
    this.#schedulePing(id, peer);
    this.#handlers?.onPeer({
      id,
      idBytes: connection.remotePeer.toMultihash().bytes,
      address: connection.remoteAddr.toString(),
      direction: connection.direction,
    });
  }

  /** More connections of a peer do nothing, and would take the places of other peers. */
  #hasRoomForSecond({ connections }: Peer): boolean {
    if (connections.size >= CONNECTIONS_PER_PEER) return false;
    let second = 0;
    for (const peer of this.#peers.values()) second += peer.connections.size - 1;
    return second < MAX_SECOND_CONNECTIONS;
  }

  #onConnectionClosed(connection: Connection): void {
    const id = connection.remotePeer.toString();
    const peer = this.#peers.get(id);
    if (peer === undefined || !peer.connections.delete(connection)) return;
    // A second connection cannot take over: what the gossip stream of the first has said would be unknown to it.
    if (connection !== peer.main) return;
    peer.inbound?.reader.finish();
    this.#peers.delete(id);
    peer.cancelPing();
    peer.writer.close();
    for (const other of peer.connections) other.abort(new Error("the first connection has closed"));
    this.#node?.libp2p.peerStore.delete(connection.remotePeer).catch((cause: unknown) => {
      this.#log.debug("peer_store_failed", { peer: id, cause: String(cause) });
    });
    this.#handlers?.onPeerGone(id);
  }

  #onBroken(id: PeerId, cause: unknown): void {
    this.#log.debug("gossip_stream_broken", { peer: id, cause: String(cause) });
    this.disconnect(id, "gossip stream broken");
  }

  /**
   * Only in a turn of the event loop of its own: the multiplexer announces a stream one microtask after it was created
   * and throws where nobody can catch it when the connection has ended in between.
   */
  #abort(peer: Peer, reason: string): void {
    for (const connection of [...peer.connections]) connection.abort(new Error(reason));
  }

  /** The newest stream counts; an older one is ended. */
  #onGossipStream(stream: Stream, connection: Connection): void {
    const id = connection.remotePeer.toString();
    const peer = this.#peers.get(id);
    if (peer === undefined) {
      stream.abort(new Error("unknown peer"));
      return;
    }
    peer.inbound?.reader.finish();
    peer.inbound?.stream.abort(new Error("replaced by a newer stream"));
    const reader = new FrameReader(stream, peer.isHeld, {
      turns: this.#turns,
      onFrame: (frame) => {
        if (this.#peers.get(id) === peer) this.#handlers?.onFrame(id, frame);
      },
      onBroken: (cause) => {
        this.#log.debug("gossip_framing_broken", { peer: id, cause: String(cause) });
        this.disconnect(id, "framing broken");
      },
    });
    peer.inbound = { stream, reader };
  }

  #onRequestStream(stream: Stream, connection: Connection): void {
    const id = connection.remotePeer.toString();
    const answer = async (payload: Uint8Array): Promise<Uint8Array | undefined> => this.#handlers?.onRequest(id, stream.protocol, payload);
    withDeadline(this.#clock, SERVE_DEADLINE_MS, this.#stopping.signal, (signal) =>
      serve(stream, signal, this.#requestMemory, answer),
    ).catch((cause: unknown) => {
      this.#log.debug("request_not_served", { peer: id, protocol: stream.protocol, cause: String(cause) });
    });
  }

  #schedulePing(id: PeerId, peer: Peer): void {
    peer.cancelPing = this.#clock.after(PING_INTERVAL_MS, () => {
      this.#ping(peer).then(
        () => {
          if (this.#peers.get(id) === peer) this.#schedulePing(id, peer);
        },
        (cause: unknown) => {
          if (this.#peers.get(id) !== peer) return;
          this.#log.debug("ping_failed", { peer: id, cause: String(cause) });
          this.disconnect(id, "ping failed");
        },
      );
    });
  }

  #ping(peer: Peer): Promise<void> {
    return withDeadline(this.#clock, PING_DEADLINE_MS, this.#stopping.signal, async (signal) =>
      ping(await peer.main.newStream(PING_PROTOCOL, { signal }), this.#rng, signal),
    );
  }
}
