import { isRoutableIpv4 } from "../core/gossip/routableAddress.ts";
import type { PeerConnection, PeerId } from "../ports/network.ts";

const MAX_BANS = 1000;
export const LONGEST_BAN_MS = 300_000;

/**
 * Peers kept away for a while. A peer on a routable address is banned with its address, since a light node has a new
 * id at every start; on private networks many nodes share an address, so there only the id counts.
 */
export class BanList {
  /** peer id or IPv4 address → unix ms */
  readonly #until = new Map<string, number>();

  add(peer: PeerId, address: string | undefined, untilMs: number): void {
    this.#set(peer, untilMs);
    const host = routableHost(address);
    if (host !== undefined) this.#set(host, untilMs);
  }

  isBanned(connection: PeerConnection, nowMs: number): boolean {
    const host = connection.direction === "inbound" ? routableHost(connection.address) : undefined;
    return this.isPeerBanned(connection.id, nowMs) || (host !== undefined && this.#isListed(host, nowMs));
  }

  isPeerBanned(peer: PeerId, nowMs: number): boolean {
    return this.#isListed(peer, nowMs);
  }

  #isListed(key: string, nowMs: number): boolean {
    const untilMs = this.#until.get(key);
    if (untilMs === undefined) return false;
    // A ban longer than any that is given means that the clock was set back.
    if (untilMs > nowMs && untilMs - nowMs <= LONGEST_BAN_MS) return true;
    this.#until.delete(key);
    return false;
  }

  #set(key: string, untilMs: number): void {
    this.#until.delete(key);
    const [oldest] = this.#until.keys();
    if (this.#until.size >= MAX_BANS && oldest !== undefined) this.#until.delete(oldest);
    this.#until.set(key, untilMs);
  }
}

/** The IPv4 address of a multiaddress, when it is one that not many nodes share. */
export function routableHost(address: string | undefined): string | undefined {
  const host = /^\/ip4\/([\d.]+)\//.exec(address ?? "")?.[1];
  return host !== undefined && isRoutableIpv4(host) ? host : undefined;
}
