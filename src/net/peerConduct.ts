import { TokenBucket } from "./tokenBucket.ts";

export type RateLimit = {
  readonly messagesPerSec: number;
  readonly bytesPerSec: number;
  /** Burst, as seconds of the average rate. */
  readonly burstSec: number;
};

/** A peer at this score is dropped and banned. */
const BAN_SCORE = 100;
/** Good conduct forgives this much a second. */
const FORGIVEN_PER_SEC = 1;
/** What one second's worth of traffic above the limit costs: two such seconds in short order end a connection. */
const EXCESS_COST_PER_SEC = 50;
/** Work that any frame makes, however short, as bytes of traffic. */
const FRAME_COST_BYTES = 64;
/** Frames with control messages: honest peers send one in ten seconds, and one a second for each topic at most. */
const CONTROL_PER_SEC = 100;
const CONTROL_BURST = 1000;
const EXCESS_CONTROL_COST = 0.5;

/** Cost of single offences. A frame that is no protobuf cannot be an honest accident over an authenticated stream. */
export const OFFENCE = {
  garbageFrame: 34,
  invalidMessage: 5,
  rejectedMessage: 10,
  badRequest: 5,
  /** Each is dropped unread. A client that asks for hundreds of books in a row has its node send as many: that alone must cost it no relay. */
  excessRequest: 0.01,
  tooManyTopics: 1,
} as const;

/** Rates and misdeeds of one connected peer. */
export class PeerConduct {
  #limit: RateLimit;
  readonly #messages: TokenBucket;
  readonly #bytes: TokenBucket;
  readonly #control: TokenBucket;
  #score = 0;
  #scoreAtMs: number;

  constructor(limit: RateLimit, nowMs: number) {
    this.#limit = limit;
    this.#messages = new TokenBucket(limit.messagesPerSec, limit.messagesPerSec * limit.burstSec, nowMs);
    this.#bytes = new TokenBucket(limit.bytesPerSec, limit.bytesPerSec * limit.burstSec, nowMs);
    this.#control = new TokenBucket(CONTROL_PER_SEC, CONTROL_BURST, nowMs);
    this.#scoreAtMs = nowMs;
  }

  setLimit(limit: RateLimit): void {
    this.#limit = limit;
    this.#messages.resize(limit.messagesPerSec, limit.messagesPerSec * limit.burstSec);
    this.#bytes.resize(limit.bytesPerSec, limit.bytesPerSec * limit.burstSec);
  }

  /** False: the frame is above the limit and must be dropped; the excess is held against the peer. */
  takeFrame(bytes: number, nowMs: number): boolean {
    const cost = bytes + FRAME_COST_BYTES;
    if (this.#bytes.take(cost, nowMs)) return true;
    this.blame((EXCESS_COST_PER_SEC * cost) / this.#limit.bytesPerSec, nowMs);
    return false;
  }

  /** The same for the control part of a frame. */
  takeControl(nowMs: number): boolean {
    if (this.#control.take(1, nowMs)) return true;
    this.blame(EXCESS_CONTROL_COST, nowMs);
    return false;
  }

  /** The same for one message. */
  takeMessage(nowMs: number): boolean {
    if (this.#messages.take(1, nowMs)) return true;
    this.blame(EXCESS_COST_PER_SEC / this.#limit.messagesPerSec, nowMs);
    return false;
  }

  blame(cost: number, nowMs: number): void {
    const passed = Math.max(0, nowMs - this.#scoreAtMs) / 1000;
    this.#score = Math.max(0, this.#score - passed * FORGIVEN_PER_SEC) + cost;
    this.#scoreAtMs = nowMs;
  }

  get isIntolerable(): boolean {
    return this.#score >= BAN_SCORE;
  }
}
