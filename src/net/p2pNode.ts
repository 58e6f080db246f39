import { ed25519KeyPeerIdBytes, peerIdText } from "../core/gossip/peerId.ts";
import type { SeedNode } from "../core/gossip/seedNode.ts";
import { openHealthcheck, signHealthcheck } from "../core/message/healthcheck.ts";
import type { Secret } from "../core/util/secret.ts";
import { Aborted, type Clock, sleep } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { GossipMessage, GossipVerdict, P2p, PeerId, PeerTransport } from "../ports/network.ts";
import type { Rng } from "../ports/rng.ts";
import { BanList } from "./banList.ts";
import { DialBook } from "./dialBook.ts";
import { type GossipRates, GossipRouter } from "./gossipRouter.ts";
import type { MessageHandler } from "./messageIntake.ts";
import { PeerManager } from "./peerManager.ts";
import { PeerRequests } from "./peerRequests.ts";
import { PeersExchange } from "./peersExchange.ts";
import { RequestPace } from "./requestPace.ts";
import { TokenBucket } from "./tokenBucket.ts";

/** Health checks looked at per second and at once: each costs an ed25519 verification. */
const HEALTHCHECKS_PER_SEC = 10;
const HEALTHCHECK_BURST = 50;
const HEALTHCHECK_LIFE_SEC = 10;

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
  const ownHealthTopic = `hcheck/${self.id}`;
  const relayListeners = new Set<() => void>();
  const stopping = new AbortController();
  const healthBucket = new TokenBucket(HEALTHCHECKS_PER_SEC, HEALTHCHECK_BURST, clock.nowMs());
  /** Relays that let the last question of ours run out: asked after the others. */
  const silent = new Set<PeerId>();
  const pace = new RequestPace();
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

  /** Health checks end here; everything else is for the application. */
  function onMessage(message: GossipMessage): GossipVerdict | Promise<GossipVerdict> {
    return message.topic.startsWith("hcheck/") ? onHealthcheck(message) : handler(message);
  }

  function onHealthcheck({ topic, data }: GossipMessage): GossipVerdict {
    const nowMs = clock.nowMs();
    if (!healthBucket.take(1, nowMs)) return "ignore";
    const nowSec = Math.floor(nowMs / 1000);
    const check = openHealthcheck(data, nowSec);
    if (!check.ok) return check.error.kind === "BadMessage" || check.error.kind === "BadSignature" ? "reject" : "ignore";
    if (topic === ownHealthTopic && !check.value.isReply) {
      const sender = peerIdText(ed25519KeyPeerIdBytes(check.value.senderKey));
      router.publish(`hcheck/${sender}`, signHealthcheck(config.identitySeed.reveal(), nowSec + HEALTHCHECK_LIFE_SEC, true));
    }
    return "accept";
  }

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

  router.setMessageHandler(onMessage);
  // The first thing a light node of the reference says on a connection.
  router.subscribe(ownHealthTopic);

  return {
    peerId: self.id,
    isRelay,
    publish: (topic, data, fromPeer) => router.publish(topic, data, fromPeer),
    subscribe: (topic) => router.subscribe(topic),
    unsubscribe: (topic) => router.unsubscribe(topic),
    setMessageHandler: (next) => {
      handler = next;
    },
    async request(peer, request, signal = stopping.signal) {
      const turn = pace.takeTurn([peer], clock.nowMs());
      if (turn === undefined) return { kind: "err", message: "no answer: too many questions wait for this peer" };
      if (turn.waitMs > 0) await sleep(clock, turn.waitMs, signal);
      return requests.ask(peer, request, signal);
    },
    async requestAnyRelay(request, { not = [], signal = stopping.signal } = {}) {
      const tried = new Set(not);
      for (;;) {
        const left = router.relays().filter((peer) => !tried.has(peer));
        const awake = left.filter((peer) => !silent.has(peer));
        const turn = pace.takeTurn(awake.length > 0 ? awake : left, clock.nowMs());
        if (turn === undefined) return null;
        const { peer, waitMs } = turn;
        tried.add(peer);
        if (waitMs > 0) await sleep(clock, waitMs, signal);
        try {
          const answer = await requests.ask(peer, request, signal);
          silent.delete(peer);
          if (answer.kind === "ok") return { peer, data: answer.data };
        } catch (cause) {
          if (!(cause instanceof Aborted) || signal.aborted) throw cause;
          if (router.relays().includes(peer)) silent.add(peer);
          log.debug("relay_did_not_answer", { peer });
        }
      }
    },
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
          silent.delete(peer);
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
