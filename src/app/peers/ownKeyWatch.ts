import { parseEnvelope, type VerifySignature } from "../../core/message/envelope.ts";
import { parseOrderMessage } from "../../core/message/orderMessage.ts";
import { parseSwapMessage } from "../../core/message/swapMessage.ts";
import type { OrderMessage, SwapMessage } from "../../core/message/types.ts";
import { equalBytes, toHex } from "../../core/util/bytes.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { PeerStore } from "../../ports/peerStore.ts";
import { ExpiringMap } from "../expiringMap.ts";
import { KeyedBuckets } from "../orderbook/keyedBuckets.ts";
import type { KeyElsewhere } from "../orders/ordersDeps.ts";

/** The other must have been silent this long before this node trades again: twenty of its keep-alives. */
const QUIET_MS = 600_000;
/** A dated message counts while its time is this near to ours, as everywhere in the order book. */
const MAX_AGE_SEC = 60;
/** Own messages remembered in memory: far longer than a dated one counts. */
const SAID_LIFE_MS = 1_200_000;
const MAX_SAID = 50_000;
/** Own words go to the disk this often. */
const STORE_EVERY_MS = 5_000;
/**
 * The mark on the disk is set this far ahead of what was said and renewed when half of it is used, so that after a crash
 * nothing this node dated lies above it.
 */
const MARK_AHEAD_SEC = 60;
/** Stops for undated messages alone: whoever has old ones of this key from before this data folder could replay them. */
const UNDATED_STOPS_PER_DAY = 3;
const DAY_MS = 86_400_000;
/** Signatures checked of messages that claim to be ours. */
const CHECK_RATE = { perSec: 20, burst: 200 };

export type OwnKeyWatchDeps = {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: PeerStore;
  readonly verify: VerifySignature;
  /** Envelope key, 33 bytes. */
  readonly publicKey: Uint8Array;
};

type Heard = { readonly name: string; readonly dateSec: number | null };

/**
 * Listens for this node's own key from elsewhere: the same seed on a second machine spends the same outputs and answers
 * the same takers. A message counts when its signature is right and this node never said it:
 *
 * - dated ones (orders, keep-alives, negotiations) when their time is within a minute of ours and later than everything a
 *   former run can have said: later than our start and than the mark on the disk. So neither late echoes nor old messages
 *   of ours that somebody replays count;
 * - undated ones (handshakes) when they are not among the 50,000 own messages on the disk. Messages of the same key from
 *   before this data folder existed could be replayed, so they stop the node three times a day at most.
 */
export class OwnKeyWatch {
  readonly #deps: OwnKeyWatchDeps;
  readonly #said: ExpiringMap<true>;
  readonly #startSec: number;
  /** Undated words to be stored. */
  #unstored: string[] = [];
  /** No dated word of a former run is later. */
  #formerMarkSec = 0;
  /** No dated word of ours is later; and as much of it as is on the disk. */
  #markSec = 0;
  #storedMarkSec = 0;
  readonly #checks = new KeyedBuckets(CHECK_RATE, 1);
  /** Ends the wait for the next write; null: there is none. */
  #cancelStore: (() => void) | null = null;
  #heard: KeyElsewhere | null = null;
  #cancelQuiet: () => void = () => undefined;
  #undatedStops: number[] = [];

  constructor(deps: OwnKeyWatchDeps) {
    this.#deps = deps;
    this.#said = new ExpiringMap(deps.clock, SAID_LIFE_MS, MAX_SAID);
    this.#startSec = Math.ceil(deps.clock.nowMs() / 1_000);
  }

  /** Reads what a former run has said. */
  async open(): Promise<void> {
    this.#formerMarkSec = await this.#deps.store.lastDatedSec();
    this.#markSec = this.#formerMarkSec;
    this.#storedMarkSec = this.#formerMarkSec;
  }

  /** Stores what is still to be stored. What cannot be, on a full disk, keeps nobody from closing the rest. */
  async close(): Promise<void> {
    this.#cancelQuiet();
    this.#cancelStore?.();
    await this.#storeOrTell();
  }

  /** Not null while the key is in use elsewhere. */
  elsewhere(): KeyElsewhere | null {
    return this.#heard;
  }

  /** To be called with everything this node publishes, before it leaves. */
  onPublish(topic: string, data: Uint8Array): void {
    const envelope = parseEnvelope(data);
    if (!envelope.ok) return;
    const digest = toHex(envelope.value.digest);
    const isNew = this.#said.get(digest) === undefined;
    this.#said.set(digest, true);
    if (!isNew) return;
    const dateSec = whatIsIn(topic, envelope.value.payload)?.dateSec ?? null;
    if (dateSec === null) this.#unstored.push(digest);
    else if (dateSec + MARK_AHEAD_SEC / 2 > this.#markSec) this.#markSec = dateSec + MARK_AHEAD_SEC;
    if (this.#unstored.length > 0 || this.#markSec > this.#storedMarkSec) this.#storeSoon();
  }

  /** To be called with everything that arrives on order and swap topics. Never throws, never waits. */
  onMessage(topic: string, data: Uint8Array): void {
    const envelope = parseEnvelope(data);
    if (!envelope.ok) return;
    const { publicKey } = envelope.value;
    if (!equalBytes(publicKey.subarray(1), this.#deps.publicKey.subarray(1))) return;
    const { digest, signature, payload } = envelope.value;
    const name = toHex(digest);
    if (this.#said.get(name)) return;
    const heard = whatIsIn(topic, payload);
    if (!heard || (heard.dateSec !== null && !this.#isNews(heard.dateSec))) return;
    if (!this.#checks.take("own key", this.#deps.clock.nowMs()) || !this.#deps.verify(signature, digest, publicKey)) return;
    this.#said.set(name, true);
    if (heard.dateSec !== null) {
      this.#stop(heard);
      return;
    }
    this.#deps.store.hasSaid(name).then(
      (known) => {
        if (!known && this.#mayStopUndated()) this.#stop(heard);
      },
      (error: unknown) => this.#deps.log.warn("own_words_not_read", { error }),
    );
  }

  #isNews(dateSec: number): boolean {
    const nowSec = this.#deps.clock.nowMs() / 1_000;
    return Math.abs(dateSec - nowSec) <= MAX_AGE_SEC && dateSec > Math.max(this.#startSec, this.#formerMarkSec);
  }

  #mayStopUndated(): boolean {
    const nowMs = this.#deps.clock.nowMs();
    this.#undatedStops = this.#undatedStops.filter((ms) => nowMs - ms < DAY_MS);
    if (this.#heard !== null || this.#undatedStops.length >= UNDATED_STOPS_PER_DAY) return false;
    this.#undatedStops.push(nowMs);
    return true;
  }

  #stop({ name }: Heard): void {
    const { clock, log } = this.#deps;
    const nowMs = clock.nowMs();
    const isNew = this.#heard === null;
    this.#heard = { kind: "KeyInUseElsewhere", heardAtMs: nowMs, message: name, untilMs: nowMs + QUIET_MS };
    this.#cancelQuiet();
    this.#cancelQuiet = clock.after(QUIET_MS, () => {
      this.#heard = null;
      log.info("key_no_longer_heard_elsewhere", { silent_for_sec: QUIET_MS / 1_000 });
    });
    if (!isNew) return;
    log.error("key_in_use_elsewhere", {
      message: name,
      effect: "no new trades, own orders are not announced, open swaps go on",
      again_after_sec: QUIET_MS / 1_000,
    });
  }

  /** Not put off by what is said meanwhile: a busy node is never silent for as long. */
  #storeSoon(): void {
    this.#cancelStore ??= this.#deps.clock.after(STORE_EVERY_MS, () => void this.#storeOrTell());
  }

  #storeOrTell(): Promise<void> {
    return this.#storeSaid().catch((error: unknown) => this.#deps.log.error("own_words_not_stored", { error }));
  }

  async #storeSaid(): Promise<void> {
    this.#cancelStore = null;
    const digests = this.#unstored;
    const markSec = this.#markSec;
    if (digests.length === 0 && markSec <= this.#storedMarkSec) return;
    this.#unstored = [];
    try {
      await this.#deps.store.said(digests, markSec);
      this.#storedMarkSec = markSec;
    } catch (error) {
      // Stored with the next words; in memory they are known meanwhile.
      this.#unstored = [...digests, ...this.#unstored].slice(-MAX_SAID);
      throw error;
    }
  }
}

/** What a payload says, by the topic it came on; null for what is none of ours to judge. */
function whatIsIn(topic: string, payload: Uint8Array): Heard | null {
  if (topic.startsWith("swap/")) {
    const parsed = parseSwapMessage(payload);
    return parsed.ok ? { name: parsed.value.type, dateSec: dateOfSwapMessage(parsed.value) } : null;
  }
  const parsed = parseOrderMessage(payload);
  return parsed.ok ? { name: parsed.value.type, dateSec: dateOfOrderMessage(parsed.value) } : null;
}

function dateOfSwapMessage(m: SwapMessage): number | null {
  return m.type === "Negotiation" || m.type === "NegotiationReply" ? m.data.startedAt : null;
}

function dateOfOrderMessage(m: OrderMessage): number | null {
  switch (m.type) {
    case "MakerOrderCreated":
    case "MakerOrderUpdated":
    case "MakerOrderCancelled":
    case "PubkeyKeepAlive":
      return m.body.timestamp;
    default:
      return null;
  }
}
