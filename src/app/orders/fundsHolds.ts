import { type Rational, toUnits } from "../../core/money/rational.ts";
import { ok, type Result } from "../../core/util/result.ts";
import type { FundsError, HeldFees, Reservation, SwapMatch, TradingCoin } from "../tradingCoin.ts";
import type { ReserveAsk } from "./ordersDeps.ts";

/**
 * Safety net only: a hold is released when its handshake ends (30 s for a maker, at most 60 s for a taker) or passes
 * to the swap. Longer than both, so that it never expires under a handshake that is being stored.
 */
const HOLD_TTL_MS = 120_000;

type Held = { readonly coin: TradingCoin; readonly reservation: Reservation };

type Hold = Held & {
  /** What claiming on the other coin costs the account; null where the contract pays it. */
  readonly claim: Held | null;
  /** Base units: what is paid, each amount cut as the chain cuts it. */
  readonly units: bigint;
  /** Envelope key of the other side, 66 hex. */
  readonly sender: string;
  readonly share: HeldShare | null;
  readonly fees: readonly HeldFees[];
};

/** What a maker's hold is for. `alone`: it may make room for a key with history. `isLate`: its taker may be gone, or has chosen us in vain, and is not blamed for it. */
export type HeldShare = { readonly orderUuid: string; readonly alone: boolean; readonly isLate: boolean; readonly connectByMs: number };

/** Funds taken out of circulation for open handshakes, keyed by taker uuid. Lives in memory: a restart frees them all. */
export class FundsHolds {
  readonly #holds = new Map<string, Hold>();
  readonly #counts = new Map<string, number>();
  /** Holds of maker orders that passed to swaps, by taker uuid, for as long as these are unpaid. */
  readonly #unpaid = new Map<string, Hold>();
  readonly #onEnd: (ticker: string) => void;

  /** @param onEnd called whenever a hold ends either way, with each coin it was of or paid fees in */
  constructor(onEnd: (ticker: string) => void) {
    this.#onEnd = onEnd;
  }

  has(takerUuid: string): boolean {
    return this.#holds.has(takerUuid);
  }

  /**
   * Both holds of a trade, or none: the own coin with its fees, and what the other coin's claim costs.
   * `amounts`: one transaction each, whole coins. `share`: of a maker order, else null.
   */
  take(
    takerUuid: string,
    { coin, other, amounts }: { readonly coin: TradingCoin; readonly other: TradingCoin; readonly amounts: readonly Rational[] },
    sender: string,
    share: HeldShare | null = null,
    fees: readonly HeldFees[] = [],
  ): Result<void, FundsError> {
    if (this.#holds.has(takerUuid)) throw new Error("funds are held for this request already");
    const own = coin.reserve(amounts, HOLD_TTL_MS);
    if (!own.ok) return own;
    const claim = other.reserveClaim(HOLD_TTL_MS);
    if (!claim.ok) {
      coin.release(own.value);
      return claim;
    }
    this.#holds.set(takerUuid, {
      coin,
      reservation: own.value,
      claim: claim.value && { coin: other, reservation: claim.value },
      units: unitsOf(amounts, coin.decimals),
      sender,
      share,
      fees,
    });
    this.#counts.set(sender, this.countOf(sender) + 1);
    return ok(undefined);
  }

  release(takerUuid: string): void {
    const hold = this.#remove(takerUuid);
    if (!hold) return;
    hold.coin.release(hold.reservation);
    hold.claim?.coin.release(hold.claim.reservation);
    this.#tellEnd(hold);
  }

  /** What the swap is handed; it stays ours to release until `handedOver`. */
  reservationsOf(takerUuid: string): Pick<SwapMatch, "reservation" | "claimReservation" | "heldFees"> | undefined {
    const hold = this.#holds.get(takerUuid);
    return hold && { reservation: hold.reservation, claimReservation: hold.claim?.reservation ?? null, heldFees: hold.fees };
  }

  /** The swap has the hold now. */
  handedOver(takerUuid: string): void {
    const hold = this.#remove(takerUuid);
    if (hold?.share) this.#unpaid.set(takerUuid, hold);
    if (hold) this.#tellEnd(hold);
  }

  /** What open handshakes hold of a balance that pays fees. */
  feesOf(payer: string): readonly { readonly sender: string; readonly amount: Rational }[] {
    return [...this.#holds.values()].flatMap(({ sender, fees }) =>
      fees.filter((held) => held.payer === payer).map(({ amount }) => ({ sender, amount })),
    );
  }

  #tellEnd({ coin, claim }: Hold): void {
    for (const ticker of new Set([coin.ticker, coin.feeTicker, ...(claim ? [claim.coin.feeTicker] : [])])) this.#onEnd(ticker);
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

  /**
   * What open handshakes hold of the balance that pays a coin's fees, and swaps of this run whose takers have paid nothing; `units`: of
   * the coin itself, what those swaps pay.
   * @param isUnpaid of a swap of a maker order
   */
  openOf(
    of: TradingCoin,
    isUnpaid: (takerUuid: string) => boolean,
  ): { readonly reservations: readonly Reservation[]; readonly units: bigint } {
    for (const uuid of this.#unpaid.keys()) if (!isUnpaid(uuid)) this.#unpaid.delete(uuid);
    const reservations: Reservation[] = [];
    for (const { coin, reservation, claim } of [...this.#holds.values(), ...this.#unpaid.values()]) {
      if (coin.feeTicker === of.feeTicker) reservations.push(reservation);
      if (claim?.coin.feeTicker === of.feeTicker) reservations.push(claim.reservation);
    }
    const units = [...this.#unpaid.values()].reduce((sum, hold) => (hold.coin.ticker === of.ticker ? sum + hold.units : sum), 0n);
    return { reservations, units };
  }

  /** Whether open handshakes hold fees that this coin pays out of the account. */
  holdsFeesIn(ticker: string): boolean {
    for (const { coin, claim } of this.#holds.values()) {
      const payers = [coin.spendsFrom === "account" ? coin.feeTicker : null, claim?.coin.feeTicker];
      if (payers.includes(ticker)) return true;
    }
    return false;
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

  /** Its taker has chosen us, and nothing of that could be stored: that it never did is not held against it. */
  excuse(takerUuid: string): void {
    const hold = this.#holds.get(takerUuid);
    if (hold?.share) this.#holds.set(takerUuid, { ...hold, share: { ...hold.share, isLate: true } });
  }

  /** Open handshakes with a peer. */
  countOf(sender: string): number {
    return this.#counts.get(sender) ?? 0;
  }

  get size(): number {
    return this.#holds.size;
  }

  releaseAll(): void {
    this.#unpaid.clear();
    for (const uuid of [...this.#holds.keys()]) this.release(uuid);
  }
}

const unitsOf = (amounts: readonly Rational[], decimals: number): bigint => amounts.reduce((sum, a) => sum + toUnits(a, decimals), 0n);
