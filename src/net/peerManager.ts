import { Aborted, type Clock, withDeadline } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { PeerConnection, PeerId, PeerTransport } from "../ports/network.ts";
import { type Rng, randomBelow, shuffled } from "../ports/rng.ts";
import { type BanList, LONGEST_BAN_MS, routableHost } from "./banList.ts";
import type { DialBook, DialTarget } from "./dialBook.ts";
import { EXCHANGE_PROTOCOL, type PeerRequests } from "./peerRequests.ts";
import type { PeersExchange } from "./peersExchange.ts";
import { LIGHT_MESH, type MeshSizes, RELAY_MESH } from "./relayMesh.ts";

const TICK_MS = 1000;
/** Longest pause between two looks where nothing is left to dial, to ask or to drop: what may change that wakes the manager. */
const REST_MS = 30_000;
const DIAL_DEADLINE_MS = 20_000;
/** A dialled peer that has not said it is a relay by then no longer counts as one to come. */
const RELAY_GREETING_MS = 10_000;
/** First peer exchange after the start, then the interval (p2p-wire.md 5.4). */
const FIRST_EXCHANGE_MS = 20_000;
const EXCHANGE_MS = 300_000;
/** Peers whose clock differs by more are left, as in the reference (p2p-wire.md 2). */
const MAX_CLOCK_GAP_SEC = 20;
/** An inbound peer that has sent nothing for this long makes room for a new one when all places are taken (p2p-wire.md 3). */
const IDLE_MS = 120_000;
/** Inbound peers from one routable IPv4 address. */
const MAX_PEERS_PER_HOST = 64;
/** Bans: a configured seed comes back sooner, because losing all seeds is worse than a bad one. */
const BAN_MS = LONGEST_BAN_MS;
const SEED_BAN_MS = 60_000;

export type PeerManagerDeps = {
  readonly transport: Pick<PeerTransport, "dial" | "disconnect">;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly log: Log;
  readonly isRelay: boolean;
  readonly maxPeers: number;
  readonly book: DialBook;
  readonly bans: BanList;
  readonly requests: PeerRequests;
  readonly exchange: PeersExchange;
  /** Connected peers that said they are relays, and those of them this node sends to. */
  readonly relays: () => { readonly connected: ReadonlySet<PeerId>; readonly mesh: readonly PeerId[] };
  /** When a connected peer was last heard, unix ms. */
  readonly heardMs: (peer: PeerId) => number | undefined;
  readonly onRelayVersion: (peer: PeerId, version: string) => void;
};

type Known = { readonly connection: PeerConnection; readonly sinceMs: number; versionAsked: boolean };

/** Whom this node is connected to: dials, redials, checks clocks, learns addresses, keeps bad peers away. */
export class PeerManager {
  readonly #deps: PeerManagerDeps;
  readonly #peers = new Map<PeerId, Known>();
  readonly #stopping = new AbortController();
  #cancelTick: (() => void) | undefined;
  #nextExchangeMs = 0;
  /** The next look is further off than a second. */
  #isResting = false;

  constructor(deps: PeerManagerDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#nextExchangeMs = this.#deps.clock.nowMs() + FIRST_EXCHANGE_MS;
    this.#tick();
  }

  stop(): void {
    this.#cancelTick?.();
    this.#stopping.abort();
  }

  connections(): readonly PeerConnection[] {
    return [...this.#peers.values()].map(({ connection }) => connection);
  }

  /** Whether a new connection may stay; if not it is on its way out already. */
  admit(connection: PeerConnection): boolean {
    const nowMs = this.#deps.clock.nowMs();
    const refusal = this.#deps.bans.isBanned(connection, nowMs) ? "banned" : this.#noPlaceFor(connection, nowMs);
    if (refusal !== undefined) {
      this.#deps.transport.disconnect(connection.id, refusal);
      return false;
    }
    this.#peers.set(connection.id, { connection, sinceMs: nowMs, versionAsked: false });
    this.wake();
    return true;
  }

  /** Dialled by this node or one of its seeds, so not somebody who could come in any number. */
  isChosen(peer: PeerId): boolean {
    return this.#peers.get(peer)?.connection.direction === "outbound" || this.#deps.book.isSeed(peer);
  }

  /** Why an inbound connection must go. When all places are taken, whoever has been silent longest leaves instead. */
  #noPlaceFor(connection: PeerConnection, nowMs: number): string | undefined {
    const { heardMs, maxPeers, transport } = this.#deps;
    if (connection.direction === "outbound") return undefined;
    const inbound = this.connections().filter(({ direction }) => direction === "inbound");
    const host = routableHost(connection.address);
    if (host !== undefined && inbound.filter(({ address }) => routableHost(address) === host).length >= MAX_PEERS_PER_HOST) {
      return `more than ${MAX_PEERS_PER_HOST} peers from one address`;
    }
    if (this.#peers.size < maxPeers) return undefined;
    let idlest: { readonly id: PeerId; readonly sinceMs: number } | undefined;
    for (const { id } of inbound) {
      const sinceMs = heardMs(id) ?? nowMs;
      if (nowMs - sinceMs >= IDLE_MS && sinceMs < (idlest?.sinceMs ?? nowMs)) idlest = { id, sinceMs };
    }
    if (idlest === undefined) return `more than ${maxPeers} peers`;
    transport.disconnect(idlest.id, "silent, and others wait");
    return undefined;
  }

  /** Call after the peer is known to everybody else: the clock check sends a request. */
  check(peer: PeerId): void {
    this.#inBackground("clock_check_failed", this.#checkClock(peer));
  }

  /** True when the peer had been admitted. */
  remove(peer: PeerId): boolean {
    if (!this.#peers.delete(peer)) return false;
    this.#deps.book.lost(peer, this.#deps.clock.nowMs());
    this.wake();
    return true;
  }

  /** Ends a connection and keeps the peer away for a while. */
  ban(peer: PeerId, reason: string): void {
    const { bans, book, clock, log, transport } = this.#deps;
    const banMs = book.isSeed(peer) ? SEED_BAN_MS : BAN_MS;
    bans.add(peer, this.#peers.get(peer)?.connection.address, clock.nowMs() + banMs);
    log.warn("peer_banned", { peer, reason, seconds: banMs / 1000 });
    transport.disconnect(peer, reason);
  }

  #tick(): void {
    const nowMs = this.#deps.clock.nowMs();
    this.#dialMissing(nowMs);
    const isSurplus = this.#dropSurplusRelays();
    this.#askVersions();
    if (nowMs >= this.#nextExchangeMs) {
      this.#nextExchangeMs = nowMs + EXCHANGE_MS;
      this.#inBackground("peers_exchange_failed", this.#learnPeers());
    }
    const mayRest = !isSurplus && (this.#isContent() || this.#deps.book.isExhausted((peer) => this.#peers.has(peer)));
    this.#isResting = mayRest;
    this.#lookIn(mayRest ? Math.max(TICK_MS, Math.min(REST_MS, this.#nextExchangeMs - nowMs)) : TICK_MS);
  }

  #lookIn(delayMs: number): void {
    this.#cancelTick?.();
    this.#cancelTick = this.#deps.clock.after(delayMs, () => this.#tick());
  }

  /** Peers, relays or addresses have changed: it looks within the second. */
  wake(): void {
    if (!this.#isResting || this.#stopping.signal.aborted) return;
    this.#isResting = false;
    this.#lookIn(TICK_MS);
  }

  /** As many relays of its own choice as it wants. */
  #isContent(): boolean {
    return this.#chosenRelays() >= this.#sizes.low;
  }

  #chosenRelays(): number {
    // Strangers that came in by themselves do not count: they could be one and the same.
    let chosen = 0;
    for (const peer of this.#deps.relays().connected) if (this.isChosen(peer)) chosen++;
    return chosen;
  }

  get #sizes(): MeshSizes {
    return this.#deps.isRelay ? RELAY_MESH : LIGHT_MESH;
  }

  #dialMissing(nowMs: number): void {
    const { bans, book } = this.#deps;
    const sizes = this.#sizes;
    const relays = this.#deps.relays().connected;
    const chosen = this.#chosenRelays();
    if (chosen >= sizes.low) return;
    let expected = chosen + book.dialling;
    for (const { connection, sinceMs } of this.#peers.values()) {
      if (connection.direction === "outbound" && !relays.has(connection.id) && nowMs - sinceMs < RELAY_GREETING_MS) expected++;
    }
    const isUnwanted = (peer: PeerId): boolean => this.#peers.has(peer) || bans.isPeerBanned(peer, nowMs);
    for (const target of book.due(nowMs, isUnwanted).slice(0, Math.max(0, sizes.n - expected))) {
      this.#inBackground("dial_failed", this.#dial(target));
    }
  }

  async #dial(target: DialTarget): Promise<void> {
    const { book, clock, log, transport } = this.#deps;
    target.state = "dialling";
    try {
      const peer = await withDeadline(clock, DIAL_DEADLINE_MS, this.#stopping.signal, (signal) => transport.dial(target.address, signal));
      if (this.#peers.has(peer)) book.connected(target, peer, clock.nowMs());
      else book.failed(target, clock.nowMs());
    } catch (cause) {
      book.failed(target, clock.nowMs());
      if (this.#stopping.signal.aborted) return;
      log.debug("dial_failed", { address: target.address, failures: target.failures, cause: String(cause) });
    } finally {
      this.wake();
    }
  }

  /** The reference keeps at most twice the upper mesh size of relays. @returns whether there were more */
  #dropSurplusRelays(): boolean {
    const { book, relays, rng, transport } = this.#deps;
    const { connected, mesh } = relays();
    const surplus = connected.size - 2 * this.#sizes.high;
    if (surplus <= 0) return false;
    const outside = [...connected].filter((peer) => !mesh.includes(peer) && !book.isSeed(peer));
    for (const peer of shuffled(rng, outside).slice(0, surplus)) transport.disconnect(peer, "more relays than needed");
    return true;
  }

  async #checkClock(peer: PeerId): Promise<void> {
    const { clock, log, requests, transport } = this.#deps;
    const time = await requests.askTime(peer, this.#stopping.signal);
    if (!time.ok) {
      if (time.error.kind === "BadAnswer") transport.disconnect(peer, "its time is no number");
      else log.debug("peer_time_unknown", { peer });
      return;
    }
    const gapSec = time.value - Math.floor(clock.nowMs() / 1000);
    if (Math.abs(gapSec) <= MAX_CLOCK_GAP_SEC) return;
    log.warn("peer_clock_differs", { peer, gap_sec: gapSec, limit_sec: MAX_CLOCK_GAP_SEC });
    transport.disconnect(peer, `its clock differs by ${gapSec} s`);
  }

  #askVersions(): void {
    const relays = this.#deps.relays().connected;
    for (const known of this.#peers.values()) {
      if (known.versionAsked || !relays.has(known.connection.id)) continue;
      known.versionAsked = true;
      this.#inBackground("version_check_failed", this.#askVersion(known.connection.id));
    }
  }

  async #askVersion(peer: PeerId): Promise<void> {
    const version = await this.#deps.requests.askVersion(peer, this.#stopping.signal);
    if (version !== undefined) this.#deps.onRelayVersion(peer, version);
  }

  async #learnPeers(): Promise<void> {
    const { book, exchange, relays, requests, rng } = this.#deps;
    const candidates = [...relays().connected];
    const peer = candidates[candidates.length === 0 ? 0 : randomBelow(rng, candidates.length)];
    if (peer === undefined) return;
    const payload = await requests.askRaw(peer, EXCHANGE_PROTOCOL, exchange.request, this.#stopping.signal);
    for (const found of exchange.read(payload)) book.learn(found.address, found.peer);
    this.wake();
  }

  /** Work nobody waits for: its failure is logged, never thrown. */
  #inBackground(event: string, work: Promise<void>): void {
    work.catch((cause: unknown) => {
      if (cause instanceof Aborted && this.#stopping.signal.aborted) return;
      this.#deps.log.debug(event, { cause: String(cause) });
    });
  }
}
