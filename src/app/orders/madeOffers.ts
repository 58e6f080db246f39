import type { MakerReserved, TakerRequest } from "../../core/message/types.ts";
import { eq } from "../../core/money/rational.ts";
import { MATCH_LIFE_MS, type MakerOrder } from "../../core/order/makerOrder.ts";
import type { SwapAmounts } from "../../core/order/matching.ts";
import { CONNECT_LIFE_MS } from "../../core/order/takerOrder.ts";
import type { Clock } from "../../ports/clock.ts";
import { ExpiringMap } from "../expiringMap.ts";

/** Whoever asks for longer than this after an offer gets none. */
const MEMORY_MS = 600_000;
/** That there was an offer is remembered so long: a request bears no date, and whoever heard it can say it again. Some 6 MB at most. */
const COUNTED_MS = 86_400_000;
const MAX_COUNTED = 20_000;
/** Offers whose terms are remembered: some 5 MB at most. */
const MAX_REMEMBERED = 1_000;
/** Offers a request is made. KDF's makers make another whenever one has lapsed; here a replay of old messages must not hold funds for long. */
const MAX_OFFERS = 3;
/**
 * A choice is heard for so long after an offer: the offer is repeated while it stands, the taker may wait 20 s for a backend before it
 * chooses, and repeats its choice for a minute. Later nobody waits for us any more: a choice that comes then is old, or a replay.
 */
const CHOICE_MS = MATCH_LIFE_MS + 20_000 + CONNECT_LIFE_MS;

type Offer = { readonly request: TakerRequest; readonly reserved: MakerReserved; readonly madeAtMs: number };

const keyOf = (sender: string, uuid: string): string => `${sender} ${uuid}`;

/**
 * What requests were offered lately. One whose offer has lapsed may be offered the same again and nothing else: its taker may
 * have chosen the first, and goes by its terms.
 */
export class MadeOffers {
  readonly #clock: Clock;
  readonly #counts: ExpiringMap<number>;
  readonly #offers: ExpiringMap<Offer>;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#counts = new ExpiringMap(clock, COUNTED_MS, MAX_COUNTED);
    this.#offers = new ExpiringMap(clock, MEMORY_MS, MAX_REMEMBERED);
  }

  /** @param request as it is kept: short */
  made(sender: string, request: TakerRequest, reserved: MakerReserved): void {
    const key = keyOf(sender, request.uuid);
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    this.#offers.set(key, { request, reserved, madeAtMs: this.#clock.nowMs() });
  }

  /** The taker chose us: from here on its request is over. */
  taken(sender: string, uuid: string): void {
    this.#offers.delete(keyOf(sender, uuid));
  }

  /** What a request was offered last; null if nothing, or if it was taken. */
  of(sender: string, uuid: string): Offer | null {
    return this.#offers.get(keyOf(sender, uuid)) ?? null;
  }

  /** The same while its taker may still wait for an answer to its choice. */
  chosenLate(sender: string, uuid: string): Offer | null {
    const offer = this.of(sender, uuid);
    return offer && this.#clock.nowMs() - offer.madeAtMs <= CHOICE_MS ? offer : null;
  }

  /** A request that is made no offer any more. */
  isOver(sender: string, uuid: string): boolean {
    const count = this.#counts.get(keyOf(sender, uuid)) ?? 0;
    return count >= MAX_OFFERS || (count > 0 && this.of(sender, uuid) === null);
  }
}

/** Whether an order would be offered now on the terms of an earlier offer. */
export function isOnTerms(
  order: MakerOrder,
  amounts: SwapAmounts,
  { makerOrderUuid, baseAmount, relAmount, conf }: MakerReserved,
): boolean {
  return (
    order.uuid === makerOrderUuid &&
    eq(amounts.maker, baseAmount) &&
    eq(amounts.taker, relAmount) &&
    order.conf.baseConfs === conf?.baseConfs &&
    order.conf.baseNota === conf.baseNota &&
    order.conf.relConfs === conf.relConfs &&
    order.conf.relNota === conf.relNota
  );
}
