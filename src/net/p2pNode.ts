import type { SeedNode } from "../core/gossip/seedNode.ts";
import type { Secret } from "../core/util/secret.ts";
import { Aborted, type Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { P2p, PeerId, PeerTransport } from "../ports/network.ts";
import type { Rng } from "../ports/rng.ts";
import { BanList } from "./banList.ts";
import { DialBook } from "./dialBook.ts";
import { type GossipRates, GossipRouter } from "./gossipRouter.ts";
import { HealthChecks } from "./healthChecks.ts";
import type { MessageHandler } from "./messageIntake.ts";
import { PeerManager } from "./peerManager.ts";
import { PeerRequests } from "./peerRequests.ts";
import { PeersExchange } from "./peersExchange.ts";
import { RelayQuestions } from "./relayQuestions.ts";

/**
 * Rates that honest nodes stay far below: the whole network's order traffic comes through a relay, a light node only
 * sends its own.
 */
const DEFAULT_GOSSIP_RATES: GossipRates = {
  relay: { messagesPerSec: 10_000, bytesPerSec: 16 * 1024 * 1024, burstSec: 3 },
  other: { messagesPerSec: 2000, bytesPerSec: 4 * 1024 * 1024, burstSec: 5 },
};

export type P2pConfig = {
  /** A seed: relays for others, subscribes to nothing, sees everything. */
  readonly isRelay: boolean;
  readonly seedNodes: readonly SeedNode[];
  /** Tcp port of the netid. */
  readonly tcpPort: number;
  /** Multiaddress at which others can reach this node, for peer exchange; undefined on a light node. */
  readonly ownAddress?: string;
  /** The 32 seed bytes of the transport's ed25519 identity: signs health checks. */
  readonly identitySeed: Secret<Uint8Array>;
  /** What GetMm2Version answers. */
  readonly version: string;
  /** Most peers; further inbound connections are closed. */
  readonly maxPeers?: number;
  readonly rates?: GossipRates;
  /** Called with the version of each relay, once per connection. */
  readonly onRelayVersion?: (peer: PeerId, version: string) => void;
};

export type P2pDeps = {
  readonly transport: PeerTransport;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly log: Log;
  readonly config: P2pConfig;
};

/** The network of one node, with its life. Handlers and subscriptions may be set before `start`. */
export type P2pNode = P2p & {
  start(): Promise<void>;
  stop(): Promise<void>;
};

/** A node that has found no relay for so long after its start says so. */
const UNFOUND_MS = 60_000;

/** Puts gossip, requests and peer management over a transport. */
export function createP2p({ transport, clock, rng, log, config }: P2pDeps): P2pNode {
  const { isRelay } = config;
  const { self } = transport;
  const relayListeners = new Set<() => void>();
  const stopping = new AbortController();
  let handler: MessageHandler = () => "accept";
  let hasRelay = false;
  let cancelUnfound = (): void => undefined;

  const router: GossipRouter = new GossipRouter({
    self,
    isRelay,
    rates: config.rates ?? DEFAULT_GOSSIP_RATES,
    clock,
    rng,
    log,
    sendFrame: (peer, frame) => transport.sendFrame(peer, frame),
    hold: (peer, on) => transport.hold?.(peer, on),
    drop: (peer, reason) => manager.ban(peer, reason),
    isChosen: (peer) => manager.isChosen(peer),
    onRelaysChanged: () => {
      manager.wake();
      tellRelays();
      for (const listener of [...relayListeners]) listener();
    },
  });
  const exchange = new PeersExchange({ rng, tcpPort: config.tcpPort, self, ownAddress: config.ownAddress });
  const requests: PeerRequests = new PeerRequests({
    clock,
    log,
    send: (peer, protocol, payload, signal) => transport.request(peer, protocol, payload, signal),
    blame: (peer, cost, reason) => router.blame(peer, cost, reason),
    version: config.version,
    answerExchange: (peer, payload) => {
      const relays = router.connectedRelays();
      return exchange.answer(
        payload,
        peer,
        manager.connections().filter(({ id }) => relays.has(id)),
      );
    },
  });
  const manager: PeerManager = new PeerManager({
    transport,
    clock,
    rng,
    log,
    isRelay,
    maxPeers: config.maxPeers ?? 512,
    book: new DialBook(config.seedNodes, self.id, rng),
    bans: new BanList(),
    requests,
    exchange,
    relays: () => ({ connected: router.connectedRelays(), mesh: router.relays() }),
    heardMs: (peer) => router.heardMs(peer),
    onRelayVersion: config.onRelayVersion ?? (() => undefined),
  });

  const questions = new RelayQuestions({ clock, log, requests, relays: () => router.relays(), stopping: stopping.signal });
  const health = new HealthChecks(self.id, config.identitySeed, clock, (topic, data) => router.publish(topic, data));

  /** Without a relay nothing this node says is heard, and its book grows old: that, and its end, is told. */
  function tellRelays(): void {
    const [relay] = router.relays();
    if (hasRelay === (relay !== undefined) || stopping.signal.aborted) return;
    hasRelay = relay !== undefined;
    if (relay === undefined) log.info("last_relay_lost", { peers: manager.connections().length });
    else log.info("relay_found", { peer: relay });
  }

  /** Somebody may have named seeds that are gone, or a wrong netid: nothing else would say so. */
  function tellUnfound(): void {
    const seeds = config.seedNodes.map(({ address }) => address);
    if (!hasRelay && seeds.length > 0)
      log.warn("no_relay_found", { seeds, sinceSec: UNFOUND_MS / 1_000, peers: manager.connections().length });
  }

  // Health checks end here; everything else is for the application.
  router.setMessageHandler((message) => (HealthChecks.isOne(message) ? health.take(message) : handler(message)));
  // The first thing a light node of the reference says on a connection.
  router.subscribe(health.topic);

  return {
    peerId: self.id,
    isRelay,
    publish: (topic, data, fromPeer) => router.publish(topic, data, fromPeer),
    subscribe: (topic) => router.subscribe(topic),
    unsubscribe: (topic) => router.unsubscribe(topic),
    setMessageHandler: (next) => {
      handler = next;
    },
    request: questions.ask,
    requestAnyRelay: questions.askAny,
    setRequestHandler: (next) => requests.setHandler(next),
    relays: () => router.relays(),
    peers: () => manager.connections(),
    mesh: () => router.meshView(),
    onRelaysChanged(listener) {
      relayListeners.add(listener);
      return () => relayListeners.delete(listener);
    },
    relayReady: (signal) => waitForRelay(router, relayListeners, [stopping.signal, ...(signal === undefined ? [] : [signal])]),
    async start() {
      await transport.start({
        onPeer(connection) {
          if (!manager.admit(connection)) return;
          requests.addPeer(connection.id);
          router.addPeer(connection);
          manager.check(connection.id);
        },
        onPeerGone(peer) {
          if (!manager.remove(peer)) return;
          questions.forget(peer);
          requests.removePeer(peer);
          router.removePeer(peer);
        },
        onFrame: (peer, frame) => router.onFrame(peer, frame),
        onRequest: (peer, protocol, payload) => requests.answer(peer, protocol, payload),
      });
      router.start();
      manager.start();
      cancelUnfound = clock.after(UNFOUND_MS, tellUnfound);
    },
    async stop() {
      stopping.abort();
      cancelUnfound();
      manager.stop();
      router.stop();
      await transport.stop();
    },
  };
}

/** Resolves with the first relay in the mesh; rejects with `Aborted` when one of the signals fires before. */
function waitForRelay(router: GossipRouter, listeners: Set<() => void>, signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void): void => {
      listeners.delete(look);
      for (const signal of signals) signal.removeEventListener("abort", onAbort);
      settle();
    };
    const look = (): void => {
      if (router.relays().length > 0) finish(resolve);
    };
    const onAbort = (): void => finish(() => reject(new Aborted()));
    if (signals.some((signal) => signal.aborted)) {
      reject(new Aborted());
      return;
    }
    listeners.add(look);
    for (const signal of signals) signal.addEventListener("abort", onAbort);
    look();
  });
}
