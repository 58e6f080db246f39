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

/**
 * Whether nobody goes on because of the taker's fee any more: nothing was locked, the own payment is being taken back, or the maker has
 * shown its secret. Before that a fee that is not paid breaks a promise the other side may have locked money for.
 */
export const isFeeMoot = (s: SwapState): boolean =>
  s.finished !== null || s.own.cancel !== undefined || s.own[ownRefund(s.terms.role)] !== undefined || s.secret !== null;

/** Begun by KDF, or its record was cut: a payment of ours may be out that no event tells of. */
export const isTakenUp = (s: SwapState): boolean => s.terms.takenOver !== undefined || s.isCut;

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
