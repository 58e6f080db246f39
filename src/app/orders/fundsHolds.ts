import { add, fromUnits, type Rational, toUnits, ZERO } from "../../core/money/rational.ts";
import { ok, type Result } from "../../core/util/result.ts";
import type { FundsError, Reservation, TradingCoin } from "../tradingCoin.ts";
import type { ReserveAsk } from "./ordersDeps.ts";

/**
 * Safety net only: a hold is released when its handshake ends (30 s for a maker, at most 60 s for a taker) or passes
 * to the swap. Longer than both, so that it never expires under a handshake that is being stored.
 */
const HOLD_TTL_MS = 120_000;

type Hold = {
  readonly coin: TradingCoin;
  readonly reservation: Reservation;
  /** Base units: what is paid, each amount cut as the chain cuts it. */
  readonly units: bigint;
  /** Envelope key of the other side, 66 hex. */
  readonly sender: string;
  readonly share: HeldShare | null;
};

/** What a maker's hold is for. `alone`: it may make room for a key with history. `isLate`: its taker may be gone, and is not blamed for it. */
export type HeldShare = { readonly orderUuid: string; readonly alone: boolean; readonly isLate: boolean; readonly connectByMs: number };

/** Funds taken out of circulation for open handshakes, keyed by taker uuid. Lives in memory: a restart frees them all. */
export class FundsHolds {
  readonly #holds = new Map<string, Hold>();
  readonly #counts = new Map<string, number>();
  readonly #onEnd: (ticker: string) => void;

  /** @param onEnd called with the coin whenever a hold ends either way */
  constructor(onEnd: (ticker: string) => void) {
    this.#onEnd = onEnd;
  }

  has(takerUuid: string): boolean {
    return this.#holds.has(takerUuid);
  }

  /** `amounts`: one transaction each, whole coins. `share`: of a maker order, else null. */
  take(
    takerUuid: string,
    coin: TradingCoin,
    amounts: readonly Rational[],
    sender: string,
    share: HeldShare | null = null,
  ): Result<void, FundsError> {
    if (this.#holds.has(takerUuid)) throw new Error("funds are held for this request already");
    const reservation = coin.reserve(amounts, HOLD_TTL_MS);
    if (!reservation.ok) return reservation;
    this.#holds.set(takerUuid, { coin, reservation: reservation.value, units: unitsOf(amounts, coin.decimals), sender, share });
    this.#counts.set(sender, this.countOf(sender) + 1);
    return ok(undefined);
  }

  release(takerUuid: string): void {
    const hold = this.#remove(takerUuid);
    if (!hold) return;
    hold.coin.release(hold.reservation);
    this.#onEnd(hold.coin.ticker);
  }

  /** What the swap is handed; it stays ours to release until `handedOver`. */
  reservationOf(takerUuid: string): Reservation | undefined {
    return this.#holds.get(takerUuid)?.reservation;
  }

  /** The swap has the hold now. */
  handedOver(takerUuid: string): void {
    const hold = this.#remove(takerUuid);
    if (hold) this.#onEnd(hold.coin.ticker);
  }

  #remove(takerUuid: string): Hold | undefined {
    const hold = this.#holds.get(takerUuid);
    if (!hold) return undefined;
    this.#holds.delete(takerUuid);
    const left = this.countOf(hold.sender) - 1;
    if (left > 0) this.#counts.set(hold.sender, left);
    else this.#counts.delete(hold.sender);
    return hold;
  }

  /** What open handshakes hold of a coin. */
  heldOf(ticker: string): Rational {
    let sum = ZERO;
    for (const { coin, units } of this.#holds.values()) if (coin.ticker === ticker) sum = add(sum, fromUnits(units, coin.decimals));
    return sum;
  }

  /** Open handshakes of own maker orders that hold a coin. */
  sharesOf(ticker: string): ReserveAsk["held"] {
    const shares: ReserveAsk["held"][number][] = [];
    for (const { coin, units, sender, share } of this.#holds.values()) {
      if (share && coin.ticker === ticker) shares.push({ sender, units, orderUuid: share.orderUuid });
    }
    return shares;
  }

  shareOf(takerUuid: string): HeldShare | null {
    return this.#holds.get(takerUuid)?.share ?? null;
  }

  /** Open handshakes with a peer. */
  countOf(sender: string): number {
    return this.#counts.get(sender) ?? 0;
  }

  get size(): number {
    return this.#holds.size;
  }

  releaseAll(): void {
    for (const uuid of [...this.#holds.keys()]) this.release(uuid);
  }
}

const unitsOf = (amounts: readonly Rational[], decimals: number): bigint => amounts.reduce((sum, a) => sum + toUnits(a, decimals), 0n);
