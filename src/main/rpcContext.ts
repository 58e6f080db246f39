import type { CoinRegistry } from "../app/coin/coinRegistry.ts";
import type { Node } from "../app/node.ts";
import type { BookEntry } from "../app/orderbook/orderbookService.ts";
import { err, ok } from "../core/util/result.ts";
import type { Clock } from "../ports/clock.ts";
import type { ReadMetrics } from "../ports/metrics.ts";
import type { P2p } from "../ports/network.ts";
import type { SwapStore } from "../ports/swapStore.ts";
import type { CoinsApi } from "../rpc/ctx/coins.ts";
import type { NodeApi } from "../rpc/ctx/network.ts";
import type { OrderbookApi } from "../rpc/ctx/orders.ts";
import type { SwapsApi } from "../rpc/ctx/swaps.ts";
import type { Compatibility, RpcContext } from "../rpc/ctx.ts";
import { importEndedSwaps } from "./importEndedSwaps.ts";
import { recoverFunds } from "./recoverFunds.ts";
import { swapPages } from "./swapPages.ts";
import { swapStatuses } from "./swapStatuses.ts";

export type RpcContextParts = {
  readonly clock: Clock;
  readonly compatibility: Compatibility;
  readonly node: Node;
  readonly swapStore: SwapStore;
  readonly version: string;
  readonly startedAt: string;
  readonly netid: number;
  readonly publicKey: string | null;
  readonly hd: boolean;
  readonly p2p: P2p | null;
  readonly metrics: ReadMetrics;
  readonly stop: () => void;
};

/** Fits the application to what the RPC methods ask for. */
export function createRpcContext(parts: RpcContextParts): RpcContext {
  const { node, p2p } = parts;
  const nodeApi: NodeApi = {
    version: parts.version,
    startedAt: parts.startedAt,
    netid: parts.netid,
    publicKey: parts.publicKey,
    hd: parts.hd,
    network: p2p && { peerId: p2p.peerId, peers: () => p2p.peers(), relays: () => p2p.relays(), mesh: () => p2p.mesh() },
    metrics: parts.metrics,
    stop: parts.stop,
  };
  return {
    clock: parts.clock,
    compatibility: parts.compatibility,
    node: nodeApi,
    coins: coinsApi(node.coins),
    orders: node.orders,
    orderbook: orderbookApi(node, p2p !== null),
    swaps: swapsApi(node, parts.swapStore, parts.clock),
    dexFee: node.dexFees,
    peers: node.peers,
  };
}

function orderbookApi(node: Node, online: boolean): OrderbookApi {
  const shown = ({ item, conf, isMine }: BookEntry, addressCoin = item.base) => ({
    uuid: item.uuid,
    pubkey: item.pubkey,
    base: item.base,
    rel: item.rel,
    price: item.price,
    maxVolume: item.maxVolume,
    minVolume: item.minVolume,
    createdAt: item.createdAt,
    conf,
    isMine,
    address: node.addressOf(addressCoin, item.pubkey),
  });
  return {
    async pair(base, rel) {
      if (!online) return err({ kind: "NoNetwork" });
      const { asks, bids } = await node.bookPair(base, rel);
      return ok({ asks: asks.map((entry) => shown(entry)), bids: bids.map((entry) => shown(entry)) });
    },
    async best(coin, action, limit, signal) {
      if (!online) return err({ kind: "NoNetwork" });
      const best = await node.book.bestOrders(coin, action, limit, signal);
      if (best === null) return err({ kind: "NoPeerAnswered" });
      return ok(new Map([...best].map(([other, entries]) => [other, entries.map((entry) => shown(entry, other))])));
    },
    async depths(pairs, signal) {
      return online ? ok(await node.book.depths(pairs, signal)) : err({ kind: "NoNetwork" });
    },
    originalTickers: () => node.originalTickers,
  };
}

function coinsApi(coins: CoinRegistry): CoinsApi {
  return {
    active: (ticker) => coins.wallet(ticker),
    trading: (ticker) => coins.active(ticker),
    all: () => coins.all(),
    entry(ticker) {
      const entry = coins.entry(ticker);
      return (
        entry && {
          walletOnly: entry.walletOnly,
          orderbookTicker: entry.orderbookTicker,
          protocol: JSON.stringify(entry.raw.protocol ?? null),
        }
      );
    },
    enable: (request, signal) => coins.enable(request, signal),
    enableTokens: (platform, tokens, signal) => coins.enableTokens(platform, tokens, signal),
    disable: (ticker, force) => coins.disable(ticker, force),
  };
}

function swapsApi(node: Node, store: SwapStore, clock: Clock): SwapsApi {
  const { swaps } = node;
  return {
    status: swapStatuses({
      log: (uuid) => swaps.log(uuid),
      isSettled: (uuid) => swaps.isSettled(uuid),
      endedElsewhere: (uuid) => store.endedElsewhere(uuid),
    }),
    page: swapPages(store),
    active: () => swaps.activeUuids(),
    coinsNeededForKickStart: () => [...new Set([...swaps.kickStartCoins(), ...node.orders.coinsNeededForKickStart()])],
    recoverFunds: recoverFunds(
      (uuid) => swaps.log(uuid),
      (ticker) => node.coins.active(ticker) !== undefined,
      (uuid) => store.endedElsewhere(uuid),
    ),
    importEnded: importEndedSwaps(store, swaps, clock),
  };
}
