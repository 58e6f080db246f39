import { ed25519PeerIdBytes, peerIdText } from "../../core/gossip/peerId.ts";
import type { Clock } from "../../ports/clock.ts";
import type { PeerConnection, PeerId, PeerTransport, TransportHandlers } from "../../ports/network.ts";
import type { MemoryLink } from "./memoryLink.ts";

export type MemoryTransportOptions = {
  /** 32 bytes; decides the peer id. */
  readonly identitySeed: Uint8Array;
  /** Addresses others can dial, any text, e.g. `/memory/1`. */
  readonly listen?: readonly string[];
};

/** What a transport needs of the net it is part of. */
type Net = {
  listen(address: string, transport: MemoryTransport | undefined): void;
  connect(from: MemoryTransport, address: string, signal: AbortSignal): Promise<PeerId>;
};

/** One node's end of the memory net. */
export class MemoryTransport implements PeerTransport {
  readonly self: { readonly id: PeerId; readonly idBytes: Uint8Array };
  readonly #net: Net;
  readonly #clock: Clock;
  readonly #listen: readonly string[];
  readonly #links = new Map<PeerId, MemoryLink>();
  #handlers: TransportHandlers | undefined;

  constructor(net: Net, clock: Clock, options: MemoryTransportOptions) {
    const idBytes = ed25519PeerIdBytes(options.identitySeed);
    this.self = { id: peerIdText(idBytes), idBytes };
    this.#net = net;
    this.#clock = clock;
    this.#listen = options.listen ?? [];
  }

  get isRunning(): boolean {
    return this.#handlers !== undefined;
  }

  isConnected(peer: PeerId): boolean {
    return this.#links.has(peer);
  }

  async start(handlers: TransportHandlers): Promise<void> {
    this.#handlers = handlers;
    for (const address of this.#listen) this.#net.listen(address, this);
  }

  async stop(): Promise<void> {
    for (const address of this.#listen) this.#net.listen(address, undefined);
    for (const link of [...this.#links.values()]) link.close();
    this.#handlers = undefined;
  }

  async dial(address: string, signal: AbortSignal): Promise<PeerId> {
    if (!this.isRunning) throw new Error("the transport is not running");
    return this.#net.connect(this, address, signal);
  }

  disconnect(peer: PeerId, _reason: string): void {
    const link = this.#links.get(peer);
    // Not inside the caller's own call: with sockets the news comes later, too.
    if (link !== undefined) this.#clock.after(0, () => link.close());
  }

  sendFrame(peer: PeerId, frame: Uint8Array): boolean {
    return this.#links.get(peer)?.sendFrame(this, frame) ?? false;
  }

  request(peer: PeerId, protocol: string, payload: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
    const link = this.#links.get(peer);
    return link === undefined ? Promise.reject(new Error("not connected")) : link.request(this, protocol, payload, signal);
  }

  /** For the net. */
  attach(link: MemoryLink, connection: PeerConnection): void {
    this.#links.set(connection.id, link);
    this.#handlers?.onPeer(connection);
  }

  /** For the link. */
  detach(peer: PeerId): void {
    if (this.#links.delete(peer)) this.#handlers?.onPeerGone(peer);
  }

  /** For the link. */
  deliver(peer: PeerId, frame: Uint8Array): void {
    if (this.#links.has(peer)) this.#handlers?.onFrame(peer, frame);
  }

  /** For the link. */
  async answer(peer: PeerId, protocol: string, payload: Uint8Array): Promise<Uint8Array | undefined> {
    return this.#handlers?.onRequest(peer, protocol, payload);
  }
}
