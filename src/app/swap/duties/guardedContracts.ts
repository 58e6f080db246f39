import { ownClaim, ownPayment, ownRefund, type PaymentSlot, type Slot, theirRefund } from "../../../core/swap/events.ts";
import { outcomeOf, paymentMayExist } from "../../../core/swap/swapState.ts";
import { fromHex } from "../../../core/util/bytes.ts";
import { chainOf, contractOf } from "../contracts.ts";
import type { SignedTx } from "../swapCoin.ts";
import type { SwapTask } from "../swapTask.ts";
import { isFormOf, ownSpends } from "./paymentForms.ts";
import { ownPayments } from "./paymentLeaves.ts";
import { whyRefundStays } from "./refundView.ts";

/** A transaction with the secret in it that somebody names at the contract of a payment: nothing else of it may be believed. */
export type ShownTx = SignedTx & { readonly payment: PaymentSlot };

/** Forms of the own payment taken from one server. */
const MAX_FORMS_TOLD = 2;
/**
 * So long past the later lock what liars may have made up the end of is guarded all the same, seconds: in that time all that are configured are
 * visited.
 */
const HIDDEN_GUARD_SEC = 24 * 3_600;

/** Has the contracts of a swap guarded while money waits for what strangers could leave out: a payment, a claim, a refund. */
export class GuardedContracts {
  readonly #task: SwapTask;
  readonly #releases = new Map<PaymentSlot, () => void>();
  #isCalm = false;
  /** The first of each contract: one is enough, and whoever has the secret can make more. */
  readonly #shown = new Map<PaymentSlot, ShownTx>();

  /** Forms of the own payment that somebody named, and how many each has. */
  readonly #forms: (SignedTx & { readonly slot: PaymentSlot })[] = [];
  readonly #tellers = new Map<string, number>();

  constructor(task: SwapTask) {
    this.#task = task;
  }

  update(): void {
    for (const payment of ["makerPayment", "takerPayment"] as const) {
      if (isOpen(this.#task, payment)) {
        if (!this.#releases.has(payment)) this.#releases.set(payment, this.#guard(payment));
        continue;
      }
      this.#releases.get(payment)?.();
      this.#releases.delete(payment);
    }
    const { finished } = this.#task.state;
    // A payment that is gone is claimed as soon as it comes back.
    if (finished !== null && finished !== "lost" && !this.#isCalm) this.#calm();
  }

  /** What became of both payments is only watched any more: it must not be asked about anew for each view that later swaps wait for. */
  #calm(): void {
    this.#isCalm = true;
    const { state } = this.#task;
    for (const payment of state.negotiated ? (["makerPayment", "takerPayment"] as const) : []) {
      const coin = this.#task.coin(chainOf(state.terms.role, payment));
      coin.chain.calm?.(coin.contractScript(contractOf(state, payment)));
    }
  }

  shown(): readonly ShownTx[] {
    return [...this.#shown.values()];
  }

  /** Forms of the own payment that are not kept yet. */
  newForms(): readonly (SignedTx & { readonly slot: PaymentSlot })[] {
    const { forms } = this.#task.state;
    return this.#forms.splice(0).filter(({ slot, txid }) => !forms[slot]?.some((form) => form.txid === txid));
  }

  release(): void {
    for (const release of this.#releases.values()) release();
    this.#releases.clear();
  }

  /**
   * The own payment under another id proves itself by the own signatures, whoever names it: those that are connected may show another form
   * than the one that is there. Of one with several inputs there are many such forms, and liars must not fill the list with theirs.
   */
  #noteForm(slot: PaymentSlot, tx: SignedTx, teller: string): void {
    const { state } = this.#task;
    const own = state.own[slot];
    const told = this.#tellers.get(teller) ?? 0;
    if (!own?.attempted || told >= MAX_FORMS_TOLD || state.forms[slot]?.some(({ txid }) => txid === tx.txid)) return;
    const coin = this.#task.coin(chainOf(state.terms.role, slot));
    if (!isFormOf(coin, tx.raw, own)) return;
    this.#tellers.set(teller, told + 1);
    this.#forms.push({ ...tx, slot });
    this.#task.wake("chain");
  }

  #guard(payment: PaymentSlot): () => void {
    const task = this.#task;
    const contract = contractOf(task.state, payment);
    const coin = task.coin(chainOf(task.state.terms.role, payment));
    const onTx = (tx: SignedTx, teller: string): void => {
      if (payment === ownPayment(task.state.terms.role)) this.#noteForm(payment, tx, teller);
      const { negotiated, secret } = task.state;
      if (!negotiated || secret !== null || this.#shown.has(payment)) return;
      // Anybody can name transactions without end: what shows nothing neither waits here nor wakes the swap.
      if (coin.findSecret(tx, fromHex(negotiated.secretHash)) === null) return;
      this.#shown.set(payment, { ...tx, payment });
      task.wake("chain");
    };
    const isOwn = payment === ownPayment(task.state.terms.role);
    const payments = isOwn ? { payments: () => ownPayments(task) } : {};
    // Connected servers get no refund then either (`publish`).
    const spends = () => (isOwn && whyRefundStays(task) !== null ? [] : ownSpends(task, payment));
    const guard = {
      // What is over must not be asked about before what goes on, once its time is.
      get dueSec() {
        const { makerLock } = task.times();
        return outcomeOf(task.state) !== null && task.nowSec() > makerLock ? makerLock + HIDDEN_GUARD_SEC : contract.lock;
      },
      onTx,
      spends,
      ...payments,
    };
    return coin.chain.guard?.(coin.contractScript(contract), guard) ?? (() => undefined);
  }
}

/** Whether a payment may be there, or is waited for, with something of ours at stake, and its end is not certain. */
function isOpen(task: SwapTask, payment: PaymentSlot): boolean {
  const s = task.state;
  // Beyond what counts as final a reorganisation may undo its end.
  if (!s.negotiated || (s.finished !== null && outcomeOf(s) !== null && !mayBeHidden(task, payment))) return false;
  const isPaid = paymentMayExist(s) || (payment !== ownPayment(s.terms.role) && s.own.fee?.attempted === true);
  return isPaid && (isEndDenied(task, payment) || (!s.facts[`${payment}Spend`]?.confirmed && !s.facts[`${payment}Refund`]?.confirmed));
}

/**
 * Whether the own payment is gone as the connected tell, and others may still have it, or what ended the swap is denied: where blocks cost nothing
 * liars make up a branch without the one, or with the other.
 */
function mayBeHidden(task: SwapTask, payment: PaymentSlot): boolean {
  const { isOursGone, terms } = task.state;
  return (isOursGone && payment === ownPayment(terms.role) && isGuardTime(task)) || isEndDenied(task, payment);
}

/**
 * Whether one server denies the block with what ended the swap at the contract of a payment, or may yet: no reason not to end it, but one to give others
 * the own claim or refund all the same.
 */
export function isEndDenied(task: SwapTask, payment: PaymentSlot): boolean {
  const { facts, terms } = task.state;
  if (!task.coin(chainOf(terms.role, payment)).chain.doubt) return false;
  const isOwn = payment === ownPayment(terms.role);
  const ends = isOwn ? ([ownRefund(terms.role), "cancel"] as const) : ([ownClaim(terms.role), theirRefund(terms.role)] as const);
  return ends.some((slot) => {
    const fact = facts[slot];
    return fact?.confirmed && fact.block && isGuardTime(task) && !task.undisputed.isSure(slot, fact.block);
  });
}

/**
 * Whether one server that denies its block is enough for a transaction not to count. The own refund, while the secret is known all the same: a claim of the
 * other side shows that, but for a maker that was taken up, and of the own payment there is one spend. And what cancels the own payment, for that may be where the block is denied, and is
 * refunded by nobody once it counts as cancelled.
 */
export function isBelied(task: SwapTask, slot: Slot): boolean {
  const { terms, secret } = task.state;
  return (slot === "cancel" || (slot === ownRefund(terms.role) && secret !== null)) && isGuardTime(task);
}

const isGuardTime = (task: SwapTask): boolean => task.nowSec() <= task.times().makerLock + HIDDEN_GUARD_SEC;
