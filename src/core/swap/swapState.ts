import {
  type Block,
  CHILD_SLOTS,
  type Failure,
  isChildSlot,
  isReplaceableSlot,
  type Negotiated,
  type Outcome,
  ownClaim,
  ownPayment,
  ownRefund,
  type PaymentSlot,
  parentOf,
  type Slot,
  type SwapEvent,
  type SwapTerms,
  theirClaim,
  theirPayment,
  theirRefund,
} from "./events.ts";
import { MAX_VERSIONS } from "./feeSchedule.ts";
import { keptBytes, MAX_FORMS, withForm, withPaidAgainst } from "./keptBytes.ts";

/** One version of an own transaction. `fee`: base units, decimal text; absent in old logs. */
export type TxVersion = { readonly txid: string; readonly raw: string; readonly fee?: string };
/** An own transaction in the outbox: its newest version. */
export type OwnTx = TxVersion & {
  readonly notAfter: number | null;
  /** This version or an earlier one may be known to others. */
  readonly attempted: boolean;
  /** Tip of its chain when the first version was signed; absent in old logs. */
  readonly height?: number;
  /** Earlier versions, oldest first, fewer than `MAX_VERSIONS_OF_ALL`; any of them may confirm. Absent when there is none. */
  readonly replaced?: readonly TxVersion[];
};
/** A payment as it was signed, announced or seen: changed on the way, or made anew, it has another id. */
export type TxForm = { readonly txid: string; readonly raw: string };
/** What the chain says of a slot now. */
export type TxFact = { readonly txid: string; readonly raw: string; readonly block: Block | null; readonly confirmed: boolean };

/** Fold of a swap's log. Everything a restart needs. */
export type SwapState = {
  readonly terms: SwapTerms;
  readonly startFailed: string | null;
  readonly negotiated: Negotiated | null;
  readonly own: { readonly [S in Slot]?: OwnTx };
  readonly received: { readonly [S in Slot]?: { readonly txid: string; readonly raw: string } };
  readonly facts: { readonly [S in Slot]?: TxFact };
  /** The first forms of each payment that counted, at most `MAX_FORMS`: strangers can show any of them in the place of the one that is there. */
  readonly forms: { readonly [S in PaymentSlot]?: readonly TxForm[] };
  /** What was seen first of each other slot and is no version of an own transaction, at most `MAX_FORMS`: its bytes stand in the log once. */
  readonly shown: { readonly [S in Slot]?: readonly TxForm[] };
  readonly secret: string | null;
  readonly refund: Failure | null;
  readonly abandoned: Failure | null;
  /** Its record may lack what this node did last. */
  readonly isCut: boolean;
  /** A claim of either payment was seen once, and with it the secret. */
  readonly isSecretSeen: boolean;
  /** Their payment is given up for gone, until the chain shows it again. */
  readonly isTheirsGone: boolean;
  /** What the own payment spends is gone, and with it the payment, until the chain shows it again. */
  readonly isOursGone: boolean;
  readonly finished: Outcome | null;
  /** Facts taken back after the swap had finished; shown beside the status, never as a rewritten list. */
  readonly withdrawnAfterFinish: readonly Slot[];
};

/** First event of a log → state. Throws on any other event: a log starts with `started` or `start_failed`. */
export function begin(event: SwapEvent): SwapState {
  if (event.type !== "started" && event.type !== "start_failed") throw new Error(`a swap log starts with started, not ${event.type}`);
  return {
    terms: event.terms,
    startFailed: event.type === "start_failed" ? event.reason : null,
    negotiated: null,
    own: {},
    received: {},
    facts: {},
    forms: {},
    shown: {},
    secret: null,
    refund: null,
    abandoned: null,
    isCut: false,
    isSecretSeen: false,
    isTheirsGone: false,
    isOursGone: false,
    finished: null,
    withdrawnAfterFinish: [],
  };
}

/** Pure. Returns the same object when the event adds nothing, so that repeating an event is harmless. */
export function step(s: SwapState, e: SwapEvent): SwapState {
  switch (e.type) {
    case "started":
    case "start_failed":
      return s;
    case "negotiated":
      return s.negotiated ? s : { ...s, negotiated: e.with };
    case "tx_received":
      return s.received[e.slot]?.txid === e.txid
        ? s
        : withForm({ ...s, received: { ...s.received, [e.slot]: { txid: e.txid, raw: e.raw } } }, e);
    case "tx_signed":
      // Its parent is in a block without it, and what it would spend may be in use.
      if (isChildSlot(e.slot) && s.facts[parentOf(s.terms.role, e.slot)]?.confirmed) return s;
      // One transaction per slot, until it is dropped: a second one would leave the first one's inputs taken for ever.
      return s.own[e.slot] ? s : withPaidAgainst(withForm({ ...s, own: { ...s.own, [e.slot]: signed(e) } }, e), e.slot);
    case "tx_replaced":
      return replaced(s, e);
    case "tx_attempted": {
      const tx = s.own[e.slot];
      return !tx || tx.attempted ? s : { ...s, own: { ...s.own, [e.slot]: { ...tx, attempted: true } } };
    }
    case "tx_dropped": {
      const tx = s.own[e.slot];
      if (!tx || tx.attempted) return s;
      const { [e.slot]: _dropped, ...own } = s.own;
      return { ...s, own };
    }
    case "tx_seen": {
      const known = s.facts[e.slot];
      if (known?.txid === e.txid && known.block?.hash === e.block?.hash) return s;
      // Without bytes it is what the log has the bytes of.
      const seen = { slot: e.slot, txid: e.txid, raw: e.raw === "" ? (keptBytes(s, e.slot, e.txid) ?? "") : e.raw };
      const facts = { ...s.facts, [e.slot]: { txid: seen.txid, raw: seen.raw, block: e.block, confirmed: false } };
      const isSecretSeen = s.isSecretSeen || e.slot === "takerPaymentSpend" || e.slot === "makerPaymentSpend";
      // Their payment is kept though a reorg may take the fact: whoever has the bytes can put it before the network again.
      if (e.slot !== theirPayment(s.terms.role)) {
        const isOursGone = s.isOursGone && e.slot !== ownPayment(s.terms.role);
        return withForm({ ...s, facts, isSecretSeen, isOursGone }, seen);
      }
      const received = s.received[e.slot] ? s.received : { ...s.received, [e.slot]: { txid: seen.txid, raw: seen.raw } };
      return withForm({ ...s, facts, received, isTheirsGone: false }, seen);
    }
    case "tx_confirmed": {
      const known = s.facts[e.slot];
      if (!known || known.txid !== e.txid || known.confirmed) return s;
      // Logs of before say so of own payments in no block, where the other side had asked for none: these are sent on.
      if (e.block === null && e.slot === ownPayment(s.terms.role)) return s;
      return withoutUnsentChild({ ...s, facts: { ...s.facts, [e.slot]: { ...known, block: e.block, confirmed: true } } }, e.slot);
    }
    case "tx_withdrawn": {
      const known = s.facts[e.slot];
      if (!known || known.txid !== e.txid) return s;
      const { [e.slot]: _withdrawn, ...facts } = s.facts;
      const isNews = s.finished !== null && !s.withdrawnAfterFinish.includes(e.slot);
      return { ...s, facts, withdrawnAfterFinish: isNews ? [...s.withdrawnAfterFinish, e.slot] : s.withdrawnAfterFinish };
    }
    case "secret_learned":
      return s.secret ? s : { ...s, secret: e.secret };
    case "refund_decided":
      return s.refund ? s : { ...s, refund: e.failure };
    case "abandoned":
      return s.abandoned ? s : { ...s, abandoned: e.failure };
    case "payment_gone":
      return s.isTheirsGone ? s : { ...s, isTheirsGone: true };
    case "own_payment_gone": {
      const slot = ownPayment(s.terms.role);
      if (s.isOursGone || !s.own[slot]?.attempted || s.facts[slot]?.block) return s;
      // A backend took it once: seen again, it is there again.
      const { [slot]: _gone, ...facts } = s.facts;
      return { ...s, facts, isOursGone: true };
    }
    case "record_cut":
      return s.isCut ? s : { ...s, isCut: true };
    case "finished":
      // A reorg beyond what counts as final may turn the end round: what the chain says last is true.
      return s.finished === e.outcome ? s : { ...s, finished: e.outcome };
  }
}

/** A child that never left never will once its parent is in a block deep enough: what it would spend is free. */
function withoutUnsentChild(s: SwapState, parent: Slot): SwapState {
  const child = CHILD_SLOTS.find((c) => parentOf(s.terms.role, c) === parent);
  if (child === undefined || s.own[child]?.attempted !== false) return s;
  const { [child]: _dropped, ...own } = s.own;
  return { ...s, own };
}

/** Versions of one claim or refund: for each form that is kept, and for what is seen beside. */
const MAX_VERSIONS_OF_ALL = (MAX_FORMS + 1) * MAX_VERSIONS;

function signed(e: Extract<SwapEvent, { type: "tx_signed" }>): OwnTx {
  const { txid, raw, notAfter, fee, height } = e;
  return { txid, raw, notAfter, attempted: false, ...(fee === undefined ? {} : { fee }), ...(height === undefined ? {} : { height }) };
}

function replaced(s: SwapState, e: Extract<SwapEvent, { type: "tx_replaced" }>): SwapState {
  const tx = s.own[e.slot];
  if (!tx || !isReplaceableSlot(e.slot)) return s;
  const older = versionsOf(tx);
  if (older.length >= MAX_VERSIONS_OF_ALL || older.some((v) => v.txid === e.txid)) return s;
  return { ...s, own: { ...s.own, [e.slot]: { ...tx, txid: e.txid, raw: e.raw, fee: e.fee, replaced: older } } };
}

const versions = new WeakMap<OwnTx, readonly TxVersion[]>();

/** Every version of an own transaction, the newest last: the same objects each time, for every look at a chain asks. */
export function versionsOf(tx: OwnTx): readonly TxVersion[] {
  let all = versions.get(tx);
  if (!all) {
    const { txid, raw, fee, replaced = [] } = tx;
    all = [...replaced, { txid, raw, ...(fee === undefined ? {} : { fee }) }];
    versions.set(tx, all);
  }
  return all;
}

/** Rebuilds a swap from its log. Throws on an empty log. */
export function fold(events: readonly SwapEvent[]): SwapState {
  const [first, ...rest] = events;
  if (!first) throw new Error("empty swap log");
  return rest.reduce(step, begin(first));
}

/** True once our payment may exist on the chain, now or later. */
export const paymentMayExist = (s: SwapState): boolean =>
  s.own[ownPayment(s.terms.role)]?.attempted === true || s.facts[ownPayment(s.terms.role)] !== undefined;

/**
 * The outcome, once confirmed chain facts (or the certainty that nothing was sent) decide it; null while open.
 * The only source of `finished` (design D6).
 */
export function outcomeOf(s: SwapState): Outcome | null {
  const { role } = s.terms;
  if (s.startFailed !== null) return "failed";
  if (s.facts[ownClaim(role)]?.confirmed) return "success";
  if (s.facts[ownRefund(role)]?.confirmed) return "refunded";
  if (s.facts.cancel?.confirmed) return "cancelled";
  if (s.facts[theirClaim(role)]?.confirmed && (s.facts[theirRefund(role)]?.confirmed || s.isTheirsGone)) return "lost";
  if (s.isOursGone && !wasUsed(s)) return "failed";
  if (s.abandoned && !paymentMayExist(s)) return "failed";
  return null;
}

/** It came to nothing, and nothing of it is left but a fee, which was perhaps paid. */
export const isOverForGood = (s: SwapState): boolean => s.finished === "failed" && !paymentMayExist(s);

/** Something a state obliges the node to be doing. The runner keeps exactly these running. */
export type Duty =
  | { readonly do: "negotiate" }
  /** Taker: answer the maker's offer whenever it comes again: it has not heard us, whatever consent came. */
  | { readonly do: "answer" }
  /** Watch both contracts and the own transactions; turn what the chain says into facts. */
  | { readonly do: "observe" }
  | { readonly do: "await_fee" }
  | { readonly do: "pay_fee" }
  | { readonly do: "await_payment" }
  | { readonly do: "pay" }
  /** Look for an own payment the log may lack, until it is certain that there is none: it is never made anew. */
  | { readonly do: "seek" }
  | { readonly do: "claim" }
  /** Refund the own payment once its lock has passed, unless it was spent meanwhile. */
  | { readonly do: "refund" }
  /** Repeat our last message until the other side has visibly moved on. */
  | { readonly do: "tell"; readonly message: "fee" | "payment" }
  /** Keep an own stored transaction before the network until a fact makes it pointless. */
  | { readonly do: "publish"; readonly slot: Slot }
  /** Have an own transaction that waits too long paid for by a child, where its coin's miners count children. */
  | { readonly do: "bump"; readonly slot: Slot };

/** True while an own stored transaction still has to be kept before the network. */
function publishing(s: SwapState, slot: Slot): boolean {
  return s.own[slot] !== undefined && !s.facts[slot]?.confirmed;
}

/**
 * Whether nobody goes on because of the taker's fee any more: nothing was locked, the own payment is being taken back, or the maker has
 * shown its secret. Before that a fee that is not paid breaks a promise the other side may have locked money for.
 */
export const isFeeMoot = (s: SwapState): boolean =>
  s.finished !== null || s.own.cancel !== undefined || s.own[ownRefund(s.terms.role)] !== undefined || s.secret !== null;

/** The taker's fee is out, or none is due. */
const feeIsDone = (s: SwapState): boolean => s.terms.dexFeePubkey === null || s.own.fee?.attempted === true;

/**
 * What must be running in this state. Money locked and not final always has a duty that can end it: `refund` for the
 * own payment, `claim` or `publish` for the other one. A finished swap is still observed, and its last transaction
 * published again if a reorg takes it back, until the runner sees it settled.
 */
export function duties(s: SwapState): readonly Duty[] {
  if (s.startFailed !== null) return [];
  if (isOverForGood(s)) return feeDuties(s);
  if (!s.negotiated) return s.abandoned ? [] : [{ do: "negotiate" }];
  const isOpen = !s.abandoned && !s.finished;
  const straight = isOpen && !s.refund;
  // Nothing is there to take back where the payment never left: it may have been dropped since, and only the steps towards one give the swap up.
  const hasSteps = isOpen && (!s.refund || !paymentMayExist(s));
  const own = [...(hasSteps ? straightDuties(s) : []), ...moneyDuties(s, straight)];
  return [{ do: "observe" }, ...own, ...childDuties(s, own), ...(hasSteps ? [] : feeDuties(s))];
}

/**
 * A fee that was sent may be with others, and own transactions of other swaps built on it: it is seen into a block. Once the swap has
 * failed nothing is observed any more, and facts are of before; a child that never left stays home then.
 */
function feeDuties(s: SwapState): readonly Duty[] {
  if (!s.own.fee?.attempted) return [];
  const isWanted = (slot: Slot): boolean => (isOverForGood(s) ? s.own[slot]?.attempted === true : publishing(s, slot));
  return (["fee", "feeChild"] as const).filter(isWanted).map((slot) => ({ do: "publish", slot }));
}

/** The steps towards success. */
function straightDuties(s: SwapState): readonly Duty[] {
  if (isTakenUp(s)) return takenUpDuties(s);
  const out: Duty[] = [];
  if (s.terms.role === "maker") {
    const paid = s.own.makerPayment !== undefined;
    if (!s.received.fee) out.push({ do: "await_fee" });
    else if (!paid) out.push({ do: "pay" });
    if (paid && !s.facts.takerPayment?.confirmed && !s.own.takerPaymentSpend) out.push({ do: "await_payment" });
    if (s.own.makerPayment?.attempted && !s.facts.takerPayment && !s.own.takerPaymentSpend) out.push({ do: "tell", message: "payment" });
    return out;
  }
  if (!s.own.fee && s.terms.dexFeePubkey !== null) out.push({ do: "pay_fee" });
  if (publishing(s, "fee")) out.push({ do: "publish", slot: "fee" });
  if (!s.received.makerPayment) out.push({ do: "answer" });
  if (feeIsDone(s) && !s.own.takerPayment) {
    if (!s.facts.makerPayment) out.push({ do: "tell", message: "fee" });
    out.push(s.facts.makerPayment?.confirmed ? { do: "pay" } : { do: "await_payment" });
  }
  if (s.own.takerPayment?.attempted && !s.facts.takerPaymentSpend) out.push({ do: "tell", message: "payment" });
  return out;
}

/** Begun by KDF, or its record was cut: a payment of ours may be out that no event tells of. */
export const isTakenUp = (s: SwapState): boolean => s.terms.takenOver !== undefined || s.isCut;

/** The steps of such a swap: whatever is out is seen to its end, and nothing of ours is begun. */
function takenUpDuties(s: SwapState): readonly Duty[] {
  const { role } = s.terms;
  const out: Duty[] = publishing(s, "fee") && s.own.fee?.attempted === true ? [{ do: "publish", slot: "fee" }] : [];
  if (s.own[ownPayment(role)]?.attempted !== true) return [...out, { do: "seek" }];
  const isAnswered = role === "maker" ? s.facts.takerPayment !== undefined : s.facts.takerPaymentSpend !== undefined;
  if (role === "maker" && !s.facts.takerPayment?.confirmed && !s.own.takerPaymentSpend) out.push({ do: "await_payment" });
  if (!isAnswered && !s.own[ownClaim(role)]) out.push({ do: "tell", message: "payment" });
  return out;
}

/**
 * Maker of a swap that was taken up: the secret was seen on a chain, in the claim of either payment. A claim of KDF's, or an own one that
 * the record lacks, may have left. Never true of any other swap: its claim is stored before it leaves.
 */
export const secretIsPublic = (s: SwapState): boolean => s.terms.role === "maker" && isTakenUp(s) && s.secret !== null;

/**
 * Whether the own payment has been used. The own claim may be on the chain though an old backup does not know of it. Of a payment that has gone back, and is
 * deep, it brings nothing.
 */
export function isPaidFor({ terms: { role }, own, facts }: SwapState): boolean {
  if (facts[theirClaim(role)] !== undefined) return true;
  const hasClaimed = own[ownClaim(role)]?.attempted === true || facts[ownClaim(role)] !== undefined;
  return hasClaimed && !facts[theirRefund(role)]?.confirmed;
}

/** Maker: whether its claim, should it never have left in time, would show a secret that nobody has seen. */
export const mayShowSecret = (s: SwapState): boolean => s.terms.role === "maker" && !s.isSecretSeen && !secretIsPublic(s);

/**
 * Whether the own payment has been used, as far as anybody was seen to use it: a maker's claim that nobody has brings nothing, nor does any while the payment
 * that it is for is gone with it.
 */
export function wasUsed(s: SwapState): boolean {
  const { role } = s.terms;
  const isThere =
    s.facts[theirClaim(role)] !== undefined || s.facts[theirPayment(role)] !== undefined || Boolean(s.facts[ownClaim(role)]?.block);
  return isThere && isPaidFor(s) && !mayShowSecret(s);
}

/** What money already locked obliges us to, on any road. */
function moneyDuties(s: SwapState, straight: boolean): readonly Duty[] {
  const { role } = s.terms;
  const payment = ownPayment(role);
  const claimedByThem = s.facts[theirClaim(role)]?.confirmed === true;
  const out: Duty[] = [];
  // A payment that never left does not leave any more once the swap is given up or its record was cut, for it may have been dropped since;
  // one that is being cancelled is not helped along.
  const mayLeave = s.own[payment]?.attempted === true || !(s.abandoned || s.isCut);
  const isPublished = publishing(s, payment) && mayLeave && !s.own.cancel && !s.facts.cancel?.confirmed;
  if (isPublished) out.push({ do: "publish", slot: payment });
  const isCancelled = publishing(s, "cancel") && !s.facts[payment]?.confirmed;
  if (isCancelled) out.push({ do: "publish", slot: "cancel" });
  if (wantsClaim(s, straight)) out.push({ do: "claim" });
  // A claim of the maker that never left would reveal the secret: once the refund is decided it stays home.
  const claimMayLeave = role === "taker" || straight || s.own[ownClaim(role)]?.attempted === true;
  // Whoever has its own payment back takes no other: a reorganisation may have undone the claim, which somebody brings back.
  const isBack = s.facts[theirRefund(role)]?.confirmed === true || s.facts[ownRefund(role)]?.confirmed === true;
  if (publishing(s, ownClaim(role)) && (claimMayLeave || secretIsPublic(s)) && !isBack) out.push({ do: "publish", slot: ownClaim(role) });
  const settledOtherwise = claimedByThem || s.facts[ownClaim(role)]?.confirmed || s.facts.cancel?.confirmed;
  if (paymentMayExist(s) && !settledOtherwise) {
    out.push(s.own[ownRefund(role)] ? { do: "publish", slot: ownRefund(role) } : { do: "refund" });
  }
  return out.filter((d) => !(d.do === "publish" && s.facts[d.slot]?.confirmed));
}

/** What is published and may be known gets a child when it needs one; a child is published for as long as its parent is. */
function childDuties(s: SwapState, published: readonly Duty[]): readonly Duty[] {
  const out: Duty[] = [];
  for (const child of CHILD_SLOTS) {
    const slot = parentOf(s.terms.role, child);
    const isWanted = s.own[slot]?.attempted === true && published.some((d) => d.do === "publish" && d.slot === slot);
    if (isWanted && !s.own[child]) out.push({ do: "bump", slot });
    if (isWanted && publishing(s, child)) out.push({ do: "publish", slot: child });
  }
  return out;
}

/**
 * The maker claims on the straight road only: the claim reveals the secret, so every safety test must still hold.
 * The taker claims whenever it knows the secret, on any road: the secret is public and the race is on.
 */
function wantsClaim(s: SwapState, straight: boolean): boolean {
  const { role } = s.terms;
  if (s.own[ownClaim(role)] || s.facts[ownRefund(role)]?.confirmed) return false;
  // A claim that is out, of KDF's or of what the record lacks, and that nobody mines is made anew beside it.
  if (secretIsPublic(s)) return s.facts.takerPayment !== undefined && !s.facts.takerPaymentSpend?.block;
  if (role === "maker") return straight && s.own.makerPayment?.attempted === true && s.facts.takerPayment?.confirmed === true;
  return s.secret !== null && (s.facts[theirPayment(role)] !== undefined || s.received.makerPayment !== undefined);
}

/** Stable name of a duty, for the runner's table. */
export function dutyKey(d: Duty): string {
  if (d.do === "publish" || d.do === "bump") return `${d.do}:${d.slot}`;
  return d.do === "tell" ? `tell:${d.message}` : d.do;
}
