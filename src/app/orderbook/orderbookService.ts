import { type BookOrder, byPrice } from "../../core/book/bookOrder.ts";
import { orderbookTopic, pairOf } from "../../core/book/bookPair.ts";
import { type Depth, Depths } from "../../core/book/depths.ts";
import { OrderbookState } from "../../core/book/orderbookState.ts";
import type { BookLimits } from "../../core/book/orderStore.ts";
import { type BestOrdersLimit, ordersFrom } from "../../core/book/selection.ts";
import { servesRequest } from "../../core/book/servesRequest.ts";
import { signEnvelope } from "../../core/message/envelope.ts";
import { encodeOrderMessage } from "../../core/message/orderMessage.ts";
import type { BestOrdersAction } from "../../core/message/requestMessage.ts";
import type { OrderMessage, TakerRequest } from "../../core/message/types.ts";
import { toHex } from "../../core/util/bytes.ts";
import type { Secret } from "../../core/util/secret.ts";
import { Aborted, type Clock, sleep } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { GossipMessage, GossipVerdict, P2p, PeerAnswer, PeerId } from "../../ports/network.ts";
import type { SignatureVerifier } from "../../ports/signatures.ts";
import type { OwnOrders } from "../orders/ownOrders.ts";
import { type AnswerSources, answerRequest } from "./answerRequest.ts";
import { BookLoader } from "./bookLoader.ts";
import { KeyedBuckets } from "./keyedBuckets.ts";
import { KeySync } from "./keySync.ts";
import { type HandshakeListener, OrderGossip } from "./orderGossip.ts";
import { OwnBook } from "./ownBook.ts";
import { type BestOrders, RelayQueries } from "./relayQueries.ts";

/** Period of our keep-alives; others drop a key after 90 s without one (reference p2p-wire.md section 9). */
const KEEP_ALIVE_MS = 30_000;
/**
 * Keep-alives are signed so many at a time, with a pause behind, ms: each takes the better part of a millisecond, there may be one for each of ten thousand
 * orders, and others take 400 messages of a key in a second (`KEY_RATE` of `orderGossip.ts`).
 */
export const KEPT_ALIVE_AT_ONCE = 50;
const KEPT_ALIVE_PAUSE_MS = 140;
/** Keep-alives out of turn, for a relay that has just appeared: not every time when it comes and goes every moment. */
const GREETING_RATE = { perSec: 0.1, burst: 3 };
/** Pairs followed at most; the one wanted longest ago makes room. */
const MAX_FOLLOWED_PAIRS = 1000;
export type OrderbookDeps = {
  readonly p2p: P2p;
  readonly clock: Clock;
  readonly log: Log;
  readonly verifier: SignatureVerifier;
  /** What the network was told of this node's own orders. */
  readonly ownOrders: OwnOrders;
  /** The node's envelope key: compressed, 33 bytes, and its 32-byte secret. */
  readonly publicKey: Uint8Array;
  readonly secretKey: Secret<Uint8Array>;
  /** Messages and orders of banned keys (66 hex) are dropped. */
  readonly isBanned: (pubkey: string) => boolean;
  /** Whether this node has traded well with a key (66 hex): its orders keep their room in a full book. */
  readonly hasHistory: (pubkey: string) => boolean;
  /** Which relays' unsigned words were refuted; without it nobody is blamed. */
  readonly relayGrades?: { isDoubted(relay: PeerId): boolean; refuted(relay: PeerId, times: number): void };
};

export type OrderbookOptions = {
  /** KDF `maker_order_timeout`; default 90 s. */
  readonly orderTimeoutMs?: number;
  readonly limits?: BookLimits;
};

/** An order of the book as this node sees it. Prices of orders that are not `confirmed` must not be acted on. */
export type BookEntry = BookOrder & { readonly isMine: boolean };

/**
 * The order book of this node: takes what others announce, keeps what is its own alive, repairs gaps, answers other
 * nodes. Orders themselves (placing, matching) are `app/orders`.
 */
export class OrderbookService {
  readonly #deps: OrderbookDeps;
  readonly #book: OrderbookState;
  readonly #own: OwnBook;
  readonly #loader: BookLoader;
  readonly #sync: KeySync;
  readonly #sources: AnswerSources;
  readonly #queries: RelayQueries;
  readonly #gossip: OrderGossip;
  /** Followed pairs, the one wanted longest ago first; `loading` settles with the first attempt to fill the book. */
  readonly #followed = new Map<string, { readonly topic: string; loading: Promise<void> }>();
  #cancelTick: () => void = () => undefined;
  /** Ends the round of keep-alives that is under way. */
  #keepingAlive = new AbortController();
  /** Pairs that it has not come to yet. */
  #unsaid: readonly string[] = [];
  #forgetRelays: () => void = () => undefined;
  readonly #greetings = new KeyedBuckets(GREETING_RATE, 1);
  #running = false;

  constructor(deps: OrderbookDeps, options: OrderbookOptions = {}) {
    const { p2p, clock, log, relayGrades } = deps;
    const ownKey = toHex(deps.publicKey);
    this.#deps = deps;
    this.#own = new OwnBook(deps.ownOrders, ownKey);
    this.#book = new OrderbookState({
      isOwnKey: (pubkey) => pubkey === ownKey,
      isBanned: deps.isBanned,
      isDeaf: () => !p2p.isRelay && p2p.relays().length === 0,
      follows: (pair) => p2p.isRelay || this.#followed.has(pair),
      hasHistory: deps.hasHistory,
      ...(options.orderTimeoutMs !== undefined && { timeoutMs: options.orderTimeoutMs }),
      ...(options.limits && { limits: options.limits }),
      ...(relayGrades && {
        isDoubted: (relay: string) => relayGrades.isDoubted(relay),
        onRefuted: (relay: string, keys: number) => relayGrades.refuted(relay, keys),
      }),
    });
    this.#loader = new BookLoader({ p2p, clock, log, book: this.#book, isDoubted: (relay) => relayGrades?.isDoubted(relay) ?? false });
    this.#queries = new RelayQueries({
      p2p,
      clock,
      log,
      book: this.#book,
      own: this.#own,
      isBanned: deps.isBanned,
      isDoubted: (relay) => relayGrades?.isDoubted(relay) ?? false,
    });
    this.#sync = new KeySync({ p2p, clock, log, book: this.#book });
    const { verifier, isBanned } = deps;
    this.#gossip = new OrderGossip({
      clock,
      log,
      verifier,
      isBanned,
      isRelay: p2p.isRelay,
      ownKey,
      book: this.#book,
      differs: (peer, pubkey, pairs) => this.#sync.begin(peer, pubkey, pairs),
    });
    this.#sources = { isRelay: p2p.isRelay, book: this.#book, own: this.#own, isBanned: deps.isBanned };
  }

  /** Orders of others that are known. */
  get size(): number {
    return this.#book.size;
  }

  /** Begins keep-alives and upkeep. */
  start(): void {
    const { clock } = this.#deps;
    this.#running = true;
    this.#forgetRelays = this.#deps.p2p.onRelaysChanged(() => {
      // What was published while no relay was there reached nobody; a keep-alive makes the new one ask for it.
      if (this.#loader.relaysChanged() && this.#greetings.take("relay", clock.nowMs())) this.#sendKeepAlives();
    });
    this.#scheduleTick();
  }

  stop(): void {
    this.#running = false;
    this.#gossip.stop();
    this.#cancelTick();
    this.#keepingAlive.abort();
    this.#forgetRelays();
    this.#loader.stop();
    this.#sync.stop();
    this.#own.close();
  }

  /**
   * Follows a pair of orderbook tickers from now on. Resolves when a relay's book was taken in, or could not be had;
   * at once if the pair is followed already. Never rejects.
   */
  subscribePair(base: string, rel: string): Promise<void> {
    const pair = pairOf(base, rel);
    const known = this.#followed.get(pair);
    if (known) {
      this.#followed.delete(pair);
      this.#followed.set(pair, known);
      return known.loading;
    }
    this.#makeRoom();
    const topic = orderbookTopic(base, rel);
    if (!this.#deps.p2p.isRelay) this.#deps.p2p.subscribe(topic);
    // Followed before the answer comes, or it would be refused; the promise of it stands in for later callers.
    const followed = { topic, loading: Promise.resolve() };
    this.#followed.set(pair, followed);
    followed.loading = this.#loader.add(pair, base, rel);
    return followed.loading;
  }

  /** `subscribePair` for callers that do not wait. */
  follow(base: string, rel: string): void {
    void this.subscribePair(base, rel);
  }

  /** Resolves when a published message can reach somebody. Rejects with `Aborted` when `signal` fires. */
  ready(signal: AbortSignal): Promise<void> {
    // A relay hands its messages to the light nodes it serves, and needs no other relay for that.
    return this.#deps.p2p.isRelay ? Promise.resolve() : this.#deps.p2p.relayReady(signal);
  }

  /** Signs with the node's key and publishes once; nothing is queued or repeated. */
  publish(base: string, rel: string, message: OrderMessage): void {
    const envelope = signEnvelope(encodeOrderMessage(message), this.#deps.secretKey.reveal());
    this.#deps.p2p.publish(orderbookTopic(base, rel), envelope);
  }

  /** Orders of others that this node would trade with: its makers may have been banned since they came. */
  *#served(pair: string): Generator<BookOrder> {
    for (const order of this.#book.inPair(pair)) if (!this.#deps.isBanned(order.item.pubkey)) yield order;
  }

  /** Orders of exactly (base, rel), cheapest first, own ones included. */
  entries(base: string, rel: string): readonly BookEntry[] {
    this.#book.prune(this.#deps.clock.nowMs());
    const pair = pairOf(base, rel);
    const own = ordersFrom(this.#own.inPair(pair), base, rel).map((order) => ({ ...order, isMine: true }));
    const others = ordersFrom(this.#served(pair), base, rel).map((order) => ({ ...order, isMine: false }));
    return [...own, ...others].sort(byPrice);
  }

  /**
   * The best orders between `coin` and each other coin, by the other coin: `buy` those that sell it, `sell` those that ask for it.
   * Asks a relay where this node is none. Null: no relay answered.
   */
  bestOrders(coin: string, action: BestOrdersAction, limit: BestOrdersLimit, signal: AbortSignal): Promise<BestOrders | null> {
    this.#book.prune(this.#deps.clock.nowMs());
    return this.#queries.bestOrders(coin, action, limit, signal);
  }

  /** How many orders each pair has, in the order asked. Null: the pair is not followed, and no relay told. */
  async depths(pairs: readonly (readonly [base: string, rel: string])[], signal: AbortSignal): Promise<readonly (Depth | null)[]> {
    const isKept = (base: string, rel: string): boolean => this.#deps.p2p.isRelay || this.#followed.has(pairOf(base, rel));
    const told = await this.#queries.depths(
      pairs.filter(([base, rel]) => !isKept(base, rel)),
      signal,
    );
    await Promise.all(pairs.map(([base, rel]) => this.#followed.get(pairOf(base, rel))?.loading));
    this.#book.prune(this.#deps.clock.nowMs());
    const kept = this.#depths();
    return pairs.map(([base, rel]) => (isKept(base, rel) ? kept.of(base, rel) : (told.get(`${base}:${rel}`) ?? null)));
  }

  /** How many orders of a pair are known, own ones included. */
  depth(base: string, rel: string): Depth {
    return this.#depths().of(base, rel);
  }

  #depths(): Depths {
    return new Depths((pair) => [...this.#own.inPair(pair), ...this.#served(pair)]);
  }

  /** Keys (66 hex) of the makers whose orders, as far as known, serve the request; own orders left out. */
  fittingMakers(request: TakerRequest): readonly string[] {
    this.#book.prune(this.#deps.clock.nowMs());
    const makers = new Set<string>();
    for (const { item } of this.#served(pairOf(request.base, request.rel))) if (servesRequest(item, request)) makers.add(item.pubkey);
    return [...makers];
  }

  /** Whether the book lists this order as this node's own. */
  hasOwn(uuid: string): boolean {
    return this.#own.has(uuid);
  }

  /** Handshake messages of others, verified. Returns the unsubscriber. */
  onOrderMessage(listener: HandshakeListener): () => void {
    return this.#gossip.onHandshake(listener);
  }

  /** Takes a message of an `orbk/` topic. The verdict comes at once, or in the order of the calls when threads verify. */
  handleGossip(message: GossipMessage): GossipVerdict | Promise<GossipVerdict> {
    return this.#gossip.handle(message);
  }

  /** Answers an order-book request of another node. */
  async handleRequest(_peer: PeerId, request: Uint8Array): Promise<PeerAnswer> {
    return answerRequest(request, this.#sources, this.#deps.clock.nowMs());
  }

  #scheduleTick(): void {
    this.#cancelTick = this.#deps.clock.after(KEEP_ALIVE_MS, () => {
      if (!this.#running) return;
      this.#book.prune(this.#deps.clock.nowMs());
      this.#sendKeepAlives();
      void this.#loader.sweep();
      this.#scheduleTick();
    });
  }

  /**
   * One message per pair with own orders, on that pair's topic. A round that is under way begins anew with what it had not come to yet: with thousands of pairs one
   * takes longer than the next is away, and relays may come and go.
   */
  #sendKeepAlives(): void {
    this.#keepingAlive.abort();
    this.#keepingAlive = new AbortController();
    this.#unsaid = [...new Set([...this.#unsaid, ...this.#own.pairs()])];
    this.#keepAlive(this.#keepingAlive.signal).catch((cause: unknown) => {
      if (!(cause instanceof Aborted)) this.#deps.log.error("keep_alives_failed", { cause: String(cause) });
    });
  }

  async #keepAlive(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    while (this.#unsaid.length > 0) {
      const pairs = this.#unsaid.slice(0, KEPT_ALIVE_AT_ONCE);
      this.#unsaid = this.#unsaid.slice(KEPT_ALIVE_AT_ONCE);
      const timestamp = Math.floor(clock.nowMs() / 1000);
      for (const pair of pairs) {
        const [base, rel] = pair.split(":");
        if (base === undefined || rel === undefined || this.#own.inPair(pair).length === 0) continue;
        this.publish(base, rel, { type: "PubkeyKeepAlive", body: { trieRoots: [[pair, this.#own.root(pair)]], timestamp } });
      }
      if (this.#unsaid.length > 0) await sleep(clock, KEPT_ALIVE_PAUSE_MS, signal);
    }
  }

  /** Lets go of the pair wanted longest ago in which this node has no order, when there are too many. */
  #makeRoom(): void {
    if (this.#followed.size < MAX_FOLLOWED_PAIRS) return;
    for (const [pair, { topic }] of this.#followed) {
      if (this.#own.inPair(pair).length > 0) continue;
      this.#followed.delete(pair);
      this.#loader.remove(pair);
      if (!this.#deps.p2p.isRelay) this.#deps.p2p.unsubscribe(topic);
      return;
    }
  }
}
