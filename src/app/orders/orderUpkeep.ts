import { add, fromUnits, type Rational, ZERO } from "../../core/money/rational.ts";
import { noFeeKeyText } from "../../core/network/dexFee.ts";
import { dropMatch, isHalfMatched, type MakerOrder, makerEndReason, shrinkToFunds, staleMatches } from "../../core/order/makerOrder.ts";
import { makerCoinOf, takerTimeout, takerToMaker } from "../../core/order/takerOrder.ts";
import type { TradingCoin } from "../tradingCoin.ts";
import { type EndedMaker, endMakers, type MakerEndingDeps } from "./makerEnding.ts";
import type { OrdersDeps } from "./ordersDeps.ts";
import type { TakerSide } from "./takerSide.ts";

/** Balances are compared at least this often (reference rpc.md 6.1). */
const BALANCE_LOOP_MS = 30_000;

/** What time and balances do to open orders. Run in the mailbox every 0.777 s; each part picks up where a failed run stopped. */
export class OrderUpkeep {
  readonly #deps: OrdersDeps;
  readonly #orders: MakerEndingDeps;
  readonly #takerSide: TakerSide;
  readonly #watched = new Map<string, { readonly coin: TradingCoin; readonly stop: () => void }>();
  readonly #changed = new Set<string>();
  /** Orders kept back that were reported; as many as there are open orders at most. */
  readonly #told = new Set<string>();
  #lastBalanceLoopMs = 0;

  constructor(deps: OrdersDeps, orders: MakerEndingDeps, takerSide: TakerSide) {
    this.#deps = deps;
    this.#orders = orders;
    this.#takerSide = takerSide;
  }

  async tick(): Promise<void> {
    await this.#takerTimeouts();
    this.#dropStaleMatches();
    await this.#endMakers();
    const nowMs = this.#deps.clock.nowMs();
    const all = nowMs - this.#lastBalanceLoopMs >= BALANCE_LOOP_MS;
    if (all) this.#lastBalanceLoopMs = nowMs;
    await this.#followBalances(all);
    // Two nodes that announce orders under one key contradict each other; orders stay as they are until one is left.
    if (this.#deps.keyElsewhere()) this.#orders.announcer.fallSilent();
    else await this.#announceWaiting();
    this.#takerSide.repeatConnects();
    this.#takerSide.repeatRequests();
  }

  async #takerTimeouts(): Promise<void> {
    const { ledger } = this.#orders;
    const nowMs = this.#deps.clock.nowMs();
    for (const order of [...ledger.takers.values()]) {
      const due = takerTimeout(order, nowMs);
      if (due === "none") continue;
      if (order.match && this.#deps.swaps.has(order.uuid)) await this.#takerSide.fulfil(order, order.match);
      else if (due === "TimedOut" || this.#deps.rules.noFeeKey(makerCoinOf(order))) await this.#takerSide.end(order, "TimedOut");
      else {
        await ledger.commit([{ step: "convert", order: takerToMaker(order, nowMs) }]);
        this.#takerSide.forget(order.uuid);
        this.#deps.log.info("taker_order_converted", { order: order.uuid });
      }
    }
  }

  #dropStaleMatches(): void {
    const { ledger, holds } = this.#orders;
    const nowMs = this.#deps.clock.nowMs();
    for (const order of [...ledger.makers.values()]) {
      if (!isHalfMatched(order)) continue;
      const late = new Set(staleMatches(order, nowMs));
      for (const [uuid, match] of order.matches) {
        if (match.connectedAtMs === null && nowMs > (holds.shareOf(uuid)?.connectByMs ?? nowMs)) late.add(uuid);
      }
      if (late.size === 0) continue;
      const stale = [...late];
      for (const uuid of stale) {
        const isBlamed = holds.shareOf(uuid)?.isLate !== true;
        holds.release(uuid);
        if (isBlamed) this.#deps.policy.onNeverConnected(uuid, order.matches.get(uuid)?.taker ?? "");
      }
      ledger.setInMemory(stale.reduce(dropMatch, order));
      this.#deps.log.info("match_expired", { order: order.uuid, requests: stale });
    }
  }

  async #endMakers(): Promise<void> {
    const nowMs = this.#deps.clock.nowMs();
    const ended: EndedMaker[] = [];
    for (const order of this.#orders.ledger.makers.values()) {
      const reason = makerEndReason(order, nowMs);
      // Sold out to somebody who has paid nothing yet: the volume may come back.
      if (reason === "Fulfilled" && [...order.matches.keys()].some((uuid) => this.#deps.policy.isUnpaid(uuid))) continue;
      if (reason) ended.push({ order, reason });
    }
    await endMakers(this.#orders, ended);
  }

  /** Listens to the base coins of open orders, and refits the orders of those that changed (`all`: of every one). */
  async #followBalances(all: boolean): Promise<void> {
    const bases = new Set<string>();
    for (const order of this.#orders.ledger.makers.values()) bases.add(order.base);
    for (const ticker of bases) {
      this.#watch(ticker);
      if (all) this.#changed.add(ticker);
    }
    for (const [ticker, { stop }] of [...this.#watched]) {
      if (bases.has(ticker)) continue;
      stop();
      this.#watched.delete(ticker);
    }
    for (const ticker of [...this.#changed]) {
      if (!bases.has(ticker)) {
        this.#changed.delete(ticker);
        continue;
      }
      const funds = this.#fundsOf(ticker);
      if (!funds) continue;
      this.#changed.delete(ticker);
      const orders = [...this.#orders.ledger.makers.values()].filter((o) => o.base === ticker && this.#orders.announcer.has(o.uuid));
      for (const order of orders) await this.#refit(order, funds);
    }
  }

  #watch(ticker: string): void {
    const coin = this.#deps.coin(ticker);
    const watched = this.#watched.get(ticker);
    if (watched?.coin === coin) return;
    watched?.stop();
    this.#watched.delete(ticker);
    if (!coin) return;
    this.#watched.set(ticker, { coin, stop: coin.onBalanceChange(() => this.balanceChanged(ticker)) });
    this.balanceChanged(ticker); // what happened before we listened
  }

  /** The coin's free funds may be others: its orders are refitted at the next turn. */
  balanceChanged(ticker: string): void {
    this.#changed.add(ticker);
  }

  /**
   * Greatest payment the coin allows. What open handshakes and swaps hold whose taker has paid nothing counts as available:
   * it is likely to come back, and a taker who never pays must not leave our orders cut for good, since they never grow back. A request
   * that finds the funds held is simply not answered. Null: unknown now, asked again at the next turn.
   */
  #fundsOf(ticker: string): Rational | null {
    const coin = this.#deps.coin(ticker);
    if (!coin || coin.outage()) return null;
    const most = coin.maxPayment("order");
    const held = add(this.#orders.holds.heldOf(ticker), fromUnits(this.#deps.policy.unpaidUnits(ticker), coin.decimals));
    return add(most.ok ? most.value.volume : ZERO, held);
  }

  /** The order as it stands, cut or ended to fit the funds. Null: ended. */
  async #refit(order: MakerOrder, funds: Rational): Promise<MakerOrder | null> {
    const fitted = shrinkToFunds(order, funds);
    if (fitted === order) return order;
    if (!fitted) {
      await endMakers(this.#orders, [{ order, reason: "InsufficientBalance" }]);
      return null;
    }
    this.#orders.ledger.setInMemory(fitted);
    this.#orders.announcer.updateVolume(fitted);
    this.#deps.log.info("maker_order_shrunk", { order: order.uuid });
    return fitted;
  }

  /** Orders converted or loaded while a coin was not active: announced once both are and the balance is known. */
  async #announceWaiting(): Promise<void> {
    const { ledger, announcer } = this.#orders;
    for (const order of [...ledger.makers.values()]) {
      if (announcer.has(order.uuid) || !this.#deps.coin(order.base) || !this.#deps.coin(order.rel)) continue;
      if (this.#keptBack(order)) continue;
      const funds = this.#fundsOf(order.base);
      const fitted = funds ? await this.#refit(order, funds) : null;
      if (fitted) announcer.announce(fitted);
    }
  }

  /** Placed under another network profile: nobody could pay the dex fee of a swap with it. Told once. */
  #keptBack(order: MakerOrder): boolean {
    const noKey = this.#deps.rules.noFeeKey(order.rel);
    if (noKey && !this.#told.has(order.uuid)) {
      this.#told.add(order.uuid);
      this.#deps.log.warn("maker_order_not_announced", { order: order.uuid, reason: noFeeKeyText(noKey) });
    }
    return noKey !== null;
  }

  close(): void {
    for (const { stop } of this.#watched.values()) stop();
    this.#watched.clear();
  }
}
