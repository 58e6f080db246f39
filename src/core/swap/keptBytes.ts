import { ownClaim, ownPayment, type PaymentSlot, type Slot, theirPayment } from "./events.ts";
import type { SwapState, TxForm } from "./swapState.ts";

/** Forms of one payment that are kept: five may be announced (`MAX_ANNOUNCED`), and some of these be seen under another id. */
export const MAX_FORMS = 8;

const isPayment = (slot: Slot): slot is PaymentSlot => slot === "makerPayment" || slot === "takerPayment";

/**
 * Bytes of a slot's transaction that the log has already, hex; undefined: it has none. What is seen again is stored without them: strangers
 * who show a chain can move one transaction from block to block for as long as a swap is open.
 */
export function keptBytes({ facts, received, own, forms, shown }: SwapState, slot: Slot, txid: string): string | undefined {
  const tx = own[slot];
  const seen = (isPayment(slot) ? forms[slot] : shown[slot]) ?? [];
  const all = [facts[slot], received[slot], ...(tx ? [...(tx.replaced ?? []), tx] : []), ...seen];
  return all.find((known) => known?.txid === txid && known.raw !== "")?.raw;
}

/** Adds a transaction of a slot to those whose bytes are kept: a form of a payment, or what else was seen. Own versions are kept anyway. */
export function withForm(s: SwapState, { slot, txid, raw }: TxForm & { readonly slot: Slot }): SwapState {
  if (raw === "") return s;
  if (isPayment(slot)) return { ...s, forms: { ...s.forms, [slot]: added(s.forms[slot], [{ txid, raw }]) } };
  const tx = s.own[slot];
  const isOwn = tx && [tx, ...(tx.replaced ?? [])].some((version) => version.txid === txid);
  return isOwn ? s : { ...s, shown: { ...s.shown, [slot]: added(s.shown[slot], [{ txid, raw }]) } };
}

/** What the other side's payment is when a taker pays against it, or a maker shows its secret for it, comes first, whatever was shown before. */
export function withPaidAgainst(s: SwapState, slot: Slot): SwapState {
  const { role } = s.terms;
  const theirs = theirPayment(role);
  const fact = slot === (role === "maker" ? ownClaim(role) : ownPayment(role)) ? s.facts[theirs] : undefined;
  if (!fact || fact.raw === "") return s;
  return { ...s, forms: { ...s.forms, [theirs]: added([{ txid: fact.txid, raw: fact.raw }], s.forms[theirs]) } };
}

function added(first: readonly TxForm[] = [], more: readonly TxForm[] = []): readonly TxForm[] {
  const news = more.filter(({ txid }) => !first.some((form) => form.txid === txid));
  return [...first, ...news].slice(0, MAX_FORMS);
}
