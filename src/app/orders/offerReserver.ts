import type { MakerReserved, TakerRequest } from "../../core/message/types.ts";
import { gte, lt, type Rational } from "../../core/money/rational.ts";
import {
  availableVolume,
  type MakerMatch,
  type MakerOrder,
  makerBaseTicker,
  makerRelTicker,
  reserveMatch,
} from "../../core/order/makerOrder.ts";
import type { SwapAmounts } from "../../core/order/matching.ts";
import { heldFees } from "../fees/tradeFunds.ts";
import type { FundsError, TradingCoin } from "../tradingCoin.ts";
import { coverSpends, isCutShort, swapObstacle, whyNoTrade, whyNotReceived } from "./fundsChecks.ts";
import type { FundsHolds } from "./fundsHolds.ts";
import type { OrderAnnouncer } from "./orderAnnouncer.ts";
import type { OrderLedger } from "./orderLedger.ts";
import type { OrdersDeps, Share } from "./ordersDeps.ts";
import { StrangersLog } from "./strangersLog.ts";
import { type SwapCoins, termsOfMatch } from "./swapTerms.ts";

/**
 * A taker not heard for longer may have chosen another maker by now (KDF's chooses 3 s after its first offer): no silence is
 * held against it, and the offer to it stands for a short time only.
 */
export const LATE_MS = 5_000;
const LATE_CONNECT_MS = 10_000;
/** A coin without room for further matches of keys without history is asked again after this long, or in the next round. */
const FULL_MS = 500;

/** `later`: not now, but perhaps when a handshake has ended, a swap's fee is paid or a block has come. */
export type Unserved = "later" | "never";

const feePair = ({ base, rel }: MakerOrder): string => `${base} ${rel}`;

export const swapCoins = (order: MakerOrder): SwapCoins => ({
  maker: order.base,
  taker: order.rel,
  makerOrderbook: makerBaseTicker(order),
  takerOrderbook: makerRelTicker(order),
});

/** Whether an offer can be kept, and what is held for it before it leaves: funds, fees and the volume of the order. */
export class OfferReserver {
  readonly #deps: OrdersDeps;
  readonly #ledger: OrderLedger;
  readonly #holds: FundsHolds;
  readonly #announcer: OrderAnnouncer;
  readonly #strangersLog: StrangersLog;
  /** What the last round of those that wait has met: the least amount of a coin that cannot be held, and senders with their share used up. */
  readonly #short = new Map<string, Rational>();
  readonly #shareless = new Set<string>();
  /** Pairs whose fees, of the own coin or of the claim, another coin cannot pay now. */
  readonly #feeless = new Set<string>();
  #unfunded = 0;
  /** What a coin has no room for, of further matches of keys without history: the same and more is not asked for again until then. */
  readonly #full = new Map<string, { readonly amount: Rational; readonly more: number; readonly untilMs: number }>();

  constructor(deps: OrdersDeps, ledger: OrderLedger, holds: FundsHolds, announcer: OrderAnnouncer) {
    this.#deps = deps;
    this.#ledger = ledger;
    this.#holds = holds;
    this.#announcer = announcer;
    this.#strangersLog = new StrangersLog(deps);
  }

  /** A round of those that wait begins: what could not be had may be had now. */
  beginRound(): void {
    this.#short.clear();
    this.#shareless.clear();
    this.#feeless.clear();
    this.#full.clear();
  }

  /** What could not be had; only by how much it grows within a round means anything. */
  get refusals(): number {
    return this.#unfunded + this.#shareless.size;
  }

  /** How often the funds, or what pays the fees, were asked for in vain. */
  get unfunded(): number {
    return this.#unfunded;
  }

  /** Whether the present round knows already that this cannot be had. */
  isShort(sender: string, order: MakerOrder, amounts: SwapAmounts): boolean {
    return this.lacksFunds(order, amounts) || this.#shareless.has(`${sender} ${order.base}`);
  }

  /** The same, whoever asks. */
  lacksFunds(order: MakerOrder, { maker }: SwapAmounts): boolean {
    const least = this.#short.get(order.base);
    return (least !== undefined && !lt(maker, least)) || this.#feeless.has(feePair(order));
  }

  /**
   * Swaps that cannot be stored. A backend that cannot be reached: what it last told of our money may be old; or that still reads its chain. And an account whose own transactions would wait
   * behind somebody else's: the taker would pay its fee for a swap that is not paid for.
   */
  outage(order: MakerOrder): FundsError | null {
    const obstacle = swapObstacle(this.#deps.swaps, order.base);
    if (obstacle) return obstacle;
    const [base, rel] = [this.#deps.coin(order.base), this.#deps.coin(order.rel)];
    for (const coin of [base, rel]) {
      const outage = coin && (coin === rel ? whyNotReceived(coin) : whyNoTrade(coin));
      if (outage) return outage;
      const message = coin?.unexplained?.();
      if (coin && message) return { kind: "Transport", coin: coin.ticker, message };
    }
    return null;
  }

  /**
   * Holds what an offer needs.
   * @param silentMs since the taker was last heard
   */
  reserve(sender: string, request: TakerRequest, order: MakerOrder, amounts: SwapAmounts, silentMs: number): MakerReserved | Unserved {
    const { log, coin, policy, clock, rules } = this.#deps;
    const skip = (reason: string, data: object = {}): "never" => {
      this.#strangersLog.info("request_not_served", { order: order.uuid, request: request.uuid, reason, ...data });
      return "never";
    };
    // What is tried again and again is not worth a line each time.
    const wait = (reason: string, data: object = {}): "later" => {
      log.debug("request_not_served", { order: order.uuid, request: request.uuid, reason, ...data });
      return "later";
    };
    const base = coin(order.base);
    const rel = coin(order.rel);
    if (!base || !rel || !this.#announcer.has(order.uuid)) return skip("not_announced");
    const outage = this.outage(order);
    if (outage) return wait("backend", { coin: outage.coin });
    if (!infosFit(request, base, rel)) return skip("protocol_info");
    const settings = { maker: order.conf, taker: request.conf, action: request.action };
    const terms = termsOfMatch(rules, swapCoins(order), "maker", settings, { baseAmount: amounts.maker, relAmount: amounts.taker });
    if (!terms.ok) return skip("confirmations", terms.error);
    const covered = coverSpends([base, amounts.maker], [rel, amounts.taker]);
    if (!covered.ok) return skip("too_small", { coin: covered.error.coin });
    if (isCutShort(rel, amounts.taker)) return skip("cut_short", { coin: rel.ticker });
    const reserved = offerOf(order, request.uuid, amounts, { baseProtocolInfo: base.protocolInfo, relProtocolInfo: rel.protocolInfo });
    const match: MakerMatch = { request, taker: sender, reserved, reservedAtMs: clock.nowMs(), connectedAtMs: null };
    const next = reserveMatch(order, match);
    if (!next.ok) return skip(next.error);
    const fees = heldFees(base, amounts.maker, rel);
    const share = together([
      this.#share(sender, order, base, amounts.maker),
      ...fees.map(({ payer, amount }) => this.#feeShare(sender, base.ticker, payer, amount)),
    ]);
    const isLate = silentMs > LATE_MS;
    // More than a share is lent to nobody who may be gone: the next would have to wait for it.
    if (share.kind === "refused" || (isLate && share.alone !== null)) {
      this.#shareless.add(`${sender} ${base.ticker}`);
      return wait(share.kind === "refused" ? share.reason : "alone");
    }
    const withinMs = isLate ? Math.min(share.connectWithinMs, LATE_CONNECT_MS) : share.connectWithinMs;
    const held = { orderUuid: order.uuid, alone: share.alone !== null, isLate, connectByMs: clock.nowMs() + withinMs };
    const taken = this.#holds.take(request.uuid, { coin: base, other: rel, amounts: [amounts.maker] }, sender, held, fees);
    if (!taken.ok) {
      this.#unfunded++;
      // Whatever of the pair is asked for, its fees are the same.
      if (taken.error.coin === base.ticker) this.#short.set(base.ticker, amounts.maker);
      else this.#feeless.add(feePair(order));
      return wait("funds", { error: taken.error.kind, coin: taken.error.coin });
    }
    if (share.alone !== null) policy.onReserved(request.uuid, share.alone);
    this.#ledger.setInMemory(next.value);
    return reserved;
  }

  /**
   * What is found to be full stays so for a moment: to find it out takes as long as to make all promises anew. For less there may be room: who asks
   * for more than there is must not keep all others waiting.
   */
  #hasRoom(coin: TradingCoin, amount: Rational, more: number): boolean {
    const nowMs = this.#deps.clock.nowMs();
    const full = this.#full.get(coin.ticker);
    if (full && nowMs < full.untilMs && gte(amount, full.amount) && more >= full.more) return false;
    const hasRoom = coin.hasRoom?.(amount, more) ?? true;
    if (!hasRoom) this.#full.set(coin.ticker, { amount, more, untilMs: nowMs + FULL_MS });
    return hasRoom;
  }

  #share(sender: string, order: MakerOrder, base: TradingCoin, amount: Rational): Share {
    return this.#deps.policy.mayReserve({
      sender,
      coin: base.ticker,
      amount,
      orderUuid: order.uuid,
      orderAvailable: availableVolume(order),
      held: this.#holds.sharesOf(base.ticker),
      hasRoom: (more) => this.#hasRoom(base, amount, more),
    });
  }

  #feeShare(sender: string, coin: string, payer: string, amount: Rational): Share {
    return this.#deps.policy.mayHoldFees({ sender, coin, payer, amount, held: this.#holds.feesOf(payer) });
  }
}

/** Whether the taker means the same coins: the base of a Sell request is our rel. */
function infosFit({ action, baseProtocolInfo, relProtocolInfo }: TakerRequest, base: TradingCoin, rel: TradingCoin): boolean {
  const [baseInfo, relInfo] = action === "Buy" ? [baseProtocolInfo, relProtocolInfo] : [relProtocolInfo, baseProtocolInfo];
  return base.acceptsProtocolInfo(baseInfo) && rel.acceptsProtocolInfo(relInfo);
}

function offerOf(
  order: MakerOrder,
  takerOrderUuid: string,
  amounts: SwapAmounts,
  infos: Pick<MakerReserved, "baseProtocolInfo" | "relProtocolInfo">,
): MakerReserved {
  return {
    base: makerBaseTicker(order),
    rel: makerRelTicker(order),
    baseAmount: amounts.maker,
    relAmount: amounts.taker,
    takerOrderUuid,
    makerOrderUuid: order.uuid,
    conf: order.conf,
    ...infos,
    swapVersion: 1,
  };
}

/** What may be had of several things at once: each must be granted, and the shortest time counts. */
function together(shares: readonly [Share, ...Share[]]): Share {
  return shares.reduce((all, share) => {
    if (all.kind === "refused" || share.kind === "refused") return all.kind === "refused" ? all : share;
    const connectWithinMs = Math.min(all.connectWithinMs, share.connectWithinMs);
    return { kind: "granted", alone: all.alone ?? share.alone, connectWithinMs };
  });
}
