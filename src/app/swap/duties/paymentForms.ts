import {
  isChildSlot,
  ownClaim,
  ownPayment,
  ownRefund,
  type PaymentSlot,
  parentOf,
  type Slot,
  theirPayment,
} from "../../../core/swap/events.ts";
import { type TxForm, type TxVersion, versionsOf } from "../../../core/swap/swapState.ts";
import type { OwnSpend } from "../../../ports/chain.ts";
import { bytesOf } from "../bytesOf.ts";
import { chainOf } from "../contracts.ts";
import type { SwapCoin } from "../swapCoin.ts";
import type { SwapTask } from "../swapTask.ts";
import { isClaimInVain } from "./lateClaim.ts";

/** The payment that a claim or refund spends; null for other slots. */
export function spentPayment(task: SwapTask, slot: Slot): PaymentSlot | null {
  const { role } = task.state.terms;
  if (slot === ownClaim(role)) return theirPayment(role);
  return slot === ownRefund(role) ? ownPayment(role) : null;
}

/** The payment that a claim or refund spends, or the one that a child pays for. */
function paymentBehind(task: SwapTask, slot: Slot): PaymentSlot | null {
  return spentPayment(task, isChildSlot(slot) ? parentOf(task.state.terms.role, slot) : slot);
}

/** Those of `versions` that hang on one of `bases`, directly or through each other; the order is that in which they were made. */
export function builtOnThese(coin: SwapCoin, versions: readonly TxVersion[], bases: readonly TxVersion[]): readonly TxVersion[] {
  const ids = new Set(bases.map(({ txid }) => txid));
  return versions.filter((version) => coin.parentsOf(bytesOf(version)).some((id) => ids.has(id)) && ids.add(version.txid));
}

/**
 * By id, the forms of a payment that a claim or refund, and each child of it, is made and sent for, what is seen now first. Strangers who show a chain can show
 * another form than the one that is there, also in a block where blocks cost nothing, so of them every one that counted is spent. Null: the
 * one that counts now, whichever that is; what is no claim or refund has no other.
 */
export function formsToSpend(task: SwapTask, slot: Slot): readonly (string | null)[] {
  const payment = paymentBehind(task, slot);
  if (payment === null || !task.coin(chainOf(task.state.terms.role, slot)).chain.guard) return [null];
  const forms = knownForms(task, payment).map(({ txid }) => txid);
  return forms.length === 0 ? [null] : forms;
}

/**
 * The form of a payment that is likeliest to be there, whatever is seen: the one this node signed, paid against or showed its secret for. Undefined
 * for what is no claim or refund, and where none is kept.
 */
export function likeliestForm(task: SwapTask, slot: Slot): string | undefined {
  const payment = paymentBehind(task, slot);
  return payment === null ? undefined : task.state.forms[payment]?.[0]?.txid;
}

/**
 * Whether a transaction is the own payment, under another id perhaps: it spends the same outputs, and where strangers show it has the own
 * signature in each input.
 */
export function isFormOf(coin: SwapCoin, raw: Uint8Array, own: TxVersion): boolean {
  return coin.sameInputs(raw, bytesOf(own)) && isSignedHere(coin, raw);
}

/** Whether the own signature stands in a transaction, where strangers show it. */
export const isSignedHere = (coin: SwapCoin, raw: Uint8Array): boolean => !coin.chain.guard || coin.isSigned?.(raw) !== false;

/** What is seen of a payment now, and every form of it that is kept. */
function knownForms({ state: { facts, forms } }: SwapTask, payment: PaymentSlot): readonly TxForm[] {
  const [fact, kept] = [facts[payment], forms[payment] ?? []];
  return fact && fact.raw !== "" ? [fact, ...kept.filter(({ txid }) => txid !== fact.txid)] : kept;
}

/** Bytes of one form of a payment, hex; of the one that counts now (null) as the chain has it, or as it was signed or received. */
export function rawOfForm(task: SwapTask, payment: PaymentSlot, form: string | null): string | undefined {
  const { facts, own, received } = task.state;
  if (form === null) return facts[payment]?.raw ?? own[payment]?.raw ?? received[payment]?.raw;
  return knownForms(task, payment).find(({ txid }) => txid === form)?.raw;
}

/** The versions of an own transaction, of a claim or refund those that spend one form (null: any), and of a child those that hang on them, the newest last. */
export function versionsOfForm(task: SwapTask, slot: Slot, form: string | null): readonly TxVersion[] {
  const tx = task.state.own[slot];
  const versions = tx ? versionsOf(tx) : [];
  if (form === null) return versions;
  const coin = task.coin(chainOf(task.state.terms.role, slot));
  if (!isChildSlot(slot)) return versions.filter((version) => coin.spends(bytesOf(version), form));
  return builtOnThese(coin, versions, versionsOfForm(task, parentOf(task.state.terms.role, slot), form));
}

/** The versions that the bound of one form counts: beside the forms that are kept, all others together have as many. */
export function versionsBeside(task: SwapTask, slot: Slot, form: string | null): readonly TxVersion[] {
  const payment = spentPayment(task, slot);
  const kept = (payment === null ? undefined : task.state.forms[payment]) ?? [];
  if (form === null || kept.some(({ txid }) => txid === form)) return versionsOfForm(task, slot, form);
  const ofKept = new Set(kept.flatMap(({ txid }) => versionsOfForm(task, slot, txid)).map(({ txid }) => txid));
  return versionsOfForm(task, slot, null).filter(({ txid }) => !ofKept.has(txid));
}

/** The own claims or refunds of a payment that have left, by the forms of that, of each form the newest first. */
export function ownSpends(task: SwapTask, payment: PaymentSlot): readonly (readonly OwnSpend[])[] {
  const { role } = task.state.terms;
  const slot = payment === ownPayment(role) ? ownRefund(role) : ownClaim(role);
  if (!task.state.own[slot]?.attempted) return [];
  if (slot === "takerPaymentSpend" && isClaimInVain(task)) return [];
  const children = task.state.own[slot === ownRefund(role) ? "refundChild" : "claimChild"];
  const coin = task.coin(chainOf(role, slot));
  const toGive = ({ txid, raw }: TxVersion): OwnSpend => ({ txid, hex: raw });
  return formsToSpend(task, slot).map((form) =>
    versionsOfForm(task, slot, form)
      .map((version) => {
        const paying = children?.attempted ? builtOnThese(coin, versionsOf(children), [version]) : [];
        return paying.length === 0 ? toGive(version) : { ...toGive(version), children: paying.map(toGive) };
      })
      .toReversed(),
  );
}
