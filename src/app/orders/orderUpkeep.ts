import { add, fromUnits, type Rational, sub, ZERO } from "../../core/money/rational.ts";
import { noFeeKeyText } from "../../core/network/dexFee.ts";
import { dropMatch, isHalfMatched, type MakerOrder, makerEndReason, shrinkToFunds, staleMatches } from "../../core/order/makerOrder.ts";
import { makerCoinOf, takerTimeout, takerToMaker } from "../../core/order/takerOrder.ts";
import { mapInTurns, steadyTime } from "../../ports/clock.ts";
import { claimFee, claimOutage, feesBeside } from "../fees/tradeFunds.ts";
import type { TradingCoin } from "../tradingCoin.ts";
import { missingFees, whyNoTrade, whyNotReceived } from "./fundsChecks.ts";
import { type EndedMaker, endMakers, type MakerEndingDeps } from "./makerEnding.ts";
import { TOLD_IN_TURN } from "./orderAnnouncer.ts";
import type { OrdersDeps } from "./ordersDeps.ts";
import type { TakerSide } from "./takerSide.ts";

/** Balances are compared at least this often (reference rpc.md 6.1). */
const BALANCE_LOOP_MS = 30_000;
/** An order taken back is announced again after this long: until then other nodes drop what they hear of it (reference p2p-wire.md section 9). */
const TAKEN_BACK_MS = 120_000;
/** Most orders announced in one turn: each is signed, and nothing else is done meanwhile. */
const MOST_ANNOUNCED = 100;

/** What time and balances do to open orders. Run in the mailbox every 0.777 s, unless there is nothing to do; each part picks up where a failed run stopped. */
export class OrderUpkeep {
  readonly #deps: OrdersDeps;
  readonly #orders: MakerEndingDeps;
  readonly #takerSide: TakerSide;
  readonly #vain: ReadonlySet<string>;
  /** Of pauses: a wall clock that is set back makes none longer. */
  readonly #steadyMs: () => number;
  readonly #watched = new Map<string, { readonly coin: TradingCoin; readonly stop: () => void }>();
  readonly #changed = new Set<string>();
  /** Orders kept back that were reported; as many as there are open orders at most. */
  readonly #told = new Set<string>();
  /** When, by the steady clock, an announced order was taken out of the books though it is still there; as many as there are open orders at most. */
  readonly #takenBackMs = new Map<string, number>();
  #lastBalanceLoopMs = Number.NEGATIVE_INFINITY;
  /** Whether the last turn left something for the next, and nothing was done to an order since. */
  #isSettled = false;

  /** @param vain swaps that came to nothing whose volume is still to be given back */
  constructor(deps: OrdersDeps, orders: MakerEndingDeps, takerSide: TakerSide, vain: ReadonlySet<string>) {
    this.#deps = deps;
    this.#orders = orders;
    this.#takerSide = takerSide;
    this.#vain = vain;
    this.#steadyMs = steadyTime(deps.clock);
  }

  /** Without orders, and with nothing left of earlier ones, a turn would do nothing. */
  get isIdle(): boolean {
    const { makers, takers } = this.#orders.ledger;
    return makers.size === 0 && takers.size === 0 && this.#watched.size === 0 && this.#changed.size === 0 && this.#takerSide.isQuiet;
  }

  /** Something was done to an order: the next turn looks at all of them. */
  stir(): void {
    this.#isSettled = false;
  }

  /** A turn would do nothing: orders stand as the last one left them, and no time has run out. */
  mayRest(): boolean {
    if (!this.#isSettled || this.#changed.size > 0 || this.#steadyMs() - this.#lastBalanceLoopMs >= BALANCE_LOOP_MS) return false;
    if (this.#deps.keyElsewhere() || !this.#takerSide.isQuiet) return false;
    for (const [ticker, { coin }] of this.#watched) if (this.#deps.coin(ticker) !== coin) return false;
    return true;
  }

  /** Every order is announced, and none of them waits for time, for its taker or for somebody's payment. */
  #isAllDone(): boolean {
    const { ledger, announcer } = this.#orders;
    if (ledger.takers.size > 0) return false;
    for (const order of ledger.makers.values())
      if (order.timeoutMinutes !== null || !announcer.has(order.uuid) || isHalfMatched(order) || makerEndReason(order, 0) !== null)
        return false;
    return true;
  }

  async tick(): Promise<void> {
    // What is done to an order while this turn waits is for the next one.
    this.#isSettled = true;
    // What needs no disk comes about also where one that is full ends the rest of the turn.
    this.#dropStaleMatches();
    try {
      await this.#storeChanges();
    } finally {
      this.#takerSide.repeatConnects();
      this.#takerSide.requests.repeat();
    }
    if (!this.#isAllDone()) this.#isSettled = false;
  }

  async #storeChanges(): Promise<void> {
    await this.#takerTimeouts();
    await this.#endMakers();
    const nowMs = this.#steadyMs();
    const all = nowMs - this.#lastBalanceLoopMs >= BALANCE_LOOP_MS;
    if (all) this.#lastBalanceLoopMs = nowMs;
    await this.#followBalances(all);
    if (!this.#deps.keyElsewhere()) await this.#takeBackInactive();
    // Two nodes that announce orders under one key contradict each other; orders stay as they are until one is left.
    if (this.#deps.keyElsewhere()) this.#orders.announcer.fallSilent();
    else await this.#announceWaiting();
  }

  async #takerTimeouts(): Promise<void> {
    const { ledger } = this.#orders;
    const nowMs = this.#deps.clock.nowMs();
    for (const order of [...ledger.takers.values()]) {
      const due = takerTimeout(order, nowMs);
      if (due === "none") continue;
      if (order.match && this.#deps.swaps.has(order.uuid)) await this.#takerSide.fulfil(order, order.match);
      else if (due === "TimedOut" || this.#deps.rules.noFeeKey(makerCoinOf(order))) await this.#takerSide.giveUp(order);
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
      // Sold out to somebody who has paid nothing: the volume may come back. Until then there is nothing for others to take.
      if (reason === "Fulfilled" && [...order.matches.keys()].some((uuid) => this.#deps.policy.isUnpaid(uuid) || this.#vain.has(uuid))) {
        if (this.#orders.announcer.has(order.uuid)) {
          this.#withdraw(order);
          this.#deps.log.info("maker_order_sold_out", { order: order.uuid });
        }
      } else if (reason) ended.push({ order, reason });
    }
    await endMakers(this.#orders, ended);
  }

  /**
   * Listens to the base coins of open orders, and to the rel coins whose claims the account pays for, and refits the orders of
   * those that changed (`all`: of every one).
   */
  async #followBalances(all: boolean): Promise<void> {
    const [coins, rels] = [new Set<string>(), new Set<string>()];
    for (const { base, rel } of this.#orders.ledger.makers.values()) {
      coins.add(base);
      rels.add(rel);
    }
    for (const rel of rels) if (this.#deps.coin(rel)?.spendsFrom === "account") coins.add(rel);
    for (const ticker of coins) {
      this.#watch(ticker);
      if (all) this.#changed.add(ticker);
    }
    for (const [ticker, { stop }] of [...this.#watched]) {
      if (coins.has(ticker)) continue;
      stop();
      this.#watched.delete(ticker);
    }
    for (const ticker of [...this.#changed]) {
      if (!coins.has(ticker)) {
        this.#changed.delete(ticker);
        continue;
      }
      const funds = this.#fundsOf(ticker);
      if (!funds) continue;
      this.#changed.delete(ticker);
      await this.#fitAll(ticker, funds);
    }
  }

  /** Cuts or ends the orders of a coin to fit these funds, and takes back those whose fees cannot be paid: some in a turn, for each is told to the network. */
  async #fitAll(ticker: string, funds: Rational): Promise<void> {
    const { ledger, announcer } = this.#orders;
    const ended: EndedMaker[] = [];
    const concerned = [...ledger.makers.values()].filter((o) => (o.base === ticker || o.rel === ticker) && announcer.has(o.uuid));
    await mapInTurns(this.#deps.clock, concerned, TOLD_IN_TURN, ({ uuid }) => {
      // As it is by now.
      const order = ledger.makers.get(uuid);
      const left = order?.base === ticker ? this.#refit(order, funds, ended) : order;
      if (left && this.#lacksFees(left)) this.#takeBack(left, "its fees cannot be paid now");
    });
    await endMakers(this.#orders, ended);
  }

  /**
   * Whether another coin than the one given cannot pay this order's fees now. What open handshakes hold may come back at any
   * moment, and prices may fall: the order stays as it is, it is only not offered.
   */
  #lacksFees(order: MakerOrder): boolean {
    const [base, rel] = [this.#deps.coin(order.base), this.#deps.coin(order.rel)];
    if (!base || !rel || claimOutage(rel)) return false;
    const missing = missingFees({ coin: base, other: rel }, order.minBaseVol);
    return missing !== null && !this.#orders.holds.holdsFeesIn(missing.coin);
  }

  #takeBack(order: MakerOrder, reason: string): void {
    this.#withdraw(order);
    this.#deps.log.warn("maker_order_taken_back", { order: order.uuid, reason });
  }

  /** Out of the books, for a while: the order stays. */
  #withdraw(order: MakerOrder): void {
    const { makers } = this.#orders.ledger;
    // Not for each of thousands that are taken back: to look at all of these each time would take a second.
    if (this.#takenBackMs.size >= makers.size)
      for (const uuid of this.#takenBackMs.keys()) if (!makers.has(uuid)) this.#takenBackMs.delete(uuid);
    this.#takenBackMs.set(order.uuid, this.#steadyMs());
    this.#orders.announcer.withdraw(order);
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
   * Greatest payment the coin allows. What open handshakes and swaps hold whose taker has paid nothing, fees included, counts as available:
   * it is likely to come back, and a taker who never pays must not leave our orders cut for good, since they never grow back. A request
   * that finds the funds held is simply not answered. So does change that comes back with the next block, however many takers came before that. Null: unknown now, asked again at the next turn; a first scan counts from nothing, and
   * what it has not found yet must end no order.
   */
  #fundsOf(ticker: string): Rational | null {
    const coin = this.#deps.coin(ticker);
    if (!coin || whyNoTrade(coin)) return null;
    const { policy } = this.#deps;
    const open = this.#orders.holds.openOf(coin, (uuid) => policy.isUnpaid(uuid));
    const most = coin.maxPayment("order", open.reservations);
    const volume = most.ok ? sub(most.value.volume, feesBeside(coin, null, "order")) : ZERO;
    // Of swaps of a former run the amounts alone are known.
    const former = fromUnits(policy.unpaidUnits(ticker) - open.units, coin.decimals);
    return [former, coin.waitingChange?.() ?? ZERO].reduce(add, volume);
  }

  /** The order as it stands, cut to fit the funds. Null: it is to be `ended`. */
  #refit(order: MakerOrder, funds: Rational, ended: EndedMaker[]): MakerOrder | null {
    const rel = this.#deps.coin(order.rel);
    const claim = rel?.feeTicker === order.base ? claimFee(rel) : ZERO;
    const fitted = shrinkToFunds(order, sub(funds, claim));
    if (fitted === order) return order;
    if (!fitted) {
      ended.push({ order, reason: "InsufficientBalance" });
      return null;
    }
    this.#orders.ledger.setInMemory(fitted);
    this.#orders.announcer.updateVolume(fitted);
    this.#deps.log.info("maker_order_shrunk", { order: order.uuid });
    return fitted;
  }

  #isActive(order: MakerOrder): boolean {
    return this.#deps.coin(order.base) !== undefined && this.#deps.coin(order.rel) !== undefined;
  }

  /**
   * An order whose coin was disabled beside it, as a platform coin beside its tokens, would stand in the book without anybody to serve it. There may
   * be thousands: some in a turn, and not those whose coin is back by then.
   */
  async #takeBackInactive(): Promise<void> {
    const { ledger, announcer } = this.#orders;
    const found = [...ledger.makers.values()].filter((order) => announcer.has(order.uuid) && !this.#isActive(order));
    await mapInTurns(this.#deps.clock, found, TOLD_IN_TURN, (order) => {
      if (!this.#isActive(order)) this.#takeBack(order, "a coin of it is disabled");
    });
  }

  /**
   * Orders placed, converted or loaded while a coin was not active, or could not be traded yet: announced once both can, and the balance is known. So many in a turn; and what a coin can pay
   * is reckoned once for these, as are the fees of a pair, the same whatever is offered: of a wallet of thousands of outputs that takes milliseconds, and
   * there may be thousands of orders. A balance that changes meanwhile has them refitted at the next turn.
   */
  async #announceWaiting(): Promise<void> {
    const { ledger, announcer } = this.#orders;
    const reckoned = new Map<string, Rational | null>();
    const lacking = new Map<string, boolean>();
    const ended: EndedMaker[] = [];
    let left = MOST_ANNOUNCED;
    for (const order of [...ledger.makers.values()]) {
      const rel = this.#deps.coin(order.rel);
      if (left === 0) break;
      if (announcer.has(order.uuid) || !rel || !this.#isActive(order) || makerEndReason(order, 0) !== null) continue;
      if (whyNotReceived(rel) || this.#keptBack(order) || this.#isTakenBack(order)) continue;
      const known = reckoned.get(order.base);
      const funds = known === undefined ? this.#fundsOf(order.base) : known;
      reckoned.set(order.base, funds);
      const fitted = funds ? this.#refit(order, funds, ended) : null;
      if (!fitted) continue;
      const pair = `${order.base} ${order.rel}`;
      const lacksFees = lacking.get(pair) ?? this.#lacksFees(fitted);
      lacking.set(pair, lacksFees);
      if (!lacksFees && announcer.announce(fitted)) left--;
    }
    await endMakers(this.#orders, ended);
  }

  #isTakenBack({ uuid }: MakerOrder): boolean {
    const sinceMs = this.#takenBackMs.get(uuid);
    if (sinceMs === undefined) return false;
    if (this.#steadyMs() - sinceMs < TAKEN_BACK_MS) return true;
    this.#takenBackMs.delete(uuid);
    return false;
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
