import { ORDERBOOK_TOPIC_PREFIX } from "../core/book/bookPair.ts";
import type { CoinEntry } from "../core/coin/coinEntry.ts";
import type { HdAddressId } from "../core/keys/hd.ts";
import type { KeyPair } from "../core/keys/keyPair.ts";
import { deriveSwapSecret } from "../core/keys/swapSecret.ts";
import { fromUnits } from "../core/money/rational.ts";
import type { NetworkProfile } from "../core/network/networkProfile.ts";
import type { StoredEvent } from "../core/swap/events.ts";
import { slowBlockSec } from "../core/swap/safety.ts";
import { err, type Result } from "../core/util/result.ts";
import { hash160 } from "../core/utxo/hash.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { GossipMessage, GossipVerdict, P2p } from "../ports/network.ts";
import type { OrderStore } from "../ports/orderStore.ts";
import type { PeerStore } from "../ports/peerStore.ts";
import type { Rng } from "../ports/rng.ts";
import type { SignatureVerifier } from "../ports/signatures.ts";
import type { SwapStore } from "../ports/swapStore.ts";
import { CoinRegistry } from "./coin/coinRegistry.ts";
import type { EvmParts } from "./coin/evmParts.ts";
import type { OpenChain } from "./coin/utxoOpener.ts";
import { DexFees } from "./dexFees.ts";
import { type AddressOf, MakerAddresses } from "./orderbook/makerAddresses.ts";
import { OrderbookService } from "./orderbook/orderbookService.ts";
import type { OrderFiles } from "./orders/ordersDeps.ts";
import { createOrders, type OrdersService } from "./orders/ordersService.ts";
import { OwnKeyWatch } from "./peers/ownKeyWatch.ts";
import { PeerPolicy } from "./peers/peerPolicy.ts";
import { RelayGrades } from "./peers/relayGrades.ts";
import { watchedP2p } from "./peers/watchedP2p.ts";
import { RecentCount } from "./recentCount.ts";
import { SwapRunner } from "./swap/swapRunner.ts";

/** Everything the application needs of the outside. `main/compose.ts` gives it the real parts, the simulator others. */
export type NodeParts = {
  readonly clock: Clock;
  readonly rng: Rng;
  readonly log: Log;
  readonly p2p: P2p;
  readonly verifier: SignatureVerifier;
  readonly orderStore: OrderStore;
  readonly swapStore: SwapStore;
  readonly peerStore: PeerStore;
  readonly orderFiles?: OrderFiles;
  readonly onSwapEvent: (uuid: string, log: readonly StoredEvent[]) => void;
  /** Nothing about the swap changes any more; must not throw. */
  readonly onSwapSettled?: (uuid: string, log: readonly StoredEvent[]) => void;
  /** The node's own key: envelopes, identity of orders, and in single-key mode every coin's key. */
  readonly key: KeyPair;
  /** Key of a coin's first address, or of another one, in HD mode; absent in single-key mode. */
  readonly hdKeyOf?: (entry: CoinEntry, id?: HdAddressId) => KeyPair | null;
  readonly entries: ReadonlyMap<string, CoinEntry>;
  readonly openChain: OpenChain;
  /** Absent: no account chains. */
  readonly evm?: EvmParts;
  readonly profile: NetworkProfile;
  readonly makerOrderTimeoutMs: number;
  readonly gui: string | null;
  readonly version: string;
};

/** How far back received messages are counted. */
export const RECEIVED_WINDOW_SEC = 60;

/** One trading node above its ports. */
export class Node {
  readonly coins: CoinRegistry;
  readonly orders: OrdersService;
  readonly swaps: SwapRunner;
  readonly peers: PeerPolicy;
  readonly book: OrderbookService;
  readonly dexFees: DexFees;
  /** Coins of the coins file that trade under another ticker, by that ticker. */
  readonly originalTickers: { readonly [orderbookTicker: string]: readonly string[] };
  readonly #parts: NodeParts;
  readonly #makerAddresses: MakerAddresses;
  readonly #received = new RecentCount(RECEIVED_WINDOW_SEC);
  #finishedSwaps = 0;
  readonly #ownKey: OwnKeyWatch;
  readonly #relayGrades: RelayGrades;

  constructor(parts: NodeParts) {
    this.#parts = parts;
    this.#makerAddresses = new MakerAddresses(parts.entries);
    const { clock, rng, log, verifier, key, profile, entries, peerStore } = parts;
    const ownKey = new OwnKeyWatch({ clock, log, store: peerStore, verify: verifier.verify, publicKey: key.publicKey });
    const p2p = watchedP2p(parts.p2p, (topic, data) => ownKey.onPublish(topic, data));
    this.#ownKey = ownKey;
    this.#relayGrades = new RelayGrades({ clock, log, store: peerStore });
    const isTestCoin = (ticker: string): boolean => entries.get(ticker)?.isTestnet ?? false;
    const fees = new DexFees(profile, isTestCoin);
    this.dexFees = fees;
    this.originalTickers = byOrderbookTicker(entries);
    this.coins = new CoinRegistry({
      clock,
      log,
      entries,
      keyOf: (entry) => this.#keyOf(entry),
      ...(parts.hdKeyOf ? { hdKeyOf: parts.hdKeyOf } : {}),
      openChain: parts.openChain,
      ...(parts.evm ? { evm: parts.evm } : {}),
      feeCeilingFactor: profile.safety.feeCeilingFactor,
      prepare: (coin) => this.swaps.prepare(coin),
      beforeClose: (ticker) => this.swaps.park(ticker),
      usersOf: (ticker) => ({ matchingOrders: this.orders.matchingWith(ticker), activeSwaps: this.swaps.activeWith(ticker) }),
      isWatched: (ticker) => this.swaps.isWatching(ticker),
      cancelOrdersOf: async (ticker) => (await this.orders.cancelAllOrders({ type: "Coin", ticker })).cancelled,
    });
    this.peers = new PeerPolicy({
      clock,
      log,
      store: peerStore,
      coin: (ticker) => {
        // Also one that was put aside: it pays for its tokens.
        const coin = this.coins.running(ticker);
        return coin ? { spendable: coin.spendable(), decimals: coin.decimals } : null;
      },
    });
    this.swaps = new SwapRunner({
      clock,
      rng,
      log,
      p2p,
      verifier,
      store: parts.swapStore,
      coin: (ticker) => this.coins.running(ticker),
      onCoinActivated: (listener) => this.coins.onActivated(listener),
      keys: {
        publicKey: key.publicKey,
        secretKey: key.secret,
        deriveSecret(startedAt, salt) {
          const secret = deriveSwapSecret(key.secret, startedAt, salt).reveal();
          return { secret, hash: hash160(secret) };
        },
      },
      dexFee: (match, takerCoin) => fees.units(match, takerCoin),
      timing: profile,
      profileOfFee: (terms, raw, takerCoin) => fees.profileOf(terms, raw, takerCoin),
      gui: parts.gui,
      version: parts.version,
      ...(parts.onSwapSettled ? { onSettled: parts.onSwapSettled } : {}),
      onEvent: (uuid, events) => {
        parts.onSwapEvent(uuid, events);
        if (events.at(-1)?.event.type === "finished") this.#finishedSwaps++;
        if (this.peers.onSwapEvent(uuid, events) === "came_to_nothing") this.orders.onUnpaidSwapEnded(uuid);
      },
    });
    this.orders = createOrders({
      clock,
      rng,
      log,
      // The book is built on the orders, and the orders speak through the book.
      network: {
        follow: (base, rel) => this.book.follow(base, rel),
        publish: (base, rel, message) => this.book.publish(base, rel, message),
        ready: (signal) => this.book.ready(signal),
      },
      book: { fittingMakers: (request) => this.book.fittingMakers(request) },
      store: parts.orderStore,
      swaps: this.swaps,
      rules: {
        lock: { baseSec: profile.paymentLocktimeSec, slowTickers: profile.slowTickers, slowFactor: profile.slowFactor },
        blockTimes: (ticker) => ({
          slowBlockSec: slowBlockSec(profile.safety, entries.get(ticker)?.avgBlocktime),
          notarizationSec: this.coins.running(ticker)?.chain.hasNoFinality?.() ? null : profile.safety.notarizationSec,
        }),
        safety: profile.safety,
        isTestCoin,
        blockReward: (ticker) => {
          const coin = isTestCoin(ticker) ? undefined : this.coins.utxo(ticker);
          const units = coin?.chain.blockRewardUnits() ?? null;
          return coin === undefined || units === null ? null : fromUnits(units, coin.decimals);
        },
        paymentWaitSec: profile.paymentMessageWaitSec,
        dexFee: (takerTicker, makerTicker, amount) => {
          const coin = this.coins.active(takerTicker);
          return coin ? fees.total(coin, makerTicker, amount) : { n: 0n, d: 1n };
        },
        noFeeKey: (takerTicker) => fees.noFeeKey(takerTicker),
      },
      policy: this.peers,
      keyElsewhere: () => ownKey.elsewhere(),
      ownKey: key.publicKey,
      coin: (ticker) => this.coins.active(ticker),
      ...(parts.orderFiles ? { files: parts.orderFiles } : {}),
    });
    this.book = new OrderbookService(
      {
        p2p,
        clock,
        log,
        verifier,
        ownOrders: this.orders.ownOrders,
        publicKey: key.publicKey,
        secretKey: key.secret,
        isBanned: (pubkey) => this.peers.isBanned(pubkey),
        hasHistory: (pubkey) => this.peers.hasHistory(pubkey),
        relayGrades: this.#relayGrades,
      },
      { orderTimeoutMs: parts.makerOrderTimeoutMs },
    );
    this.book.onOrderMessage((sender, message) => this.orders.onMessage(sender, message));
  }

  /** Loads what is stored and joins the network's messages. The transport may be started before or after. */
  async open(): Promise<void> {
    const { p2p } = this.#parts;
    p2p.setMessageHandler((message) => this.#route(message));
    p2p.setRequestHandler((peer, request) => this.book.handleRequest(peer, request));
    await this.peers.open();
    await this.#relayGrades.open();
    await this.#ownKey.open();
    await this.swaps.open();
    // One whose record cannot be read is told of there, and keeps no other from going on.
    for (const uuid of this.swaps.activeUuids()) this.peers.resume(uuid, (await this.swaps.log(uuid).catch(() => null)) ?? []);
    await this.orders.restore();
    this.book.start();
    this.orders.start();
  }

  /** Stops in reverse. Nothing is cancelled: orders and swaps go on at the next start. */
  async close(): Promise<void> {
    await this.orders.close();
    this.book.stop();
    await this.swaps.close();
    await this.coins.close();
    await this.peers.close();
    await this.#relayGrades.close();
    await this.#ownKey.close();
  }

  /** Messages of others in the last `RECEIVED_WINDOW_SEC` seconds. */
  receivedMessages(): number {
    return this.#received.count(this.#parts.clock.nowMs());
  }

  /** Swaps that ended since the start, well or not. */
  finishedSwaps(): number {
    return this.#finishedSwaps;
  }

  /** Topics of others (watchers, statistics) are passed on unread. */
  #route(message: GossipMessage): GossipVerdict | Promise<GossipVerdict> {
    this.#received.note(this.#parts.clock.nowMs());
    if (message.topic.startsWith("swap/") || message.topic.startsWith(ORDERBOOK_TOPIC_PREFIX)) {
      this.#ownKey.onMessage(message.topic, message.data);
    }
    if (message.topic.startsWith("swap/")) return this.swaps.onGossip(message);
    return message.topic.startsWith(ORDERBOOK_TOPIC_PREFIX) ? this.book.handleGossip(message) : "accept";
  }

  /** Shows makers' addresses on coins of the coins file, `tickers` among them. */
  makerAddresses(tickers: Iterable<string>): Promise<AddressOf> {
    return this.#makerAddresses.on(tickers);
  }

  #keyOf(entry: CoinEntry): Result<KeyPair, { readonly kind: "NotSupported"; readonly coin: string; readonly reason: string }> {
    const { hdKeyOf, key } = this.#parts;
    const coinKey = hdKeyOf ? hdKeyOf(entry) : key;
    return coinKey
      ? { ok: true, value: coinKey }
      : err({ kind: "NotSupported", coin: entry.ticker, reason: "its coins-file entry has no derivation_path, which HD mode needs" });
  }
}

function byOrderbookTicker(entries: ReadonlyMap<string, CoinEntry>): { readonly [orderbookTicker: string]: readonly string[] } {
  const tickers = new Map<string, string[]>();
  for (const { ticker, orderbookTicker } of entries.values()) {
    if (orderbookTicker !== null) tickers.set(orderbookTicker, [...(tickers.get(orderbookTicker) ?? []), ticker]);
  }
  return Object.fromEntries(tickers);
}
