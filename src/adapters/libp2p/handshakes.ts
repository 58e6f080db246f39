import { isRoutableIpv4 } from "../../core/gossip/routableAddress.ts";
import { AskCredit } from "../../core/util/askCredit.ts";
import { dropOldest } from "../../core/util/dropOldest.ts";
import type { Clock } from "../../ports/clock.ts";

/** Handshakes at once, and one more each so many milliseconds: one costs some 5 ms, so these are a quarter of a processor. */
const MOST = 400;
const PAUSE_MS = 20;
/** So many of them are for addresses of which one was begun within this time, and for those that many may share; the rest is kept for others, and some of what comes anew. */
const MOST_OF_RECENT = 200;
const RECENT_PAUSE_MS = 25;
const RECENT_MS = 60_000;
/** The same of one address that not many nodes share. */
const MOST_OF_HOST = 20;
const HOST_PAUSE_MS = 500;
/** Addresses whose use is remembered; those that came longest ago are forgotten. */
const MAX_HOSTS = 4_000;

type Use = { readonly credit: AskCredit; readonly lastMs: number };

/**
 * How many inbound handshakes are begun. Who asks for one says a hundred bytes and has this node reckon for milliseconds: some addresses that
 * ask as fast as they can would have it do nothing else. An address that has not come of late goes before those that come again and again.
 */
export class Handshakes {
  readonly #clock: Clock;
  readonly #common: AskCredit;
  readonly #recent: AskCredit;
  readonly #hosts = new Map<string, Use>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#common = new AskCredit(MOST, PAUSE_MS);
    this.#recent = new AskCredit(MOST_OF_RECENT, RECENT_PAUSE_MS);
  }

  /**
   * Whether one may begin, which is then counted. Behind an address that is not routable, a proxy of this machine say, may be many nodes, and one
   * that asks as fast as it can: these are held to what is for those that come again and again.
   */
  begin(host: string): boolean {
    const nowMs = this.#clock.nowMs();
    if (!isRoutableIpv4(host)) return this.#recent.take(nowMs) && this.#common.take(nowMs);
    const { credit, lastMs } = this.#hosts.get(host) ?? { credit: new AskCredit(MOST_OF_HOST, HOST_PAUSE_MS), lastMs: null };
    if (!credit.take(nowMs)) return false;
    const isRecent = lastMs !== null && Math.abs(nowMs - lastMs) < RECENT_MS;
    if (isRecent && !this.#recent.take(nowMs)) return false;
    if (!this.#common.take(nowMs)) return false;
    this.#note(host, { credit, lastMs: nowMs });
    return true;
  }

  #note(host: string, use: Use): void {
    this.#hosts.delete(host);
    this.#hosts.set(host, use);
    dropOldest(this.#hosts, MAX_HOSTS);
  }
}
