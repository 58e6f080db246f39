import type { BookChange, BookRefusal } from "../../core/book/bookChange.ts";
import { ORDERBOOK_TOPIC_PREFIX } from "../../core/book/bookPair.ts";
import { isOutdated, type OrderbookState } from "../../core/book/orderbookState.ts";
import { type Envelope, isSignedByItsKey, parseEnvelope } from "../../core/message/envelope.ts";
import { parseOrderMessage } from "../../core/message/orderMessage.ts";
import type { OrderMessage } from "../../core/message/types.ts";
import { toHex } from "../../core/util/bytes.ts";
import { assertNever } from "../../core/util/result.ts";
import { Aborted, type Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { GossipMessage, GossipVerdict, PeerId } from "../../ports/network.ts";
import type { SignatureVerifier } from "../../ports/signatures.ts";
import { KeyedBuckets } from "./keyedBuckets.ts";
import type { KeySync } from "./keySync.ts";
import { SaidBefore } from "./saidBefore.ts";

/** Messages our own book has no use for, while those of others may: nothing is wrong with them. */
const PASSED_ON: ReadonlySet<BookRefusal> = new Set(["own_key", "unknown_order", "not_followed", "full"]);
/**
 * Envelopes verified per delivering peer. A relay hands us the traffic of the whole network, so this is what gossip
 * takes from a relay (`net` holds others to a fifth of it); what keeps garbage small is its price.
 */
const PEER_RATE = { perSec: 10_000, burst: 30_000 };
const MAX_PEERS = 2048;
/**
 * What an envelope that turns out to be badly signed costs on top: a peer that hands on nothing else gets 1,000 a second looked
 * at, some 7 % of what a core can verify. KDF's relays forward before they look, so a forger uses up what an honest relay has;
 * with a higher price a few hundred forgeries a second, which cost him nothing, would have most orders behind them left unread.
 */
const FORGERY_COST = 9;
/**
 * Order messages taken per signing key: a maker whose orders are taken a hundred times a second says three messages for each,
 * and stays below it. Only well signed ones count, and of these what the key itself has just said: anybody can say again what another
 * has signed, under another sequence number, and must not use up what that one may say. Handshakes bear no date, so they have a
 * budget of their own, and count once in hundreds of thousands: who keeps those of a busy key could use it up with them for good. Where both are used up not even the signature is looked at.
 */
const KEY_RATE = { perSec: 400, burst: 4_000 };
const MAX_KEYS = 10_000;
/** One message said again: ours say theirs again every five seconds. What comes more often is not read, and not passed on. */
const COPY_RATE = { perSec: 1, burst: 5 };
const MAX_COPIED = 10_000;

/** The four messages of the matching handshake, verified and parsed. */
export type HandshakeMessage = Extract<OrderMessage, { type: "TakerRequest" | "MakerReserved" | "TakerConnect" | "MakerConnected" }>;
/** `sender`: envelope key, 33 bytes. Must return at once. */
export type HandshakeListener = (sender: Uint8Array, message: HandshakeMessage) => void;

export type OrderGossipDeps = {
  readonly clock: Clock;
  readonly log: Log;
  readonly verifier: SignatureVerifier;
  /** Messages and orders of banned keys (66 hex) are dropped. */
  readonly isBanned: (pubkey: string) => boolean;
  readonly isRelay: boolean;
  /** The node's own envelope key, 66 hex. */
  readonly ownKey: string;
  readonly book: OrderbookState;
  /** A keep-alive names other orders of a key in these pairs than the book has. Must return at once. */
  readonly differs: (peer: PeerId, pubkey: string, pairs: Parameters<KeySync["begin"]>[2]) => void;
};

/** What others say of orders: read within bounds per peer and key, verified, and given to the book or to whoever matches. */
export class OrderGossip {
  readonly #deps: OrderGossipDeps;
  readonly #peerBudget = new KeyedBuckets(PEER_RATE, MAX_PEERS);
  readonly #keyBudget = new KeyedBuckets(KEY_RATE, MAX_KEYS);
  readonly #handshakeBudget = new KeyedBuckets(KEY_RATE, MAX_KEYS);
  /** By key and digest: others may sign the same words. */
  readonly #copies = new KeyedBuckets(COPY_RATE, MAX_COPIED);
  /** Handshakes. */
  readonly #said = new SaidBefore();
  readonly #listeners = new Set<HandshakeListener>();
  #stopped = false;

  constructor(deps: OrderGossipDeps) {
    this.#deps = deps;
  }

  stop(): void {
    this.#stopped = true;
  }

  onHandshake(listener: HandshakeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Takes a message of an `orbk/` topic. The verdict comes at once, or in the order of the calls when threads verify. */
  handle(message: GossipMessage): GossipVerdict | Promise<GossipVerdict> {
    const { verifier, clock, isBanned } = this.#deps;
    if (!message.topic.startsWith(ORDERBOOK_TOPIC_PREFIX)) return "ignore";
    const nowMs = clock.nowMs();
    if (!this.#peerBudget.take(message.from, nowMs)) return "busy";
    const parsed = parseEnvelope(message.data);
    if (!parsed.ok) return "reject";
    const { signature, digest, publicKey } = parsed.value;
    const pubkey = toHex(publicKey);
    // Whom a relay's own trader has banned others may still want to trade with: read, but not taken.
    if ((isBanned(pubkey) && !this.#deps.isRelay) || !this.#maySpeak(pubkey, nowMs)) return "ignore";
    if (!this.#copies.hasToken(copyOf(pubkey, digest), nowMs)) return "ignore";
    const genuine = verifier.verifyLater
      ? verifier.verifyLater(signature, digest, publicKey)
      : isSignedByItsKey(parsed.value, verifier.verify);
    if (genuine === null) return "busy";
    if (typeof genuine === "boolean") return this.#verified(genuine, parsed.value, pubkey, message.from);
    return genuine.then((late) => this.#verified(late, parsed.value, pubkey, message.from), ignoreIfAborted);
  }

  #maySpeak(pubkey: string, nowMs: number): boolean {
    return this.#keyBudget.hasToken(pubkey, nowMs) || this.#handshakeBudget.hasToken(pubkey, nowMs);
  }

  /** Takes what a message costs of the budget of its key; false where that is used up. */
  #isWithinBudget({ publicKey, digest }: Envelope, pubkey: string, message: OrderMessage | null, nowMs: number): boolean {
    const copy = copyOf(pubkey, digest);
    const isNew = !this.#copies.has(copy);
    if (!this.#copies.take(copy, nowMs)) return false;
    if (!isNew) return true;
    const date = message && dateOf(message);
    // An old one is not taken, and not the key's doing.
    if (date !== null) return isOutdated(date, nowMs) || this.#keyBudget.take(pubkey, nowMs);
    if (this.#said.has(publicKey, digest)) return true;
    if (!this.#handshakeBudget.take(pubkey, nowMs)) return false;
    this.#said.add(publicKey, digest);
    return true;
  }

  #verified(genuine: boolean, envelope: Envelope, pubkey: string, from: PeerId): GossipVerdict {
    const { clock, isBanned, log } = this.#deps;
    const { publicKey, payload } = envelope;
    const nowMs = clock.nowMs();
    if (this.#stopped) return "ignore";
    if (!genuine) {
      this.#peerBudget.charge(from, FORGERY_COST, nowMs);
      return "reject";
    }
    const parsed = parseOrderMessage(payload);
    if (!this.#isWithinBudget(envelope, pubkey, parsed.ok ? parsed.value : null, nowMs)) return "ignore";
    if (isBanned(pubkey)) return "accept";
    if (!parsed.ok) {
      // Well signed, so perhaps of a version to come: not held against anybody.
      log.debug("order_message_unreadable", { pubkey, detail: parsed.error.detail });
      return "ignore";
    }
    return this.#take(parsed.value, publicKey, pubkey, from, nowMs);
  }

  #take(message: OrderMessage, publicKey: Uint8Array, pubkey: string, peer: PeerId, nowMs: number): GossipVerdict {
    const { book, ownKey, differs } = this.#deps;
    book.prune(nowMs);
    switch (message.type) {
      case "MakerOrderCreated":
        return this.#verdict(message, pubkey, book.created(pubkey, message.body, nowMs));
      case "MakerOrderUpdated":
        return this.#verdict(message, pubkey, book.updated(pubkey, message.body, nowMs));
      case "MakerOrderCancelled":
        return this.#verdict(message, pubkey, book.cancelled(pubkey, message.body, nowMs));
      case "PubkeyKeepAlive": {
        const outcome = book.keepAlive(pubkey, message.body, nowMs);
        if (outcome.kind === "refused") return this.#verdict(message, pubkey, outcome);
        if (outcome.differing.length > 0) differs(peer, pubkey, outcome.differing);
        return "accept";
      }
      case "TakerRequest":
      case "MakerReserved":
      case "TakerConnect":
      case "MakerConnected":
        // Compared by X coordinate, as KDF does: nobody trades with himself.
        if (pubkey.slice(2) === ownKey.slice(2)) return "accept";
        for (const listener of [...this.#listeners]) listener(publicKey, message);
        return "accept";
      default:
        return assertNever(message);
    }
  }

  #verdict({ type }: OrderMessage, pubkey: string, change: BookChange): GossipVerdict {
    if (change.kind !== "refused") return "accept";
    this.#deps.log.debug("order_message_refused", { type, pubkey, reason: change.reason });
    return PASSED_ON.has(change.reason) ? "accept" : "ignore";
  }
}

const copyOf = (pubkey: string, digest: Uint8Array): string => `${pubkey} ${toHex(digest)}`;

/** When its key says it was said, unix seconds; null: it does not say. */
function dateOf({ type, body }: OrderMessage): number | null {
  switch (type) {
    case "MakerOrderCreated":
    case "MakerOrderUpdated":
    case "MakerOrderCancelled":
    case "PubkeyKeepAlive":
      return body.timestamp;
    default:
      return null;
  }
}

/** The node is stopping, and nobody waits for the verdict. */
function ignoreIfAborted(cause: unknown): GossipVerdict {
  if (cause instanceof Aborted) return "ignore";
  throw cause;
}
