import type { Server } from "node:net";
import type { Libp2p } from "libp2p";
import type { Secret } from "../../core/util/secret.ts";
import type { Clock } from "../../ports/clock.ts";
import { Handshakes } from "./handshakes.ts";
import { MuxerFloods } from "./muxerFloods.ts";
import { PendingInbound } from "./pendingInbound.ts";
import { MAX_UNREAD_IN_ALL, UnreadBytes } from "./unreadBytes.ts";

const MAX_STREAMS = 512;
/** Bytes a peer may send on one stream before they are read; the library gives up a stream at 4 MiB. */
const STREAM_WINDOW = 512 * 1024;
/** Bytes that wait for a peer to read them: so much goes out on the sixteen streams on which one is answered at a time, and half as much again. */
const MAX_UNREAD_BYTES = 6 * 1024 * 1024;
const DEFAULT_MAX_PEERS = 512;
/** Connections beside one of each peer. Who comes to a full house is refused, or let in for somebody who is silent, by whoever manages peers: the library must not refuse it before. */
const SPARE_CONNECTIONS = 88;
/** New connections a second from one address. */
const INBOUND_PER_SEC = 100;
/** Handshakes at the same time above which the library lets in nobody at all: `PendingInbound` turns away before that. */
const MAX_HANDSHAKES = 1024;
/** Upgrade of a connection (p2p-wire.md 1) and negotiation of a stream. */
const UPGRADE_TIMEOUT_MS = 20_000;
const NEGOTIATION_TIMEOUT_MS = 10_000;

export type Libp2pOptions = {
  /** 32 bytes: SHA-256 of the node key on a seed, random on a light node. */
  readonly identitySeed: Secret<Uint8Array>;
  /** Multiaddresses to listen on, e.g. `/ip4/0.0.0.0/tcp/47771`; `…/wss` needs `tls`. Empty on a light node. */
  readonly listen: readonly string[];
  /** Private key and certificate chain in PEM, for wss. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** False leaves out `/ws` and `/wss`, which saves 40 ms and 6 MB; true when not given. */
  readonly websocket?: boolean;
  /** Peers there may be, in and out; default 512. */
  readonly maxPeers?: number;
  /** Bytes that may wait for all peers together to read them; default 256 MiB. */
  readonly maxUnreadBytes?: number;
};

/** A configured libp2p, not started. */
export type Node = {
  readonly libp2p: Libp2p;
  parseAddress(address: string): Parameters<Libp2p["dial"]>[0];
  stop(): Promise<void>;
};

/** Loads the library (about 200 ms and 45 MB) only here, so that a node answers its first RPC before that. */
export async function createNode(options: Libp2pOptions, clock: Clock): Promise<Node> {
  const [{ createLibp2p }, { tcp }, { noise }, { yamux }, { generateKeyPairFromSeed }, { multiaddr }] = await Promise.all([
    import("libp2p"),
    import("@libp2p/tcp"),
    import("@libp2p/noise"),
    import("@libp2p/yamux"),
    import("@libp2p/crypto/keys"),
    import("@multiformats/multiaddr"),
  ]);
  const pending = new PendingInbound();
  const floods = new MuxerFloods(clock);
  const unread = new UnreadBytes(clock, options.maxUnreadBytes ?? MAX_UNREAD_IN_ALL);
  const muxers = yamux({
    maxInboundStreams: MAX_STREAMS,
    maxOutboundStreams: MAX_STREAMS,
    streamOptions: { maxStreamWindowSize: STREAM_WINDOW },
  });
  const webSockets =
    options.websocket === false
      ? []
      : [watched((await import("@libp2p/websockets")).webSockets(options.tls === undefined ? {} : { https: options.tls }), pending)];
  const libp2p = await createLibp2p({
    start: false,
    privateKey: await generateKeyPairFromSeed("Ed25519", options.identitySeed.reveal()),
    addresses: { listen: [...options.listen] },
    transports: [tcp({ dialOpts: { noDelay: true }, listenOpts: { noDelay: true } }), ...webSockets],
    connectionEncrypters: [bounded(noise(), [floods, unread], new Handshakes(clock))],
    streamMuxers: [() => unread.limited(floods.limited(muxers()))],
    connectionMonitor: { enabled: false },
    connectionGater: {
      denyInboundConnection(connection) {
        const [host, port] = hostAndPort(String(connection.remoteAddr));
        connection.addEventListener("close", () => pending.ended(host, port));
        pending.began(host, port, () => connection.abort(new Error("too many handshakes at the same time")));
        return false;
      },
      denyInboundUpgradedConnection(_peer, connection) {
        pending.ended(...hostAndPort(String(connection.remoteAddr)));
        return false;
      },
    },
    connectionManager: {
      maxConnections: (options.maxPeers ?? DEFAULT_MAX_PEERS) + SPARE_CONNECTIONS,
      inboundConnectionThreshold: INBOUND_PER_SEC,
      maxIncomingPendingConnections: MAX_HANDSHAKES,
      inboundUpgradeTimeout: UPGRADE_TIMEOUT_MS,
      addressDialTimeout: UPGRADE_TIMEOUT_MS,
      dialTimeout: UPGRADE_TIMEOUT_MS,
      inboundStreamProtocolNegotiationTimeout: NEGOTIATION_TIMEOUT_MS,
      outboundStreamProtocolNegotiationTimeout: NEGOTIATION_TIMEOUT_MS,
      reconnectRetries: 0,
    },
  });
  return {
    libp2p,
    parseAddress: (address) => multiaddr(address),
    async stop() {
      pending.close();
      unread.close();
      await libp2p.stop();
    },
  };
}

/** Of a multiaddress that begins with the address of a host. */
function hostAndPort(address: string): [host: string, port: string] {
  const [, , host = "", , port = ""] = address.split("/");
  return [host, port];
}

type EncrypterFactory = ReturnType<typeof import("@libp2p/noise")["noise"]>;

/** What the library hands to an encrypter is a connection to an address, though its type does not say so. */
type Addressed = { readonly remoteAddr: unknown };

/** To everything a peer sends, the multiplexer answers something: for one that does not read the library would keep all of it. */
function bounded(factory: EncrypterFactory, bounds: readonly (MuxerFloods | UnreadBytes)[], handshakes: Handshakes): EncrypterFactory {
  return (components) => {
    const encrypter = factory(components);
    for (const side of ["secureInbound", "secureOutbound"] as const) {
      const secure = encrypter[side].bind(encrypter);
      encrypter[side] = async (connection, options) => {
        const [host] = hostAndPort(String((connection as unknown as Addressed).remoteAddr));
        if (side === "secureInbound" && !handshakes.begin(host)) throw new Error("too many handshakes");
        const secured = await secure(connection, options);
        secured.connection.maxWriteBufferLength = MAX_UNREAD_BYTES;
        for (const bound of bounds) bound.isFrom(secured.connection, host);
        return secured;
      };
    }
    return encrypter;
  };
}

type Factory = ReturnType<typeof import("@libp2p/websockets")["webSockets"]>;

/** The library counts a WebSocket once it is one. Until then its socket is waited for without end and known to nobody else, at a stop neither. */
function watched(factory: Factory, pending: PendingInbound): Factory {
  return (components) => {
    const transport = factory(components);
    const createListener = transport.createListener.bind(transport);
    transport.createListener = (options) => {
      const listener = createListener(options);
      const { server } = listener as unknown as { readonly server: Server };
      server.on("connection", (socket) => {
        const [host, port] = [socket.remoteAddress, String(socket.remotePort)];
        if (host === undefined) return;
        socket.once("close", () => pending.ended(host, port));
        pending.began(host, port, () => socket.destroy());
      });
      return listener;
    };
    return transport;
  };
}
