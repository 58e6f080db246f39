import type { Rational } from "../../core/money/rational.ts";
import type { OpenHold } from "../../core/peers/strangersShare.ts";
import { textToRational } from "../../core/swap/amountText.ts";
import type { HeldFee, StoredEvent, SwapEvent } from "../../core/swap/events.ts";
import { peerIdOf } from "./peerBook.ts";

type Unpaid = OpenHold & { readonly ticker: string; readonly fees: readonly HeldFee[] };

/** What swaps hold in which this node is maker and the taker has paid no fee yet. As many as there are such swaps. */
export class UnpaidSwaps {
  readonly #holds = new Map<string, Unpaid>();

  get size(): number {
    return this.#holds.size;
  }

  has(uuid: string): boolean {
    return this.#holds.has(uuid);
  }

  /** Takes in a swap's log as it stands. `paid`: the fee has been seen; `ended`: it never will be. */
  follow(uuid: string, log: readonly StoredEvent[]): "unpaid" | "paid" | "ended" {
    const first = log[0]?.event;
    if (first?.type !== "started" || first.terms.role !== "maker") return "ended";
    const paid = log.some(({ event }) => isFeePaid(event));
    const ended = log.some(({ event }) => event.type === "finished" || event.type === "abandoned");
    if (paid || ended) {
      this.#holds.delete(uuid);
      return paid ? "paid" : "ended";
    }
    if (!this.#holds.has(uuid)) {
      const { counterparty, makerUnits, makerCoin, myOrderUuid, heldFees = [] } = first.terms;
      // One whose record was cut pays nothing any more.
      const isCut = log.some(({ event }) => event.type === "record_cut");
      const hold = { peer: peerIdOf(counterparty), units: isCut ? 0n : BigInt(makerUnits), orderUuid: myOrderUuid, ticker: makerCoin };
      this.#holds.set(uuid, { ...hold, fees: isCut ? [] : heldFees });
    }
    return "unpaid";
  }

  of(ticker: string): readonly OpenHold[] {
    return [...this.#holds.values()].filter((hold) => hold.ticker === ticker);
  }

  /** What they hold of a balance that pays fees, whole coins. */
  feesOf(payer: string): readonly { readonly peer: string; readonly amount: Rational }[] {
    return [...this.#holds.values()].flatMap(({ peer, fees }) =>
      fees.filter(({ coin }) => coin === payer).map(({ amount }) => ({ peer, amount: textToRational(amount) })),
    );
  }
}

/** A maker pays only for a fee: a record that was cut may have the payment, found on its chain, and no fee. */
const isFeePaid = (event: SwapEvent): boolean =>
  (event.type === "tx_received" && event.slot === "fee") || (event.type === "tx_attempted" && event.slot === "makerPayment");
