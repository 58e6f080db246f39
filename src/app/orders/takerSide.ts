import type { MakerReserved, OrderPair } from "../../core/message/types.ts";
import { isPositive, toUnits } from "../../core/money/rational.ts";
import { compareOffers, type Offer, takerAcceptsReserved } from "../../core/order/matching.ts";
import {
  connectTaker,
  makerCoinOf,
  type TakerMatch,
  type TakerOrder,
  takerBaseTicker,
  takerCoinOf,
  takerDeadlineMs,
  takerRelTicker,
} from "../../core/order/takerOrder.ts";
import type { FundsError } from "../tradingCoin.ts";
import { coverSpends, isCutShort, swapObstacle, whyNoTrade, whyNotReceived } from "./fundsChecks.ts";
import type { FundsHolds } from "./fundsHolds.ts";
import type { Mailbox } from "./mailbox.ts";
import type { OrderLedger } from "./orderLedger.ts";
import type { OrdersDeps } from "./ordersDeps.ts";
import { StrangersLog } from "./strangersLog.ts";
import { type SwapCoins, swapMatch, termsOfMatch } from "./swapTerms.ts";
import { TakerRequests } from "./takerRequests.ts";

/** How long offers are collected after the first good one (reference p2p-wire.md section 9). */
const COLLECT_MS = 3_000;
/** Pause before offers are looked at again that came while a backend was away. */
const OUTAGE_LOOK_MS = 1_000;
/** How long offers are kept then: a maker's stands for 30 s (reference p2p-wire.md section 9). */
const OUTAGE_KEEP_MS = 20_000;
/** Kept free at the end of an order's life for `connect` and `connected` to travel. */
const CONNECT_MARGIN_MS = 1_000;
/** Base units with more digits than a swap's record has room for (`storedEvent`); no contract holds as many, and no chain has them. */
const TOO_MANY_UNITS = 10n ** 40n;
/** Offers kept for one order; past it only better ones get in. */
const MAX_OFFERS = 100;
/** `connect` is repeated this often while `connected` is missing. Makers take a repeat for the same message: harmless, and it may be the one that arrives. */
const CONNECT_REPEAT_MS = 5_000;
/** Orders that makers let wait in vain, in so long, after which keys without history are chosen behind those with. */
const MANY_IN_VAIN = 2;
const IN_VAIN_MS = 600_000;

type Window = { readonly offers: Offer[]; readonly openedAtMs: number; cancel: () => void };

const swapCoins = (order: TakerOrder): SwapCoins => {
  const buy = order.action === "Buy";
  const [base, rel] = [takerBaseTicker(order), takerRelTicker(order)];
  return {
    maker: makerCoinOf(order),
    taker: takerCoinOf(order),
    makerOrderbook: buy ? base : rel,
    takerOrderbook: buy ? rel : base,
  };
};

/** The taker's half of the matching handshake (reference p2p-wire.md section 9). */
export class TakerSide {
  readonly #deps: OrdersDeps;
  readonly #ledger: OrderLedger;
  readonly #holds: FundsHolds;
  readonly #mailbox: Mailbox;
  readonly requests: TakerRequests;
  readonly #strangersLog: StrangersLog;
  readonly #windows = new Map<string, Window>();
  readonly #connectSentMs = new Map<string, number>();
  /** Orders that end without their makers' fault: a swap for them could not be stored, or is begun no more since a start. */
  readonly #unstored = new Set<string>();
  /** When the last orders ended whose maker never connected, unix ms. */
  #inVainMs: readonly number[] = [];

  constructor(deps: OrdersDeps, ledger: OrderLedger, holds: FundsHolds, mailbox: Mailbox) {
    this.#deps = deps;
    this.#ledger = ledger;
    this.#holds = holds;
    this.#mailbox = mailbox;
    this.#strangersLog = new StrangersLog(deps);
    this.requests = new TakerRequests(deps, ledger, mailbox, (uuid) => this.#windows.has(uuid));
  }

  /** One with a match: its maker may have begun. If our swap was stored it runs on its own, else it is never started any more, which is no maker's fault. */
  async resumeMatched(order: TakerOrder, match: TakerMatch): Promise<void> {
    if (this.#deps.swaps.has(order.uuid)) return this.fulfil(order, match);
    this.#unstored.add(order.uuid);
    return this.end(order, "TimedOut");
  }

  /** A maker offers. The first good offer opens the window; it closes early when nobody better is known to be missing. */
  async onReserved(sender: string, reserved: MakerReserved): Promise<void> {
    const order = this.#ledger.takers.get(reserved.takerOrderUuid);
    if (!order) return;
    const accepted = takerAcceptsReserved(order, reserved, sender.slice(2));
    if (!accepted.ok) {
      this.#strangersLog.info("offer_refused", { order: order.uuid, maker: sender, reason: accepted.error });
      return;
    }
    if (!this.#infosFit(order, reserved)) {
      this.#strangersLog.info("offer_refused", { order: order.uuid, maker: sender, reason: "protocol_info" });
      return;
    }
    if (this.#isBeyondChains(order, reserved)) {
      this.#strangersLog.info("offer_refused", { order: order.uuid, maker: sender, reason: "too_large" });
      return;
    }
    const window = this.#windows.get(order.uuid) ?? this.#openWindow(order);
    collect(window.offers, { reserved, maker: sender });
    if (this.#isComplete(order, window.offers)) await this.#choose(order.uuid);
  }

  #infosFit(order: TakerOrder, reserved: MakerReserved): boolean {
    const makerCoin = this.#deps.coin(makerCoinOf(order));
    const takerCoin = this.#deps.coin(takerCoinOf(order));
    return (
      makerCoin?.acceptsProtocolInfo(reserved.baseProtocolInfo) === true &&
      takerCoin?.acceptsProtocolInfo(reserved.relProtocolInfo) === true
    );
  }

  /** Whoever sells is offered as much as a maker likes, and the most is the best: a swap for it could be neither written down nor paid. */
  #isBeyondChains(order: TakerOrder, { baseAmount }: MakerReserved): boolean {
    return toUnits(baseAmount, this.#deps.coin(makerCoinOf(order))?.decimals ?? 0) >= TOO_MANY_UNITS;
  }

  #openWindow(order: TakerOrder): Window {
    const window: Window = { offers: [], openedAtMs: this.#deps.clock.nowMs(), cancel: this.#chooseAfter(COLLECT_MS, order) };
    this.#windows.set(order.uuid, window);
    return window;
  }

  /** @returns cancels it */
  #chooseAfter(ms: number, order: TakerOrder): () => void {
    return this.#deps.clock.after(Math.max(0, Math.min(ms, this.#leftMs(order))), () => {
      this.#mailbox.post("choose_offer", () => this.#choose(order.uuid));
    });
  }

  /** Until when an offer may be taken. */
  #leftMs(order: TakerOrder): number {
    return takerDeadlineMs(order) - this.#deps.clock.nowMs() - CONNECT_MARGIN_MS;
  }

  /** Swaps that cannot be stored; a backend that cannot be reached: what it last told of our money may be old; or that still reads its chain. */
  #outage(order: TakerOrder): FundsError | null {
    const obstacle = swapObstacle(this.#deps.swaps, takerCoinOf(order));
    if (obstacle) return obstacle;
    const [own, other] = [this.#deps.coin(takerCoinOf(order)), this.#deps.coin(makerCoinOf(order))];
    return (own && whyNoTrade(own)) ?? (other && whyNotReceived(other)) ?? null;
  }

  /** True when waiting cannot bring a better offer as far as we know: every order named, or every maker in the book, has answered. */
  #isComplete(order: TakerOrder, offers: readonly Offer[]): boolean {
    if (order.matchBy.type === "Orders") {
      return order.matchBy.data.every((uuid) => offers.some((o) => o.reserved.makerOrderUuid === uuid));
    }
    const request = this.requests.of(order);
    const makers = request && this.#deps.book ? this.#deps.book.fittingMakers(request) : [];
    return makers.length > 0 && makers.every((maker) => offers.some((o) => o.maker === maker));
  }

  /** Closes the window: the best offer whose terms we can keep is connected to; if there is none, the next offer opens a new window. */
  async #choose(uuid: string): Promise<void> {
    const window = this.#windows.get(uuid);
    const order = this.#ledger.takers.get(uuid);
    const outage = order && this.#outage(order);
    // Some makers offer once: their offers are kept for as long as one can still be taken.
    const ageMs = this.#deps.clock.nowMs() - (window?.openedAtMs ?? 0);
    if (window && order && outage && this.#leftMs(order) > 0 && ageMs < OUTAGE_KEEP_MS) {
      window.cancel();
      window.cancel = this.#chooseAfter(OUTAGE_LOOK_MS, order);
      return;
    }
    this.#closeWindow(uuid);
    if (!window || !order || order.match || outage || this.#deps.keyElsewhere()) return;
    for (const { reserved, maker } of this.#inOrder(order, window.offers)) {
      if (this.#deps.policy.isBanned(maker)) continue;
      const settings = { maker: reserved.conf, taker: order.conf, action: order.action };
      const terms = termsOfMatch(this.#deps.rules, swapCoins(order), "taker", settings, reserved);
      if (!terms.ok) {
        this.#strangersLog.info("offer_refused", { order: uuid, maker, reason: "confirmations", ...terms.error });
        continue;
      }
      if (!this.#holdFunds(order, reserved, maker)) continue;
      const connected = connectTaker(order, reserved, maker, this.#deps.clock.nowMs());
      try {
        await this.#ledger.commit([{ step: "taker", order: connected }]);
      } catch (error) {
        this.#holds.release(uuid);
        throw error;
      }
      this.#deps.swaps.expect(uuid);
      this.#sendConnect(connected);
      this.#deps.log.info("offer_taken", { order: uuid, maker, makerOrder: reserved.makerOrderUuid });
      return;
    }
  }

  /**
   * Best first, those of makers that something is remembered against last: one that offers the most and never connects would take every
   * order. Nor does it with a fresh key for each: where that has happened, makers this node has traded with come first for a while.
   */
  #inOrder(order: TakerOrder, offers: readonly Offer[]): readonly Offer[] {
    const { policy, clock } = this.#deps;
    const nowMs = clock.nowMs();
    const isWary = this.#inVainMs.filter((ms) => Math.abs(nowMs - ms) < IN_VAIN_MS).length >= MANY_IN_VAIN;
    const isKnown = (maker: string): boolean => policy.isKnown(maker, takerCoinOf(order)) || policy.isKnown(maker, makerCoinOf(order));
    const rankOf = ({ maker }: Offer): number => (policy.isSuspect(maker) ? 2 : Number(isWary && !isKnown(maker)));
    const ranks = new Map(offers.map((offer) => [offer, rankOf(offer)]));
    return offers.toSorted((a, b) => (ranks.get(a) ?? 0) - (ranks.get(b) ?? 0) || compareOffers(a, b));
  }

  #holdFunds(order: TakerOrder, reserved: MakerReserved, maker: string): boolean {
    const coin = this.#deps.coin(takerCoinOf(order));
    const received = this.#deps.coin(makerCoinOf(order));
    if (!coin || !received) return false;
    if (isCutShort(received, reserved.baseAmount)) {
      this.#strangersLog.info("offer_refused", { order: order.uuid, maker, reason: "cut_short", coin: received.ticker });
      return false;
    }
    const covered = coverSpends([coin, reserved.relAmount], [received, reserved.baseAmount]);
    if (!covered.ok) {
      this.#strangersLog.info("offer_refused", { order: order.uuid, maker, reason: "too_small", coin: covered.error.coin });
      return false;
    }
    const fee = this.#deps.rules.dexFee(coin.ticker, makerCoinOf(order), reserved.relAmount);
    const payment = reserved.relAmount;
    const amounts = isPositive(fee) ? [fee, payment] : [payment];
    const held = this.#holds.take(order.uuid, { coin, other: received, amounts }, maker);
    if (!held.ok)
      this.#strangersLog.warn("offer_without_funds", { order: order.uuid, maker, error: held.error.kind, coin: held.error.coin });
    return held.ok;
  }

  #sendConnect(order: TakerOrder): void {
    if (!order.match) return;
    this.#connectSentMs.set(order.uuid, this.#deps.clock.nowMs());
    const body: OrderPair = { takerOrderUuid: order.uuid, makerOrderUuid: order.match.reserved.makerOrderUuid };
    this.#deps.network.publish(takerBaseTicker(order), takerRelTicker(order), { type: "TakerConnect", body });
  }

  /** Nothing waits for its turn to be said again. */
  get isQuiet(): boolean {
    return this.#connectSentMs.size === 0 && this.requests.isQuiet;
  }

  /** Called by the loop: says `connect` again where nothing came back. */
  repeatConnects(): void {
    const nowMs = this.#deps.clock.nowMs();
    for (const [uuid, sentMs] of [...this.#connectSentMs]) {
      const order = this.#ledger.takers.get(uuid);
      if (!order) this.#connectSentMs.delete(uuid);
      else if (nowMs - sentMs >= CONNECT_REPEAT_MS) this.#sendConnect(order);
    }
  }

  /** The maker confirms: the swap is stored, then the order is done. */
  async onConnected(sender: string, pair: OrderPair): Promise<void> {
    const order = this.#ledger.takers.get(pair.takerOrderUuid);
    const match = order?.match;
    if (!order || !match || match.maker !== sender || match.reserved.makerOrderUuid !== pair.makerOrderUuid) return;
    if (this.#deps.swaps.has(order.uuid)) return this.fulfil(order, match);
    const held = this.#holds.reservationsOf(order.uuid);
    const { reserved } = match;
    const settings = { maker: reserved.conf, taker: order.conf, action: order.action };
    const coins = swapCoins(order);
    const terms = termsOfMatch(this.#deps.rules, coins, "taker", settings, reserved);
    if (!held || !terms.ok || this.#deps.keyElsewhere()) return;
    try {
      await this.#deps.swaps.start(
        swapMatch({ role: "taker", myOrderUuid: order.uuid, coins, reserved, counterparty: sender, terms: terms.value, held }),
      );
    } catch (error) {
      this.#deps.log.error("swap_not_started", { swap: order.uuid, error, stored: this.#deps.swaps.has(order.uuid) });
      // a swap that was stored all the same runs on, with the funds that are its own
      if (!this.#deps.swaps.has(order.uuid)) {
        this.#unstored.add(order.uuid);
        // The runner has given them back: should the end not be stored either, a later `connected` begins nothing without them.
        this.#holds.release(order.uuid);
        return this.end(order, "TimedOut");
      }
    }
    this.#holds.handedOver(order.uuid);
    this.#deps.log.info("order_matched", { order: order.uuid, swap: order.uuid, role: "taker" });
    return this.fulfil(order, match);
  }

  /** Ends an order whose swap is stored. */
  fulfil(order: TakerOrder, match: TakerMatch): Promise<void> {
    return this.end({ ...order, match: { ...match, connectedAtMs: match.connectedAtMs ?? this.#deps.clock.nowMs() } }, "Fulfilled");
  }

  /** The time for `connected` is over. While our own key is heard elsewhere it is this node that does not answer, and a full disk is this node's own. */
  async giveUp(order: TakerOrder): Promise<void> {
    const isOurFault = this.#deps.keyElsewhere() !== null || this.#unstored.has(order.uuid);
    // Until its end is stored it comes here again and again.
    await this.end(order, "TimedOut");
    if (!order.match || isOurFault) return;
    this.#inVainMs = [...this.#inVainMs, this.#deps.clock.nowMs()].slice(-MANY_IN_VAIN);
    this.#deps.policy.onNeverConnected(order.uuid, order.match.maker);
  }

  /** Ends an order: stored first, then forgotten, its funds free. */
  async end(order: TakerOrder, reason: "Fulfilled" | "TimedOut" | "Cancelled"): Promise<void> {
    await this.#ledger.commit([{ step: "endTaker", order, reason }]);
    this.ended(order, reason);
  }

  /** The end of an order is stored. */
  ended({ uuid }: TakerOrder, reason: "Fulfilled" | "TimedOut" | "Cancelled"): void {
    this.forget(uuid);
    this.#deps.log.info("taker_order_ended", { order: uuid, reason });
  }

  /** Drops everything that waits for an order that is a taker order no more. */
  forget(uuid: string): void {
    this.#closeWindow(uuid);
    this.requests.forget(uuid);
    this.#connectSentMs.delete(uuid);
    this.#unstored.delete(uuid);
    this.#holds.release(uuid);
  }

  #closeWindow(uuid: string): void {
    this.#windows.get(uuid)?.cancel();
    this.#windows.delete(uuid);
  }

  close(): void {
    for (const uuid of [...this.#windows.keys()]) this.#closeWindow(uuid);
    this.requests.close();
  }
}

/** One offer per maker order; a full list keeps the better ones. */
function collect(offers: Offer[], offer: Offer): void {
  if (offers.some((o) => o.maker === offer.maker && o.reserved.makerOrderUuid === offer.reserved.makerOrderUuid)) return;
  offers.push(offer);
  if (offers.length <= MAX_OFFERS) return;
  offers.sort(compareOffers);
  offers.pop();
}
