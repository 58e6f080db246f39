import type { Libp2p } from "libp2p";
import type { Secret } from "../../core/util/secret.ts";
import type { Connection } from "./libp2pTypes.ts";

const MAX_STREAMS = 512;
/** Bytes a peer may send on one stream before they are read; the library gives up a stream at 4 MiB. */
const STREAM_WINDOW = 512 * 1024;
const DEFAULT_MAX_CONNECTIONS = 600;
/** New connections a second from one address, and handshakes at the same time. */
const INBOUND_PER_SEC = 100;
const MAX_PENDING_INBOUND = 64;
/** Upgrade of a connection (p2p-wire.md 1) and negotiation of a stream. */
const UPGRADE_TIMEOUT_MS = 20_000;
const NEGOTIATION_TIMEOUT_MS = 10_000;
/** A ping stream may stay open for an hour: the reference sends all its pings on one. */
const PING_STREAM_MS = 3_600_000;

export type Libp2pOptions = {
  /** 32 bytes: SHA-256 of the node key on a seed, random on a light node. */
  readonly identitySeed: Secret<Uint8Array>;
  /** Multiaddresses to listen on, e.g. `/ip4/0.0.0.0/tcp/47771`; `…/wss` needs `tls`. Empty on a light node. */
  readonly listen: readonly string[];
  /** Private key and certificate chain in PEM, for wss. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** False leaves out `/ws` and `/wss`, which saves 40 ms and 6 MB; true when not given. */
  readonly websocket?: boolean;
  /** Connections, in and out. */
  readonly maxConnections?: number;
};

/** A configured libp2p, not started, with the two things of it that need its own types. */
export type Node = {
  readonly libp2p: Libp2p;
  parseAddress(address: string): Parameters<Libp2p["dial"]>[0];
  ping(peer: Connection["remotePeer"], signal: AbortSignal): Promise<number>;
};

/** Loads the library (about 200 ms and 45 MB) only here, so that a node answers its first RPC before that. */
export async function createNode(options: Libp2pOptions): Promise<Node> {
  const [{ createLibp2p }, { tcp }, { noise }, { yamux }, { ping }, { generateKeyPairFromSeed }, { multiaddr }] = await Promise.all([
    import("libp2p"),
    import("@libp2p/tcp"),
    import("@libp2p/noise"),
    import("@libp2p/yamux"),
    import("@libp2p/ping"),
    import("@libp2p/crypto/keys"),
    import("@multiformats/multiaddr"),
  ]);
  const webSockets =
    options.websocket === false
      ? []
      : [(await import("@libp2p/websockets")).webSockets(options.tls === undefined ? {} : { https: options.tls })];
  const libp2p = await createLibp2p({
    start: false,
    privateKey: await generateKeyPairFromSeed("Ed25519", options.identitySeed.reveal()),
    addresses: { listen: [...options.listen] },
    transports: [tcp({ dialOpts: { noDelay: true }, listenOpts: { noDelay: true } }), ...webSockets],
    connectionEncrypters: [noise()],
    streamMuxers: [
      yamux({ maxInboundStreams: MAX_STREAMS, maxOutboundStreams: MAX_STREAMS, streamOptions: { maxStreamWindowSize: STREAM_WINDOW } }),
    ],
    connectionMonitor: { enabled: false },
    connectionManager: {
      maxConnections: options.maxConnections ?? DEFAULT_MAX_CONNECTIONS,
      inboundConnectionThreshold: INBOUND_PER_SEC,
      maxIncomingPendingConnections: MAX_PENDING_INBOUND,
      inboundUpgradeTimeout: UPGRADE_TIMEOUT_MS,
      addressDialTimeout: UPGRADE_TIMEOUT_MS,
      dialTimeout: UPGRADE_TIMEOUT_MS,
      inboundStreamProtocolNegotiationTimeout: NEGOTIATION_TIMEOUT_MS,
      outboundStreamProtocolNegotiationTimeout: NEGOTIATION_TIMEOUT_MS,
      reconnectRetries: 0,
    },
    services: { ping: ping({ timeout: PING_STREAM_MS }) },
  });
  return {
    libp2p,
    parseAddress: (address) => multiaddr(address),
    ping: (peer, signal) => libp2p.services.ping.ping(peer, { signal }),
  };
}
