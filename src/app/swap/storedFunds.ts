import { type ChildSlot, ownPayment } from "../../core/swap/events.ts";
import { outcomeOf, paymentMayExist, type SwapState, type TxVersion, versionsOf } from "../../core/swap/swapState.ts";
import { deadlinesOf } from "../../core/swap/timelocks.ts";
import { fromHex } from "../../core/util/bytes.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Reservation } from "../tradingCoin.ts";
import { takeChild } from "./duties/feeVersions.ts";
import type { SwapCoin } from "./swapCoin.ts";

/** What a stored swap needs of its own coin. */
type Needs = {
  readonly ticker: string;
  /** Own transactions whose inputs nothing else may spend. */
  readonly raws: readonly Uint8Array[];
  /** The swap is over: until it runs nobody sends them, and their change counts only once the chain lists it. */
  readonly isOver: boolean;
  /** Children that pay for them; what they pay back counts once the chain lists it. */
  readonly children: readonly TxVersion[];
  /** Base units still to be paid, one transaction each. */
  readonly amounts: readonly bigint[];
  /** Unix seconds after which they are not paid any more. */
  readonly until: number;
};

/**
 * The funds of swaps that are stored and do not run: because the other coin is not enabled, or because both are only
 * being enabled. Their inputs are taken and their promises renewed in the moment a coin becomes active, before an order,
 * a withdrawal or another swap can use it.
 */
export class StoredFunds {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #needs = new Map<string, Needs>();
  readonly #reservations = new Map<string, Reservation>();

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  add(uuid: string, s: SwapState): void {
    this.#needs.set(uuid, needsOf(s));
  }

  /** Takes what every stored swap needs of a coin that is about to become active. */
  take(coin: SwapCoin): void {
    const own = [...this.#needs].filter(([, n]) => n.ticker === coin.ticker);
    for (const [, { raws }] of own) for (const raw of raws) coin.lockInputs(raw);
    for (const [, { raws, isOver }] of own) if (isOver) for (const raw of raws) coin.dropChange(raw);
    for (const [, { children }] of own) for (const child of children) takeChild(coin, child);
    const nowMs = this.#clock.nowMs();
    const open = own
      .map(([uuid, { amounts, until }]) => ({ uuid, amounts, ttlMs: until * 1_000 - nowMs + 1_000 }))
      .filter(({ amounts, ttlMs }) => amounts.length > 0 && ttlMs >= 1_000);
    coin.reserveAgain(open).forEach((reserved, i) => {
      const uuid = open[i]?.uuid;
      if (uuid === undefined) return;
      if (reserved.ok) this.#reservations.set(uuid, reserved.value);
      else this.#log.warn("swap_funds_not_reserved", { swap: uuid, coin: coin.ticker, error: reserved.error.kind });
    });
  }

  /** The swap runs: its funds are its own from here on. */
  handOver(uuid: string, coin: SwapCoin): Reservation | null {
    const reservation = this.#reservations.get(uuid) ?? null;
    this.#needs.delete(uuid);
    this.#reservations.delete(uuid);
    if (reservation) coin.adopt(reservation);
    return reservation;
  }
}

function needsOf(s: SwapState): Needs {
  const { role, makerCoin, takerCoin } = s.terms;
  const isOver = outcomeOf(s) !== null;
  const raws = (["fee", ownPayment(role)] as const).flatMap((slot) => {
    const tx = s.own[slot];
    return tx && (tx.attempted || !isOver) ? [fromHex(tx.raw)] : [];
  });
  const isPaid = paymentMayExist(s) || s.own[ownPayment(role)] !== undefined;
  const times = deadlinesOf(s);
  return {
    ticker: role === "maker" ? makerCoin : takerCoin,
    raws,
    isOver,
    children: (["feeChild", "paymentChild", "refundChild"] as const).flatMap((slot) => versionsOfSlot(s, slot)),
    amounts: isOver || s.refund || s.abandoned || s.terms.takenOver || isPaid ? [] : openAmounts(s),
    until: role === "maker" ? times.firstSendBy : times.makerPaymentConfirmedBy,
  };
}

const versionsOfSlot = (s: SwapState, slot: ChildSlot): readonly TxVersion[] => {
  const tx = s.own[slot];
  return tx ? versionsOf(tx) : [];
};

function openAmounts(s: SwapState): readonly bigint[] {
  if (s.terms.role === "maker") return [BigInt(s.terms.makerUnits)];
  const fee = BigInt(s.terms.dexFeeUnits) + BigInt(s.terms.dexBurnUnits);
  return s.own.fee || fee === 0n ? [BigInt(s.terms.takerUnits)] : [fee, BigInt(s.terms.takerUnits)];
}
