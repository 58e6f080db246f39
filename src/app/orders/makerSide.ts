import type { MakerReserved, OrderPair, TakerRequest } from "../../core/message/types.ts";
import { gte } from "../../core/money/rational.ts";
import {
  availableVolume,
  connectMatch,
  dropMatch,
  type MakerMatch,
  type MakerOrder,
  makerBaseTicker,
  makerRelTicker,
  reserveMatch,
} from "../../core/order/makerOrder.ts";
import { fittingOrders, type SwapAmounts } from "../../core/order/matching.ts";
import { toHex } from "../../core/util/bytes.ts";
import type { SwapMatch } from "../tradingCoin.ts";
import { ExpiringMap } from "./expiringMap.ts";
import type { FundsHolds } from "./fundsHolds.ts";
import type { OrderAnnouncer } from "./orderAnnouncer.ts";
import type { OrderLedger } from "./orderLedger.ts";
import type { OrdersDeps } from "./ordersDeps.ts";
import { type SwapCoins, swapMatch, termsOfMatch } from "./swapTerms.ts";

/** Open handshakes one sender may have with us, and all senders together. */
const MAX_OPEN_PER_SENDER = 10;
const MAX_OPEN = 1_000;
/** A request answered once is not answered again: a replay of old messages must not hold funds. KDF sends each request once. */
const ANSWERED_MEMORY_MS = 600_000;
const MAX_ANSWERED = 20_000;
/** `connected` is repeated for a taker that repeats its `connect`, a few times and not for ever: ours do when a message got lost. */
const CONNECTED_REPEAT_MS = 60_000;
const MAX_CONNECTED_REPEATS = 10;

const swapCoins = (order: MakerOrder): SwapCoins => ({
  maker: order.base,
  taker: order.rel,
  makerOrderbook: makerBaseTicker(order),
  takerOrderbook: makerRelTicker(order),
});

/** The maker's half of the matching handshake (reference p2p-wire.md section 9). */
export class MakerSide {
  readonly #deps: OrdersDeps;
  readonly #ledger: OrderLedger;
  readonly #holds: FundsHolds;
  readonly #announcer: OrderAnnouncer;
  readonly #ownX: string;
  readonly #answered: ExpiringMap<true>;
  readonly #repeats: ExpiringMap<number>;
  /** Connected matches by taker uuid: an order that is sold out ends at once, and its last taker may not have heard us. */
  readonly #connected: ExpiringMap<{ readonly order: MakerOrder; readonly match: MakerMatch }>;

  constructor(deps: OrdersDeps, ledger: OrderLedger, holds: FundsHolds, announcer: OrderAnnouncer) {
    this.#deps = deps;
    this.#ledger = ledger;
    this.#holds = holds;
    this.#announcer = announcer;
    this.#ownX = toHex(deps.ownKey.subarray(1));
    this.#answered = new ExpiringMap(deps.clock, ANSWERED_MEMORY_MS, MAX_ANSWERED);
    this.#repeats = new ExpiringMap(deps.clock, CONNECTED_REPEAT_MS, MAX_ANSWERED);
    this.#connected = new ExpiringMap(deps.clock, CONNECTED_REPEAT_MS, MAX_ANSWERED);
  }

  /** A taker asks. Funds are held before the answer leaves, so that a reserved offer can be kept. */
  async onRequest(sender: string, request: TakerRequest): Promise<void> {
    const { uuid } = request;
    if (this.#holds.has(uuid) || this.#ledger.has(uuid) || this.#deps.swaps.has(uuid) || this.#answered.get(`${sender} ${uuid}`)) return;
    if (this.#holds.countOf(sender) >= MAX_OPEN_PER_SENDER || this.#holds.size >= MAX_OPEN) return;
    const fitting = fittingOrders(this.#ledger.makers.values(), request, this.#ownX);
    if (fitting.length === 0 || (await this.#deps.store.swapAgreed(uuid))) return;
    for (const { order, amounts } of fitting) {
      const reserved = this.#reserve(sender, request, order, amounts);
      if (!reserved) continue;
      this.#answered.set(`${sender} ${uuid}`, true);
      this.#deps.network.publish(reserved.base, reserved.rel, { type: "MakerReserved", body: reserved });
      this.#deps.log.info("order_reserved", { order: order.uuid, request: uuid, taker: sender });
      return;
    }
  }

  #reserve(sender: string, request: TakerRequest, order: MakerOrder, amounts: SwapAmounts): MakerReserved | null {
    const { log, coin, policy, clock, rules } = this.#deps;
    const skip = (reason: string, data: object = {}): null => {
      log.info("request_not_served", { order: order.uuid, request: request.uuid, reason, ...data });
      return null;
    };
    const base = coin(order.base);
    const rel = coin(order.rel);
    if (!base || !rel || !this.#announcer.has(order.uuid)) return skip("not_announced");
    // a Sell request's base is our rel
    const [baseInfo, relInfo] =
      request.action === "Buy" ? [request.baseProtocolInfo, request.relProtocolInfo] : [request.relProtocolInfo, request.baseProtocolInfo];
    if (!base.acceptsProtocolInfo(baseInfo) || !rel.acceptsProtocolInfo(relInfo)) return skip("protocol_info");
    const terms = termsOfMatch(rules, swapCoins(order), "maker", { maker: order.conf, taker: request.conf, action: request.action });
    if (!terms.ok) return skip("confirmations", terms.error);
    const reserved: MakerReserved = {
      base: makerBaseTicker(order),
      rel: makerRelTicker(order),
      baseAmount: amounts.maker,
      relAmount: amounts.taker,
      takerOrderUuid: request.uuid,
      makerOrderUuid: order.uuid,
      conf: order.conf,
      baseProtocolInfo: base.protocolInfo,
      relProtocolInfo: rel.protocolInfo,
      swapVersion: 1,
    };
    const match: MakerMatch = { request, taker: sender, reserved, reservedAtMs: clock.nowMs(), connectedAtMs: null };
    const next = reserveMatch(order, match);
    if (!next.ok) return skip(next.error);
    const [held, heldByAll] = [this.#holds.heldOf(base.ticker, sender), this.#holds.heldOf(base.ticker)];
    if (!policy.mayReserve(sender, base.ticker, amounts.maker, held, heldByAll)) return skip("sender_share");
    const taken = this.#holds.take(request.uuid, base, [amounts.maker], sender);
    if (!taken.ok) return skip("funds", { error: taken.error.kind });
    this.#ledger.setInMemory(next.value);
    return reserved;
  }

  /**
   * The taker chose us. The agreed uuid and the order go to disk, then the swap; only then does the taker hear
   * `connected`. Whatever fails before that frees volume and funds, and the taker starts nothing.
   */
  async onConnect(sender: string, pair: OrderPair): Promise<void> {
    const { clock, log, swaps } = this.#deps;
    const order = this.#ledger.makers.get(pair.makerOrderUuid);
    const known = this.#connected.get(pair.takerOrderUuid);
    if (known && known.order.uuid === pair.makerOrderUuid) {
      if (known.match.taker === sender) this.#repeatConnected(known.order, pair);
      return;
    }
    if (!order) return;
    const connected = connectMatch(order, pair.takerOrderUuid, sender, clock.nowMs());
    if (!connected.ok) return;
    const swap = this.#swapOf(order, pair.takerOrderUuid, sender);
    if (!swap || swaps.has(pair.takerOrderUuid)) {
      this.#giveBack(order, pair.takerOrderUuid);
      return;
    }
    const agreed = { step: "swapAgreed", takerUuid: pair.takerOrderUuid, makerUuid: order.uuid } as const;
    await this.#ledger.commit([{ step: "maker", order: connected.value }, agreed]);
    try {
      await swaps.start(swap);
    } catch (error) {
      log.error("swap_not_started", { swap: swap.uuid, error, stored: swaps.has(swap.uuid) });
      if (swaps.has(swap.uuid)) return this.#swapBegan(connected.value, pair);
      this.#holds.release(pair.takerOrderUuid);
      await this.#ledger.commit([{ step: "maker", order: dropMatch(connected.value, pair.takerOrderUuid) }]);
      return;
    }
    this.#swapBegan(connected.value, pair);
  }

  /** The swap is stored and runs, whatever else happens: its funds are its own, and the taker is told. */
  #swapBegan(order: MakerOrder, pair: OrderPair): void {
    this.#holds.handedOver(pair.takerOrderUuid);
    this.resume(order);
    this.#publishConnected(order, pair);
    this.#deps.log.info("order_matched", { order: order.uuid, swap: pair.takerOrderUuid, role: "maker" });
    if (gte(availableVolume(order), order.minBaseVol)) this.#announcer.updateVolume(order);
  }

  #swapOf(order: MakerOrder, takerUuid: string, sender: string): SwapMatch | null {
    const match = order.matches.get(takerUuid);
    const reservation = this.#holds.reservationOf(takerUuid);
    if (!match || !reservation || !this.#deps.coin(order.base) || !this.#deps.coin(order.rel)) return null;
    const { reserved, request } = match;
    const settings = { maker: reserved.conf, taker: request.conf, action: request.action };
    const terms = termsOfMatch(this.#deps.rules, swapCoins(order), "maker", settings);
    if (!terms.ok) return null;
    return swapMatch("maker", order.uuid, swapCoins(order), reserved, sender, terms.value, reservation);
  }

  #giveBack(order: MakerOrder, takerUuid: string): void {
    this.#holds.release(takerUuid);
    this.#ledger.setInMemory(dropMatch(order, takerUuid));
  }

  /** Remembers the matches of an order whose swaps are stored, for takers that ask again. Also after a restart. */
  resume(order: MakerOrder): void {
    const nowMs = this.#deps.clock.nowMs();
    for (const [takerUuid, match] of order.matches) {
      if (match.connectedAtMs === null || nowMs - match.connectedAtMs > CONNECTED_REPEAT_MS) continue;
      if (this.#connected.get(takerUuid)) continue;
      this.#connected.set(takerUuid, { order, match });
      this.#deps.network.follow(makerBaseTicker(order), makerRelTicker(order));
    }
  }

  #repeatConnected(order: MakerOrder, pair: OrderPair): void {
    const sent = this.#repeats.get(pair.takerOrderUuid) ?? 0;
    if (sent >= MAX_CONNECTED_REPEATS) return;
    this.#repeats.set(pair.takerOrderUuid, sent + 1);
    this.#publishConnected(order, pair);
  }

  #publishConnected(order: MakerOrder, pair: OrderPair): void {
    this.#deps.network.publish(makerBaseTicker(order), makerRelTicker(order), { type: "MakerConnected", body: pair });
  }
}
