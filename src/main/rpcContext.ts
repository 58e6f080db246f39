import type { Node } from "../app/node.ts";
import type { AddressOf } from "../app/orderbook/makerAddresses.ts";
import type { BookEntry } from "../app/orderbook/orderbookService.ts";
import { TaskBook } from "../app/taskBook.ts";
import { err, ok } from "../core/util/result.ts";
import { Aborted, type Clock, mapInTurns } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { ReadMetrics } from "../ports/metrics.ts";
import type { P2p } from "../ports/network.ts";
import type { SwapStore } from "../ports/swapStore.ts";
import type { MadeStatus, SwapViews } from "../ports/swapViews.ts";
import type { NodeApi } from "../rpc/ctx/network.ts";
import type { OrderbookApi, PairOrders } from "../rpc/ctx/orders.ts";
import type { SwapsApi } from "../rpc/ctx/swaps.ts";
import type { Compatibility, RpcContext } from "../rpc/ctx.ts";
import type { Fault } from "../rpc/fault.ts";
import { taskCrash } from "../rpc/taskMethods.ts";
import { coinsApi, type RememberedCoins } from "./coinsApi.ts";
import { importEndedSwaps } from "./importEndedSwaps.ts";
import { recoverFunds } from "./recoverFunds.ts";
import { swapPages } from "./swapPages.ts";
import { swapStatuses } from "./swapStatuses.ts";

export type RpcContextParts = {
  readonly clock: Clock;
  readonly log: Log;
  readonly compatibility: Compatibility;
  readonly node: Node;
  readonly swapStore: SwapStore;
  readonly swapViews: SwapViews;
  /** Keeps statuses of settled swaps for the next list. */
  readonly keepStatuses: (made: readonly MadeStatus[]) => void;
  readonly version: string;
  readonly startedAt: string;
  readonly netid: number;
  readonly publicKey: string | null;
  readonly hd: boolean;
  readonly p2p: P2p | null;
  readonly metrics: ReadMetrics;
  /** Remembers enabled coins for the next start; null: they are not. */
  readonly lastCoins: RememberedCoins | null;
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
  const crashed = (cause: unknown): Fault => {
    if (!(cause instanceof Aborted)) parts.log.error("rpc_task_failed", { error: cause });
    return taskCrash(cause);
  };
  return {
    clock: parts.clock,
    compatibility: parts.compatibility,
    node: nodeApi,
    coins: coinsApi(node.coins, parts.lastCoins),
    orders: node.orders,
    orderbook: orderbookApi(node, parts.clock, p2p !== null),
    swaps: swapsApi(parts),
    dexFee: node.dexFees,
    peers: node.peers,
    tasks: { enableUtxo: new TaskBook(crashed), withdraw: new TaskBook(crashed) },
  };
}

/** Orders whose makers' addresses are worked out in one turn of the event loop: on account chains each takes half a millisecond. */
const SHOWN_IN_TURN = 50;

function orderbookApi(node: Node, clock: Clock, online: boolean): OrderbookApi {
  const shown = ({ item, conf, isMine }: BookEntry, addressOf: AddressOf, addressCoin = item.base) => ({
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
    address: addressOf(addressCoin, item.pubkey),
  });
  const readPair = async (base: string, rel: string, signal: AbortSignal): Promise<PairOrders> => {
    const [asks, bids] = [node.book.entries(base, rel), node.book.entries(rel, base)];
    const addressOf = await node.makerAddresses([...asks, ...bids].map(({ item }) => item.base));
    const side = (entries: readonly BookEntry[]) => mapInTurns(clock, entries, SHOWN_IN_TURN, (entry) => shown(entry, addressOf), signal);
    return { asks: await side(asks), bids: await side(bids) };
  };
  return {
    async pair(base, rel) {
      if (!online) return err({ kind: "NoNetwork" });
      await node.book.subscribePair(base, rel);
      const { asks, bids } = node.book.depth(base, rel);
      return ok({ size: asks + bids, read: (signal) => readPair(base, rel, signal) });
    },
    async best(coin, action, limit, signal) {
      if (!online) return err({ kind: "NoNetwork" });
      const best = await node.book.bestOrders(coin, action, limit, signal);
      if (best === null) return err({ kind: "NoPeerAnswered" });
      const addressOf = await node.makerAddresses(best.keys());
      const all = [...best].flatMap(([other, entries]) => entries.map((entry) => ({ other, entry })));
      const lines = new Map([...best.keys()].map((other): [string, ReturnType<typeof shown>[]] => [other, []]));
      const show = ({ other, entry }: (typeof all)[number]) => lines.get(other)?.push(shown(entry, addressOf, other));
      await mapInTurns(clock, all, SHOWN_IN_TURN, show, signal);
      return ok(lines);
    },
    async depths(pairs, signal) {
      return online ? ok(await node.book.depths(pairs, signal)) : err({ kind: "NoNetwork" });
    },
    originalTickers: () => node.originalTickers,
  };
}

function swapsApi(parts: RpcContextParts): SwapsApi {
  const { node, swapStore: store, clock } = parts;
  const { swaps } = node;
  return {
    ...swapStatuses({
      clock,
      log: (uuid) => swaps.log(uuid),
      isSettled: (uuid) => swaps.isSettled(uuid),
      unseenOf: (uuid) => swaps.unseenOf(uuid),
      endedElsewhere: (uuid) => store.endedElsewhere(uuid),
      views: parts.swapViews,
      keep: parts.keepStatuses,
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
