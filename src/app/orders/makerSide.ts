import type { MakerReserved, OrderPair, TakerRequest } from "../../core/message/types.ts";
import { gte } from "../../core/money/rational.ts";
import {
  availableVolume,
  connectMatch,
  dropMatch,
  forgetSettled,
  type MakerMatch,
  type MakerOrder,
  makerBaseTicker,
} from "../../core/order/makerOrder.ts";
import { fittingOrders, keptRequest } from "../../core/order/matching.ts";
import { toHex } from "../../core/util/bytes.ts";
import type { SwapMatch } from "../tradingCoin.ts";
import type { FundsHolds } from "./fundsHolds.ts";
import { isOnTerms, MadeOffers } from "./madeOffers.ts";
import { CONNECTED_REPEAT_MS, MakerRepeats } from "./makerRepeats.ts";
import { LATE_MS, OfferReserver, swapCoins, type Unserved } from "./offerReserver.ts";
import type { OrderAnnouncer } from "./orderAnnouncer.ts";
import type { OrderLedger } from "./orderLedger.ts";
import type { OrdersDeps } from "./ordersDeps.ts";
import { StrangersLog } from "./strangersLog.ts";
import { swapMatch, termsOfMatch } from "./swapTerms.ts";
import { WaitingRequests } from "./waitingRequests.ts";

/** Open handshakes one sender may have with us, and all senders together; with so many open, keys without history begin none. */
const MAX_OPEN_PER_SENDER = 10;
const MAX_OPEN = 1_000;
const MAX_OPEN_FOR_STRANGERS = 500;
/** Waiting requests looked at in one round, and how often the funds are asked for them: a round must not hold up the rest. */
const MAX_LOOKS = 100;
const MAX_TRIES = 20;
/** How often a coin's funds are asked for one request: it may fit thousands of orders, each for a little less than the one before. */
const MAX_REFUSALS = 20;
type Answer = "served" | Unserved;

/** The maker's half of the matching handshake (reference p2p-wire.md section 9). */
export class MakerSide {
  readonly #deps: OrdersDeps;
  readonly #ledger: OrderLedger;
  readonly #holds: FundsHolds;
  readonly #announcer: OrderAnnouncer;
  readonly #reserver: OfferReserver;
  readonly #ownX: string;
  readonly #offers: MadeOffers;
  readonly #repeats: MakerRepeats;
  readonly #waiting: WaitingRequests;
  readonly #strangersLog: StrangersLog;
  readonly #vain: Set<string>;

  /** @param vain swaps that came to nothing whose volume is still to be given back */
  constructor(deps: OrdersDeps, ledger: OrderLedger, holds: FundsHolds, announcer: OrderAnnouncer, vain: Set<string>) {
    this.#deps = deps;
    this.#ledger = ledger;
    this.#holds = holds;
    this.#announcer = announcer;
    this.#vain = vain;
    this.#reserver = new OfferReserver(deps, ledger, holds, announcer);
    this.#ownX = toHex(deps.ownKey.subarray(1));
    this.#offers = new MadeOffers(deps.clock);
    this.#repeats = new MakerRepeats(deps);
    this.#waiting = new WaitingRequests(deps.clock);
    this.#strangersLog = new StrangersLog(deps);
  }

  /** A taker asks. Funds are held before the answer leaves, so that a reserved offer can be kept. */
  async onRequest(sender: string, request: TakerRequest): Promise<void> {
    const { uuid } = request;
    if (this.#holds.has(uuid)) return this.#repeatOffer(sender, uuid);
    if (this.#isOver(sender, uuid) || this.#waiting.heardAgain(sender, uuid)) return;
    if ((await this.#answer(sender, request, 0)) !== "later") return;
    if (this.#waiting.add(sender, request)) this.#strangersLog.info("request_waits", { request: uuid, taker: sender });
  }

  /** Something may have come free: those that wait are tried in the order they came, and all limits still hold. */
  async serveWaiting(): Promise<void> {
    if (this.#waiting.size === 0) return;
    this.#reserver.beginRound();
    let [looks, tries] = [0, 0];
    for (const entry of this.#waiting.inOrder()) {
      const { sender, request, heardMs } = entry;
      if (this.#isFull(sender, request)) continue;
      if (this.#isOver(sender, request.uuid) || this.#holds.has(request.uuid)) {
        this.#waiting.drop(entry);
        continue;
      }
      const before = this.#reserver.refusals;
      const answer = await this.#answer(sender, request, this.#deps.clock.nowMs() - heardMs);
      if (answer !== "later") this.#waiting.drop(entry);
      tries += this.#reserver.refusals - before + Number(answer === "served");
      if (++looks < MAX_LOOKS && tries < MAX_TRIES) continue;
      this.#waiting.breakOffAt(entry);
      return;
    }
  }

  get hasWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** There is an order or a swap of this name, or the request was offered enough. */
  #isOver(sender: string, uuid: string): boolean {
    return this.#ledger.has(uuid) || this.#deps.swaps.has(uuid) || this.#offers.isOver(sender, uuid);
  }

  #isFull(sender: string, { action, base, rel }: TakerRequest): boolean {
    const open = this.#holds.size;
    if (this.#holds.countOf(sender) >= MAX_OPEN_PER_SENDER || open >= MAX_OPEN) return true;
    return open >= MAX_OPEN_FOR_STRANGERS && !this.#hasHistory(sender, action === "Buy" ? base : rel);
  }

  /** @param asked the coin as the book names it: an order may give another of that name, and history is of what was given */
  #hasHistory(sender: string, asked: string): boolean {
    for (const order of this.#ledger.makers.values())
      if (makerBaseTicker(order) === asked && this.#deps.policy.isKnown(sender, order.base)) return true;
    return false;
  }

  /** @param silentMs since the request was last heard */
  async #answer(sender: string, request: TakerRequest, silentMs: number): Promise<Answer> {
    const { uuid } = request;
    if (this.#deps.keyElsewhere()) return "never";
    const lapsed = this.#offers.of(sender, uuid);
    if (lapsed) return this.#isFull(sender, request) ? "later" : this.#offerAgain(sender, request, lapsed.reserved);
    const fitting = fittingOrders(this.#ledger.makers.values(), request, this.#ownX);
    if (this.#isFull(sender, request)) return fitting.length > 0 ? "later" : "never";
    const inTheWay = fitting.length === 0 || this.#isKnown(sender, fitting) ? this.#madeRoomFor(sender, request) : [];
    if (fitting.length + inTheWay.length === 0) return "never";
    if (inTheWay.length === 0 && fitting.every(({ order, amounts }) => this.#reserver.isShort(sender, order, amounts))) return "later";
    if (await this.#deps.store.swapAgreed(uuid)) return "never";
    const served = this.#serve(sender, request, fitting, silentMs);
    if (served === "served" || inTheWay.length === 0) return served;
    for (const [orderUuid, takerUuid] of inTheWay) {
      const order = this.#ledger.makers.get(orderUuid);
      if (order) this.#giveBack(order, takerUuid);
      this.#deps.log.info("request_made_room", { order: orderUuid, request: takerUuid, taker: sender });
    }
    return this.#serve(sender, request, fittingOrders(this.#ledger.makers.values(), request, this.#ownX), silentMs);
  }

  /**
   * Once more what was offered before, if it can still be had. To a taker that let the first one lapse like to one not heard for long:
   * for a short time, without blame, and no more than its share.
   */
  #offerAgain(sender: string, request: TakerRequest, before: MakerReserved): Answer {
    const same = fittingOrders(this.#ledger.makers.values(), request, this.#ownX).filter((f) => isOnTerms(f.order, f.amounts, before));
    return this.#serve(sender, request, same, LATE_MS + 1);
  }

  /** Answers with the first of the orders that can be served. */
  #serve(sender: string, request: TakerRequest, fitting: ReturnType<typeof fittingOrders>, silentMs: number): Answer {
    let answer: Answer = "never";
    const refused = new Map<string, number>();
    for (const { order, amounts } of fitting) {
      const times = refused.get(order.base) ?? 0;
      if (times >= MAX_REFUSALS || (times > 0 && this.#reserver.lacksFunds(order, amounts))) continue;
      const before = this.#reserver.unfunded;
      const kept = keptRequest(request, order.uuid, this.#ownX);
      const reserved = this.#reserver.reserve(sender, kept, order, amounts, silentMs);
      if (this.#reserver.unfunded > before) refused.set(order.base, times + 1);
      if (reserved === "later") answer = "later";
      if (typeof reserved === "string") continue;
      this.#offers.made(sender, kept, reserved);
      this.#deps.network.publish(reserved.base, reserved.rel, { type: "MakerReserved", body: reserved });
      this.#deps.log.info("order_reserved", { order: order.uuid, request: request.uuid, taker: sender });
      return "served";
    }
    return answer;
  }

  /** The taker has not heard our offer: the same again, while it stands. */
  #repeatOffer(sender: string, uuid: string): void {
    const match = this.#ledger.makers.get(this.#holds.shareOf(uuid)?.orderUuid ?? "")?.matches.get(uuid);
    if (match?.taker === sender && match.connectedAtMs === null) this.#repeats.offer(match.reserved);
  }

  #isKnown(sender: string, fitting: ReturnType<typeof fittingOrders>): boolean {
    return fitting.some(({ order }) => this.#deps.policy.isKnown(sender, order.base));
  }

  /**
   * Handshakes with keys without history that hold more than their share for want of anybody else: whoever has history
   * takes their place, if that makes room for the request. Pairs of order and request.
   */
  #madeRoomFor(sender: string, request: TakerRequest): readonly (readonly [orderUuid: string, takerUuid: string])[] {
    const inTheWay: (readonly [string, string])[] = [];
    const without: MakerOrder[] = [];
    for (const order of this.#ledger.makers.values()) {
      if (!this.#deps.policy.isKnown(sender, order.base) || this.#reserver.outage(order)) continue;
      const alone = [...order.matches].filter(([uuid, m]) => m.connectedAtMs === null && this.#holds.shareOf(uuid)?.alone);
      for (const [uuid] of alone) inTheWay.push([order.uuid, uuid]);
      without.push(alone.reduce((o, [uuid]) => dropMatch(o, uuid), order));
    }
    return inTheWay.length > 0 && fittingOrders(without, request, this.#ownX).length > 0 ? inTheWay : [];
  }

  /**
   * The taker chose us. The agreed uuid and the order go to disk, then the swap; only then does the taker hear
   * `connected`. Whatever fails before that frees volume and funds, and the taker starts nothing.
   */
  async onConnect(sender: string, pair: OrderPair): Promise<void> {
    const { clock, log, swaps } = this.#deps;
    if (this.#repeats.isConnected(sender, pair)) return;
    this.#reserveLate(sender, pair);
    const order = this.#ledger.makers.get(pair.makerOrderUuid);
    if (!order) return;
    const connected = connectMatch(order, pair.takerOrderUuid, sender, clock.nowMs());
    if (!connected.ok) return;
    this.#offers.taken(sender, pair.takerOrderUuid);
    const swap = this.#deps.keyElsewhere() ? null : this.#swapOf(order, pair.takerOrderUuid, sender);
    if (!swap || swaps.has(pair.takerOrderUuid)) {
      this.#giveBack(order, pair.takerOrderUuid);
      return;
    }
    const agreed = { step: "swapAgreed", takerUuid: pair.takerOrderUuid, makerUuid: order.uuid } as const;
    const next = forgetSettled(connected.value, (uuid, match) => this.#isSettled(uuid, match));
    try {
      await this.#ledger.commit([{ step: "maker", order: next }, agreed]);
    } catch (cause) {
      this.#holds.excuse(pair.takerOrderUuid);
      throw cause;
    }
    try {
      await swaps.start(swap);
    } catch (error) {
      log.error("swap_not_started", { swap: swap.uuid, error, stored: swaps.has(swap.uuid) });
      if (swaps.has(swap.uuid)) return this.#swapBegan(next, pair);
      this.#holds.release(pair.takerOrderUuid);
      const back = dropMatch(next, pair.takerOrderUuid);
      // What kept the swap from the disk may keep this from it: sold out for nothing, the order would end. A start of the node drops it there, too.
      this.#ledger.setInMemory(back);
      await this.#ledger.commit([{ step: "maker", order: back }]);
      return;
    }
    this.#swapBegan(next, pair);
  }

  /**
   * The taker chose an offer that has lapsed: under load an answer takes longer than an offer stands, and a taker's choice is final.
   * KDF lets it wait in vain; here it is taken at its word if all of it can be had as before.
   */
  #reserveLate(sender: string, { takerOrderUuid, makerOrderUuid }: OrderPair): void {
    const before = this.#offers.chosenLate(sender, takerOrderUuid);
    if (before?.reserved.makerOrderUuid !== makerOrderUuid || this.#holds.has(takerOrderUuid)) return;
    if (
      this.#deps.keyElsewhere() ||
      this.#isFull(sender, before.request) ||
      this.#ledger.has(takerOrderUuid) ||
      this.#deps.swaps.has(takerOrderUuid)
    )
      return;
    const order = this.#ledger.makers.get(makerOrderUuid);
    for (const { amounts } of order ? fittingOrders([order], before.request, this.#ownX) : []) {
      if (!order || !isOnTerms(order, amounts, before.reserved)) return;
      const reserved = this.#reserver.reserve(sender, before.request, order, amounts, LATE_MS + 1);
      if (typeof reserved !== "string")
        this.#deps.log.info("connected_late", { order: order.uuid, request: takerOrderUuid, taker: sender });
    }
  }

  /** The swap is stored, its taker has paid or it is over, and nobody asks for our `connected` any more. */
  #isSettled(takerUuid: string, { connectedAtMs }: MakerMatch): boolean {
    const { swaps, policy, clock } = this.#deps;
    const isOld = connectedAtMs !== null && clock.nowMs() - connectedAtMs > CONNECTED_REPEAT_MS;
    return isOld && swaps.has(takerUuid) && !policy.isUnpaid(takerUuid) && !this.#vain.has(takerUuid);
  }

  /** The swap is stored and runs, whatever else happens: its funds are its own, and the taker is told. */
  #swapBegan(order: MakerOrder, pair: OrderPair): void {
    this.#holds.handedOver(pair.takerOrderUuid);
    this.#repeats.remember(order);
    this.#repeats.sayConnected(order, pair);
    this.#deps.log.info("order_matched", { order: order.uuid, swap: pair.takerOrderUuid, role: "maker" });
    if (gte(availableVolume(order), order.minBaseVol)) this.#announcer.updateVolume(order);
  }

  #swapOf(order: MakerOrder, takerUuid: string, sender: string): SwapMatch | null {
    const match = order.matches.get(takerUuid);
    const held = this.#holds.reservationsOf(takerUuid);
    if (!match || !held || !this.#deps.coin(order.base) || !this.#deps.coin(order.rel)) return null;
    const { reserved, request } = match;
    const settings = { maker: reserved.conf, taker: request.conf, action: request.action };
    const coins = swapCoins(order);
    const terms = termsOfMatch(this.#deps.rules, coins, "maker", settings, reserved);
    if (!terms.ok) return null;
    return swapMatch({ role: "maker", myOrderUuid: order.uuid, coins, reserved, counterparty: sender, terms: terms.value, held });
  }

  #giveBack(order: MakerOrder, takerUuid: string): void {
    this.#holds.release(takerUuid);
    this.#ledger.setInMemory(dropMatch(order, takerUuid));
  }

  /** Whether volume is still to be given back. */
  get hasVain(): boolean {
    return this.#vain.size > 0;
  }

  /** Swaps ended whose takers had paid nothing: nothing was sold. KDF: the volume is gone, and keys are free. What is not stored stays to be given back. */
  async giveBackVain(): Promise<void> {
    for (const takerUuid of this.#vain) {
      for (const order of [...this.#ledger.makers.values()]) {
        if (order.matches.get(takerUuid)?.connectedAtMs == null) continue;
        const back = { ...dropMatch(order, takerUuid), startedSwaps: order.startedSwaps };
        await this.#ledger.commit([{ step: "maker", order: back }]);
        this.#announcer.updateVolume(back);
        this.#deps.log.info("volume_given_back", { order: order.uuid, swap: takerUuid });
      }
      this.#vain.delete(takerUuid);
    }
  }

  /** An order of before a restart: its takers may not have heard that their swaps are stored. */
  resume(order: MakerOrder): void {
    this.#repeats.remember(order);
  }
}
