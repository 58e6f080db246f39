import { ownPayment } from "../../../core/swap/events.ts";
import { paymentMayExist, type SwapState } from "../../../core/swap/swapState.ts";
import { chainOf, contractOf, type PaymentSlot } from "../contracts.ts";
import type { SignedTx } from "../swapCoin.ts";
import type { SwapTask } from "../swapTask.ts";

/** A transaction that somebody names at the contract of a payment, and that may not be believed. */
export type ShownTx = SignedTx & { readonly payment: PaymentSlot };

/** Shown ones that wait for the next look. */
const MAX_SHOWN = 200;

/** Has the contracts of a swap guarded while money waits for what strangers could leave out: a payment, a claim, a refund. */
export class GuardedContracts {
  readonly #task: SwapTask;
  readonly #releases = new Map<PaymentSlot, () => void>();
  #shown: ShownTx[] = [];

  constructor(task: SwapTask) {
    this.#task = task;
  }

  update(): void {
    for (const payment of ["makerPayment", "takerPayment"] as const) {
      if (isOpen(this.#task.state, payment)) {
        if (!this.#releases.has(payment)) this.#releases.set(payment, this.#guard(payment));
        continue;
      }
      this.#releases.get(payment)?.();
      this.#releases.delete(payment);
    }
  }

  /** What came since it was asked last. */
  takeShown(): readonly ShownTx[] {
    const shown = this.#shown;
    this.#shown = [];
    return shown;
  }

  release(): void {
    for (const release of this.#releases.values()) release();
    this.#releases.clear();
  }

  #guard(payment: PaymentSlot): () => void {
    const task = this.#task;
    const contract = contractOf(task.state, payment);
    const coin = task.coin(chainOf(task.state.terms.role, payment));
    const onTx = (tx: SignedTx): void => {
      if (this.#shown.length < MAX_SHOWN) this.#shown.push({ ...tx, payment });
      task.wake("chain");
    };
    return coin.chain.guard?.(coin.contractScript(contract), { dueSec: contract.lock, onTx }) ?? (() => undefined);
  }
}

/** Whether a payment may be there, or is waited for, with something of ours at stake, and its end is not certain. */
function isOpen(s: SwapState, payment: PaymentSlot): boolean {
  if (!s.negotiated || s.finished !== null) return false;
  const isPaid = paymentMayExist(s) || (payment !== ownPayment(s.terms.role) && s.own.fee?.attempted === true);
  return isPaid && !s.facts[`${payment}Spend`]?.confirmed && !s.facts[`${payment}Refund`]?.confirmed;
}
