import { platformOf } from "../app/coin/accountOpener.ts";
import type { CoinRegistry } from "../app/coin/coinRegistry.ts";
import type { LastCoins } from "../app/coin/lastCoins.ts";
import type { Node } from "../app/node.ts";
import type { AddressOf } from "../app/orderbook/makerAddresses.ts";
import type { BookEntry } from "../app/orderbook/orderbookService.ts";
import { TaskBook } from "../app/taskBook.ts";
import { err, ok } from "../core/util/result.ts";
import { Aborted, type Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { ReadMetrics } from "../ports/metrics.ts";
import type { P2p } from "../ports/network.ts";
import type { SwapStore } from "../ports/swapStore.ts";
import type { MadeStatus, SwapViews } from "../ports/swapViews.ts";
import type { CoinsApi } from "../rpc/ctx/coins.ts";
import type { NodeApi } from "../rpc/ctx/network.ts";
import type { OrderbookApi } from "../rpc/ctx/orders.ts";
import type { SwapsApi } from "../rpc/ctx/swaps.ts";
import type { Compatibility, RpcContext } from "../rpc/ctx.ts";
import { enableWithTokens } from "../rpc/enableWithTokens.ts";
import type { Fault } from "../rpc/fault.ts";
import { taskCrash } from "../rpc/taskMethods.ts";
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
  readonly lastCoins: Pick<LastCoins, "remember" | "rememberTokens" | "forget" | "setAside" | "whyAway" | "instead" | "isTried"> | null;
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
    return taskCrash();
  };
  return {
    clock: parts.clock,
    compatibility: parts.compatibility,
    node: nodeApi,
    coins: coinsApi(node.coins, parts.lastCoins),
    orders: node.orders,
    orderbook: orderbookApi(node, p2p !== null),
    swaps: swapsApi(parts),
    dexFee: node.dexFees,
    peers: node.peers,
    tasks: { enableUtxo: new TaskBook(crashed), withdraw: new TaskBook(crashed) },
  };
}

function orderbookApi(node: Node, online: boolean): OrderbookApi {
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
  return {
    async pair(base, rel) {
      if (!online) return err({ kind: "NoNetwork" });
      const { asks, bids } = await node.bookPair(base, rel);
      const addressOf = await node.makerAddresses([...asks, ...bids].map(({ item }) => item.base));
      return ok({ asks: asks.map((entry) => shown(entry, addressOf)), bids: bids.map((entry) => shown(entry, addressOf)) });
    },
    async best(coin, action, limit, signal) {
      if (!online) return err({ kind: "NoNetwork" });
      const best = await node.book.bestOrders(coin, action, limit, signal);
      if (best === null) return err({ kind: "NoPeerAnswered" });
      const addressOf = await node.makerAddresses(best.keys());
      return ok(new Map([...best].map(([other, entries]) => [other, entries.map((entry) => shown(entry, addressOf, other))])));
    },
    async depths(pairs, signal) {
      return online ? ok(await node.book.depths(pairs, signal)) : err({ kind: "NoNetwork" });
    },
    originalTickers: () => node.originalTickers,
  };
}

function coinsApi(coins: CoinRegistry, lastCoins: RpcContextParts["lastCoins"]): CoinsApi {
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
          qrc20Platform: entry.protocol.type === "QRC20" ? platformOf(entry) : null,
        }
      );
    },
    // What the node tries by itself gives way to who asks.
    opening: (ticker) => (lastCoins?.isTried(ticker) ? undefined : coins.opening(ticker)),
    whyAway: (ticker) => lastCoins?.whyAway(ticker) ?? null,
    async enable(request, signal) {
      if (lastCoins === null) return coins.enable(request, signal);
      return lastCoins.instead([request.coin], async () => {
        const done = await coins.enable(request, signal);
        if (done.ok) await lastCoins.remember(request);
        return done;
      });
    },
    async enableTokens(platform, tokens, signal) {
      if (lastCoins === null) return coins.enableTokens(platform, tokens, signal);
      const tickers = tokens.map((token) => token.ticker);
      return lastCoins.instead(tickers, async () => {
        const done = await coins.enableTokens(platform, tokens, signal);
        const [first] = done.ok ? done.value : [];
        if (first) await lastCoins.rememberTokens(first.account.platform, tokens);
        return done;
      });
    },
    async enableWithTokens(request, tokens, signal) {
      if (lastCoins === null) return enableWithTokens(coins, request, tokens, signal);
      return lastCoins.instead([request.coin, ...tokens.map((token) => token.ticker)], async () => {
        // Remembered together: what is refused changes nothing of what was.
        const done = await enableWithTokens(coins, request, tokens, signal);
        if (done.ok) await lastCoins.remember(request);
        if (done.ok && tokens.length > 0) await lastCoins.rememberTokens(request.coin, tokens);
        return done;
      });
    },
    async disable(ticker, force) {
      const isAwaited = lastCoins !== null && lastCoins.whyAway(ticker) !== null;
      const done = await coins.disable(ticker, force);
      if (!done.ok && done.error.kind === "NoSuchCoin" && isAwaited) {
        await lastCoins.forget([ticker]);
        return ok({ cancelledOrders: [], passivized: false });
      }
      if (!done.ok) return done;
      const { passivized, tokens } = done.value;
      const gone = force || !passivized ? [ticker, ...tokens] : [];
      if (passivized) await lastCoins?.setAside(ticker, gone);
      else await lastCoins?.forget(gone);
      return done;
    },
  };
}

function swapsApi(parts: RpcContextParts): SwapsApi {
  const { node, swapStore: store, clock } = parts;
  const { swaps } = node;
  return {
    ...swapStatuses({
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
