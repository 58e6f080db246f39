import { type MakerOrder, resumeMakerOrder } from "../../core/order/makerOrder.ts";
import type { TakerOrder } from "../../core/order/takerOrder.ts";
import { equalBytes, toHex } from "../../core/util/bytes.ts";
import type { Result } from "../../core/util/result.ts";
import type { HistoryFilter, HistoryRow } from "../../ports/orderStore.ts";
import type { HandshakeMessage } from "../orderbook/orderGossip.ts";
import type { TradingCoin } from "../tradingCoin.ts";
import { type CancelBy, type CancelError, type CancelledOrders, cancelAllOrders, cancelOrder, sortOrders } from "./cancelOrders.ts";
import { FundsHolds } from "./fundsHolds.ts";
import { Mailbox } from "./mailbox.ts";
import { MakerSide } from "./makerSide.ts";
import { OrderAnnouncer } from "./orderAnnouncer.ts";
import type { MakerOrderInput, MakerOrderUpdate, TakerOrderInput } from "./orderInputs.ts";
import { OrderLedger } from "./orderLedger.ts";
import { type HistoryOrder, OrderLookup, type OrderNotFound, type OrderStatus } from "./orderLookup.ts";
import { OrderLoop } from "./orderLoop.ts";
import type { OrdersDeps } from "./ordersDeps.ts";
import { OrderUpkeep } from "./orderUpkeep.ts";
import type { OwnOrders } from "./ownOrders.ts";
import { type PlaceOrderError, placeMakerOrder, placeTakerOrder, takerPair } from "./placeOrders.ts";
import { StrangersLog } from "./strangersLog.ts";
import { type UsualTerms, usualTerms } from "./swapTerms.ts";
import { TakerSide } from "./takerSide.ts";
import { type UpdateOrderError, updateMakerOrder } from "./updateMaker.ts";

/** Rows of the history one answer holds at most, the newest: some 25 MB of JSON. */
const MAX_HISTORY_ROWS = 20_000;
/** Own orders, from the RPC's side and from the network's. */
export interface OrdersService {
  /** Loads stored orders; `swaps.has` must already know every stored swap. Call once, before anything else. */
  restore(): Promise<void>;
  /** Begins the loop. */
  start(): void;
  /** Stops the loop and lets what has begun finish. Open orders stay stored, and are not withdrawn from the network. */
  close(): Promise<void>;
  placeTakerOrder(input: TakerOrderInput): Promise<Result<TakerOrder, PlaceOrderError>>;
  placeMakerOrder(input: MakerOrderInput): Promise<Result<MakerOrder, PlaceOrderError>>;
  updateMakerOrder(update: MakerOrderUpdate): Promise<Result<MakerOrder, UpdateOrderError>>;
  cancelOrder(uuid: string): Promise<Result<void, CancelError>>;
  cancelAllOrders(by: CancelBy): Promise<CancelledOrders>;
  /** Uuids of orders with this coin whose handshake is open: `disable_coin` refuses while there are any. */
  matchingWith(ticker: string): readonly string[];
  /** What orders of a pair are held to; the coins by their part in the swap. */
  usualTerms(maker: TradingCoin, taker: TradingCoin): UsualTerms;
  /** Open orders, oldest first. */
  myOrders(): { readonly makers: readonly MakerOrder[]; readonly takers: readonly TakerOrder[] };
  /** A live order, or an ended one kept in history. */
  orderStatus(uuid: string): Promise<Result<OrderStatus, OrderNotFound>>;
  /** Rows of the history under a filter, newest first. Rejects with `StorageError`. */
  history(filter: HistoryFilter): Promise<readonly HistoryRow[]>;
  /** The orders of some rows of the history. What cannot be found or read is left out, and what is damaged is logged. */
  historyDetails(uuids: readonly string[]): Promise<ReadonlyMap<string, HistoryOrder>>;
  /** Tickers of the orders loaded by `restore`; does not shrink as coins are enabled (reference rpc.md 6.9). */
  coinsNeededForKickStart(): readonly string[];
  /** A verified handshake message. `sender`: envelope key, 33 bytes. Returns at once. */
  onMessage(sender: Uint8Array, message: HandshakeMessage): void;
  /** A swap of a maker order ended before its taker had paid anything. Returns at once. */
  onUnpaidSwapEnded(swap: string): void;
  /** What the network was told, for roots, keep-alives and answers. */
  readonly ownOrders: OwnOrders;
}

export function createOrders(deps: OrdersDeps): OrdersService {
  const { clock, log } = deps;
  const strangersLog = new StrangersLog(deps);
  const ledger = new OrderLedger(deps);
  const holds = new FundsHolds((ticker) => {
    upkeep.balanceChanged(ticker);
    loop.serveSoon();
    loop.stir();
  });
  const announcer = new OrderAnnouncer(deps);
  const mailbox = new Mailbox(log, () => loop.stir());
  const orders = { clock, log, ledger, holds, announcer };
  const vain = new Set<string>();
  const makerSide = new MakerSide(deps, ledger, holds, announcer, vain);
  const takerSide = new TakerSide(deps, ledger, holds, mailbox);
  const upkeep = new OrderUpkeep(deps, orders, takerSide, vain);
  const loop = new OrderLoop({ clock, log, mailbox, upkeep, makerSide });
  const lookup = new OrderLookup(ledger, deps.store, log);
  const ownX = deps.ownKey.subarray(1);
  const kickStart = new Set<string>();
  const asked = new Set<Promise<unknown>>();

  /** The coins whose balances a maker order needs: what is received only where the account pays for the claim. */
  const payersOf = ({ base, rel }: { readonly base: string; readonly rel: string }): readonly string[] =>
    deps.coin(rel)?.spendsFrom === "account" ? [base, rel] : [base];

  /**
   * Does what the user asked once the coins that are away were looked at again: before the mailbox, which a look of seconds would hold up,
   * and before the checks, which hold only as long as nothing is waited for. `close` waits for it.
   */
  function afterLook<T>(tickers: readonly string[], task: () => Promise<T>): Promise<T> {
    const away = tickers.flatMap((ticker) => deps.coin(ticker) ?? []).filter((coin) => coin.outage() ?? coin.unclaimable?.());
    const done = away.length === 0 ? task() : Promise.all(away.map((coin) => coin.reach())).then(task);
    asked.add(done);
    const forget = (): void => void asked.delete(done);
    done.then(forget, forget);
    return done;
  }

  async function restore(): Promise<void> {
    await ledger.load();
    for (const order of [...ledger.makers.values()]) {
      kickStart.add(order.base).add(order.rel);
      const resumed = resumeMakerOrder(order, (uuid) => deps.swaps.has(uuid));
      ledger.setInMemory(resumed);
      makerSide.resume(resumed);
    }
    for (const order of [...ledger.takers.values()]) {
      kickStart.add(order.base).add(order.rel);
      if (!order.match) {
        takerSide.requests.resume(order);
        continue;
      }
      try {
        await takerSide.resumeMatched(order, order.match);
      } catch (error) {
        // A full disk keeps no node, and none of its swaps, from their start: the loop ends the order when there is room.
        log.warn("order_not_ended", { order: order.uuid, error });
      }
    }
  }

  function dispatch(sender: string, message: HandshakeMessage): Promise<void> {
    switch (message.type) {
      case "TakerRequest":
        return makerSide.onRequest(sender, message.body);
      case "MakerReserved":
        return takerSide.onReserved(sender, message.body);
      case "TakerConnect":
        return makerSide.onConnect(sender, message.body);
      case "MakerConnected":
        return takerSide.onConnected(sender, message.body);
    }
  }

  return {
    ownOrders: announcer,
    restore: () => mailbox.call(restore),
    start: () => loop.start(),
    async close(): Promise<void> {
      loop.stop();
      await Promise.allSettled(asked);
      takerSide.close();
      upkeep.close();
      await mailbox.close();
      await announcer.idle();
      holds.releaseAll();
      await ledger.close();
    },
    placeTakerOrder: (input) =>
      // Not in the mailbox: it decides at once and touches no other order, and so many at a time share one write.
      afterLook([input.base, input.rel], async () => {
        const placed = await placeTakerOrder(deps, orders, input);
        loop.stir();
        if (!placed.ok) return placed;
        // A coin that was disabled meanwhile took its orders with it, but could not know of this one.
        const pair = takerPair(deps, input);
        if (pair.ok) takerSide.requests.publish(placed.value);
        else await mailbox.call(() => cancelOrder(orders, takerSide, placed.value.uuid));
        return pair.ok ? placed : pair;
      }),
    placeMakerOrder: (input) => afterLook(payersOf(input), () => mailbox.call(() => placeMakerOrder(deps, orders, input))),
    updateMakerOrder(update) {
      const order = update.volumeDelta === undefined ? undefined : ledger.makers.get(update.uuid);
      return afterLook(order ? payersOf(order) : [], () => mailbox.call(() => updateMakerOrder(deps, orders, update)));
    },
    cancelOrder: (uuid) => mailbox.call(() => cancelOrder(orders, takerSide, uuid)),
    cancelAllOrders: (by) => mailbox.call(() => cancelAllOrders(orders, takerSide, by)),
    matchingWith: (ticker) => sortOrders(orders, { type: "Coin", ticker }).matching,
    usualTerms: (maker, taker) => usualTerms(deps.rules, maker, taker),
    myOrders: () => ({ makers: [...ledger.makers.values()], takers: [...ledger.takers.values()] }),
    orderStatus: (uuid) => lookup.status(uuid),
    history: (filter) => deps.store.history(filter, MAX_HISTORY_ROWS),
    historyDetails: (uuids) => lookup.details(uuids),
    coinsNeededForKickStart: () => [...kickStart],
    onUnpaidSwapEnded(swap): void {
      vain.add(swap);
      // Where that fails, or too much waits, the loop does it.
      if (!mailbox.post("unpaid_swap_ended", () => makerSide.giveBackVain())) loop.stir();
    },
    onMessage(sender, message): void {
      // own messages come back from relays; and two nodes with one key must not trade with each other (the x coordinate counts)
      if (equalBytes(sender.subarray(1), ownX)) return;
      const key = toHex(sender);
      if (deps.policy.isBanned(key)) return;
      if (!mailbox.post(message.type, () => dispatch(key, message))) strangersLog.warn("order_message_dropped", { type: message.type });
    },
  };
}
