import type { SeedNode } from "../core/gossip/seedNode.ts";
import type { PeerId } from "../ports/network.ts";
import { type Rng, randomBelow, shuffled } from "../ports/rng.ts";

/** Back-off of a configured seed: doubling from the first to the last, each 25 % up or down. */
const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 60_000;
/** Addresses learned from others are not dialled again for this long (p2p-wire.md 2). */
const LEARNED_RETRY_MS = 300_000;
/** A connection that lasted this long clears the failures before it. */
const STABLE_MS = 30_000;
/** Learned addresses kept (p2p-wire.md 5.4). */
const MAX_LEARNED = 100;

export type DialTarget = {
  readonly address: string;
  readonly isSeed: boolean;
  /** Pinned, or known from the last connection. */
  peer: PeerId | undefined;
  state: "idle" | "dialling" | "connected";
  failures: number;
  notBeforeMs: number;
  sinceMs: number;
};

/** Addresses this node can dial, and when. */
export class DialBook {
  readonly #rng: Rng;
  readonly #self: PeerId;
  readonly #seeds: readonly DialTarget[];
  readonly #learned = new Map<string, DialTarget>();

  constructor(seeds: readonly SeedNode[], self: PeerId, rng: Rng) {
    this.#rng = rng;
    this.#self = self;
    this.#seeds = seeds.map(({ address, pin }) => createTarget(address, true, pin));
  }

  /** An address from peer exchange. Beyond the limit the oldest one not in use goes. */
  learn(address: string, peer: PeerId): void {
    if (peer === this.#self || this.#learned.has(address) || this.#seeds.some((seed) => seed.address === address)) return;
    if (this.#learned.size >= MAX_LEARNED) {
      const idle = [...this.#learned.values()].find(({ state }) => state === "idle");
      if (idle === undefined) return;
      this.#learned.delete(idle.address);
    }
    this.#learned.set(address, createTarget(address, false, peer));
  }

  learned(): readonly DialTarget[] {
    return [...this.#learned.values()];
  }

  isSeed(peer: PeerId): boolean {
    return this.#seeds.some((seed) => seed.peer === peer);
  }

  /** What may be dialled now, in random order: configured seeds before learned addresses, so that nobody can crowd them out. */
  due(nowMs: number, isUnwanted: (peer: PeerId) => boolean): DialTarget[] {
    // A wait longer than the longest means that the clock was set back.
    const isOver = ({ notBeforeMs, isSeed }: DialTarget): boolean =>
      notBeforeMs <= nowMs || notBeforeMs - nowMs > (isSeed ? 1.25 * LAST_RETRY_MS : LEARNED_RETRY_MS);
    const isFree = ({ state, peer }: DialTarget): boolean =>
      state === "idle" && peer !== this.#self && (peer === undefined || !isUnwanted(peer));
    const isDue = (target: DialTarget): boolean => isFree(target) && isOver(target);
    return [...shuffled(this.#rng, this.#seeds.filter(isDue)), ...shuffled(this.#rng, [...this.#learned.values()].filter(isDue))];
  }

  get dialling(): number {
    return [...this.#seeds, ...this.#learned.values()].filter(({ state }) => state === "dialling").length;
  }

  /** No address is left that might be dialled before something changes: each is in use, its peer is connected, or it is this node's own. */
  isExhausted(isConnected: (peer: PeerId) => boolean): boolean {
    const isUsed = ({ state, peer }: DialTarget): boolean =>
      state !== "idle" || peer === this.#self || (peer !== undefined && isConnected(peer));
    if (!this.#seeds.every(isUsed)) return false;
    for (const target of this.#learned.values()) if (!isUsed(target)) return false;
    return true;
  }

  connected(target: DialTarget, peer: PeerId, nowMs: number): void {
    target.state = "connected";
    target.peer = peer;
    target.sinceMs = nowMs;
  }

  failed(target: DialTarget, nowMs: number): void {
    target.state = "idle";
    target.failures++;
    target.notBeforeMs = nowMs + this.#delayMs(target);
  }

  /** A connection has ended. */
  lost(peer: PeerId, nowMs: number): void {
    for (const target of [...this.#seeds, ...this.#learned.values()]) {
      if (target.peer !== peer || target.state !== "connected") continue;
      if (nowMs - target.sinceMs >= STABLE_MS) target.failures = 0;
      this.failed(target, nowMs);
    }
  }

  #delayMs({ isSeed, failures }: DialTarget): number {
    if (!isSeed) return LEARNED_RETRY_MS;
    const delayMs = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 10));
    return Math.round(delayMs * (0.75 + randomBelow(this.#rng, 501) / 1000));
  }
}

function createTarget(address: string, isSeed: boolean, peer: PeerId | undefined): DialTarget {
  return { address, isSeed, peer, state: "idle", failures: 0, notBeforeMs: 0, sinceMs: 0 };
}
