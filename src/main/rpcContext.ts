import type { CoinRegistry } from "../app/coin/coinRegistry.ts";
import type { Node } from "../app/node.ts";
import type { BookEntry } from "../app/orderbook/orderbookService.ts";
import { swapStatus } from "../core/swap/swapStatus.ts";
import { err, ok } from "../core/util/result.ts";
import type { Clock } from "../ports/clock.ts";
import type { P2p } from "../ports/network.ts";
import type { SwapStore } from "../ports/swapStore.ts";
import type { CoinsApi } from "../rpc/ctx/coins.ts";
import type { NodeApi } from "../rpc/ctx/network.ts";
import type { OrderbookApi } from "../rpc/ctx/orders.ts";
import type { SwapsApi } from "../rpc/ctx/swaps.ts";
import type { RpcContext } from "../rpc/ctx.ts";
import { swapPages } from "./swapPages.ts";

export type RpcContextParts = {
  readonly clock: Clock;
  readonly node: Node;
  readonly swapStore: SwapStore;
  readonly version: string;
  readonly startedAt: string;
  readonly netid: number;
  readonly publicKey: string | null;
  readonly hd: boolean;
  readonly p2p: P2p | null;
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
    network: p2p && { peerId: p2p.peerId, peers: () => p2p.peers() },
    stop: parts.stop,
  };
  return {
    clock: parts.clock,
    node: nodeApi,
    coins: coinsApi(node.coins),
    orders: node.orders,
    orderbook: orderbookApi(node, p2p !== null),
    swaps: swapsApi(node, parts.swapStore),
    dexFee: node.dexFees,
    peers: node.peers,
  };
}

function orderbookApi(node: Node, online: boolean): OrderbookApi {
  const shown = ({ item, conf, isMine }: BookEntry) => ({
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
    address: node.addressOf(item.base, item.pubkey),
  });
  return {
    async pair(base, rel) {
      if (!online) return err({ kind: "NoNetwork" });
      const { asks, bids } = await node.bookPair(base, rel);
      return ok({ asks: asks.map(shown), bids: bids.map(shown) });
    },
  };
}

function coinsApi(coins: CoinRegistry): CoinsApi {
  return {
    active: (ticker) => coins.active(ticker),
    all: () => coins.all(),
    entry(ticker) {
      const entry = coins.entry(ticker);
      return (
        entry && { walletOnly: entry.walletOnly, orderbookTicker: entry.orderbookTicker, protocol: JSON.stringify(entry.raw.protocol) }
      );
    },
    enable: (request, signal) => coins.enable(request, signal),
    disable: (ticker, force) => coins.disable(ticker, force),
  };
}

function swapsApi(node: Node, store: SwapStore): SwapsApi {
  const { swaps } = node;
  const statusOf = async (uuid: string): Promise<Record<string, unknown> | undefined> => {
    const log = await swaps.log(uuid);
    return log ? swapStatus(log) : undefined;
  };
  return {
    status: statusOf,
    page: swapPages(store),
    active: () => swaps.activeUuids(),
    coinsNeededForKickStart: () => [...new Set([...swaps.kickStartCoins(), ...node.orders.coinsNeededForKickStart()])],
    async recoverFunds(uuid) {
      const status = await statusOf(uuid);
      if (!status) return err({ kind: "SwapNotFound" });
      if (status.is_finished !== true) return err({ kind: "SwapNotFinished" });
      return err({
        kind: "NotRecoverable",
        reason:
          "Nothing to recover: this node ends a swap only when its money is final, and refunds and claims go on by themselves until then",
      });
    },
  };
}
