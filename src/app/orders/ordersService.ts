import { type MakerOrder, resumeMakerOrder } from "../../core/order/makerOrder.ts";
import type { TakerOrder } from "../../core/order/takerOrder.ts";
import { equalBytes, toHex } from "../../core/util/bytes.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
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
import { type OwnOrder, parseOrderRecord } from "./orderRecord.ts";
import type { OrdersDeps } from "./ordersDeps.ts";
import { OrderUpkeep } from "./orderUpkeep.ts";
import type { OwnOrders } from "./ownOrders.ts";
import { type PlaceOrderError, placeMakerOrder, placeTakerOrder, takerPair } from "./placeOrders.ts";
import { StrangersLog } from "./strangersLog.ts";
import { type UsualTerms, usualTerms } from "./swapTerms.ts";
import { TakerSide } from "./takerSide.ts";
import { type UpdateOrderError, updateMakerOrder } from "./updateMaker.ts";

/** Period of the main loop (reference rpc.md 6.1). */
const LOOP_MS = 777;
/** A failure of the loop that stays the same is logged this often. */
const FAULT_REPEAT_MS = 60_000;

/** Rows of the history one answer holds at most, the newest: some 25 MB of JSON. */
const MAX_HISTORY_ROWS = 20_000;
/** Stored orders read at a time: reading one takes a tenth of a millisecond, and others wait for the thread. */
const DETAILS_AT_ONCE = 100;

/** An order of the history, as it is now or was at its end. */
export type HistoryOrder = { readonly own: OwnOrder; readonly isLive: boolean };

export type OrderStatus = {
  readonly own: OwnOrder;
  /** Null while the order is live, else `status` of its history row. */
  readonly cancellationReason: string | null;
};

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
  orderStatus(uuid: string): Promise<Result<OrderStatus, { readonly kind: "OrderNotFound"; readonly uuid: string }>>;
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
    serveSoon();
    stir();
  });
  const announcer = new OrderAnnouncer(deps);
  const mailbox = new Mailbox(log, () => stir());
  const orders = { log, ledger, holds, announcer };
  const vain = new Set<string>();
  const makerSide = new MakerSide(deps, ledger, holds, announcer, vain);
  const takerSide = new TakerSide(deps, ledger, holds, mailbox);
  const upkeep = new OrderUpkeep(deps, orders, takerSide, vain);
  const ownX = deps.ownKey.subarray(1);
  const kickStart = new Set<string>();
  let stopLoop: () => void = () => undefined;
  let running = false;
  /** The loop waits for something to do. */
  let isAsleep = false;
  /** The task that ends now is a turn of the loop. */
  let isTurn = false;
  let isServing = false;
  const asked = new Set<Promise<unknown>>();
  let loopFault: { readonly text: string; readonly toldMs: number } | null = null;

  function loop(): void {
    if (!running) return;
    const isQuiet = !makerSide.hasWaiting && vain.size === 0;
    if (upkeep.isIdle && isQuiet) {
      isAsleep = true;
      return;
    }
    if (upkeep.mayRest() && isQuiet) {
      schedule();
      return;
    }
    // the next turn is set when this one is done, so that turns never pile up
    mailbox
      .call(async () => {
        await upkeep.tick();
        await makerSide.serveWaiting();
        await makerSide.giveBackVain();
        isTurn = true;
      })
      .then(
        () => {
          if (loopFault) log.info("order_loop_works_again");
          loopFault = null;
          schedule();
        },
        (error: unknown) => {
          loopFailed(error);
          schedule();
        },
      );
  }
  /** A handshake has ended: who waits for its place is served at once, not at the next turn of the loop. */
  function serveSoon(): void {
    if (isServing || !makerSide.hasWaiting) return;
    isServing = mailbox.post("serve_waiting", () => {
      isServing = false;
      return makerSide.serveWaiting();
    });
  }
  /** A disk that stays full would fill the log: the same failure is told once a minute. */
  function loopFailed(error: unknown): void {
    const text = String(error);
    const nowMs = clock.nowMs();
    if (loopFault?.text === text && nowMs - loopFault.toldMs < FAULT_REPEAT_MS) return;
    loopFault = { text, toldMs: nowMs };
    log.error("order_loop_failed", { error });
  }
  /** Something was done to an order, or to the funds for one. */
  function stir(): void {
    if (isTurn) isTurn = false;
    else upkeep.stir();
    if (!running || !isAsleep) return;
    isAsleep = false;
    schedule();
  }
  function schedule(): void {
    if (running) stopLoop = clock.after(LOOP_MS, loop);
  }

  /** The coins whose balances a maker order needs: what is received only where the account pays for the claim. */
  const payersOf = ({ base, rel }: { readonly base: string; readonly rel: string }): readonly string[] =>
    deps.coin(rel)?.spendsFrom === "account" ? [base, rel] : [base];

  /**
   * Does what the user asked once the coins that are away were looked at again: before the mailbox, which a look of seconds would hold up,
   * and before the checks, which hold only as long as nothing is waited for. `close` waits for it.
   */
  function afterLook<T>(tickers: readonly string[], task: () => Promise<T>): Promise<T> {
    const away = tickers.flatMap((ticker) => deps.coin(ticker) ?? []).filter((coin) => coin.outage() !== null);
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
      const resumed = resumeMakerOrder(order, clock.nowMs(), (uuid) => deps.swaps.has(uuid));
      ledger.setInMemory(resumed);
      makerSide.resume(resumed);
    }
    for (const order of [...ledger.takers.values()]) {
      kickStart.add(order.base).add(order.rel);
      if (!order.match) {
        takerSide.resume(order);
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
    start(): void {
      if (running) return;
      running = true;
      isAsleep = false;
      loop();
    },
    async close(): Promise<void> {
      running = false;
      stopLoop();
      await Promise.allSettled(asked);
      takerSide.close();
      upkeep.close();
      await mailbox.close();
      holds.releaseAll();
      await ledger.close();
    },
    placeTakerOrder: (input) =>
      // Not in the mailbox: it decides at once and touches no other order, and so many at a time share one write.
      afterLook([input.base, input.rel], async () => {
        const placed = await placeTakerOrder(deps, orders, input);
        stir();
        if (!placed.ok) return placed;
        // A coin that was disabled meanwhile took its orders with it, but could not know of this one.
        const pair = takerPair(deps, input);
        if (pair.ok) takerSide.publishRequest(placed.value);
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
    async orderStatus(uuid) {
      const maker = ledger.makers.get(uuid);
      if (maker) return ok({ own: { kind: "Maker", order: maker }, cancellationReason: null });
      const taker = ledger.takers.get(uuid);
      if (taker) return ok({ own: { kind: "Taker", order: taker }, cancellationReason: null });
      const ended = await deps.store.ended(uuid);
      return ended ? ok({ own: parseOrderRecord(ended.order), cancellationReason: ended.status }) : err({ kind: "OrderNotFound", uuid });
    },
    history: (filter) => deps.store.history(filter, MAX_HISTORY_ROWS),
    async historyDetails(uuids) {
      const found = new Map<string, HistoryOrder>();
      const ended: string[] = [];
      for (const uuid of uuids) {
        const [maker, taker] = [ledger.makers.get(uuid), ledger.takers.get(uuid)];
        if (maker) found.set(uuid, { own: { kind: "Maker", order: maker }, isLive: true });
        else if (taker) found.set(uuid, { own: { kind: "Taker", order: taker }, isLive: true });
        else ended.push(uuid);
      }
      for (let from = 0; from < ended.length; from += DETAILS_AT_ONCE) {
        for (const stored of await deps.store.endedOrders(ended.slice(from, from + DETAILS_AT_ONCE))) {
          try {
            found.set(stored.uuid, { own: parseOrderRecord(stored), isLive: false });
          } catch (error) {
            log.error("order_unreadable", { order: stored.uuid, error });
          }
        }
      }
      return found;
    },
    coinsNeededForKickStart: () => [...kickStart],
    onUnpaidSwapEnded(swap): void {
      vain.add(swap);
      // Where that fails, or too much waits, the loop does it.
      if (!mailbox.post("unpaid_swap_ended", () => makerSide.giveBackVain())) stir();
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
