import { duties } from "../../core/swap/duties.ts";
import { ownClaim, ownPayment, ownRefund, type Slot } from "../../core/swap/events.ts";
import {
  isFeeMoot,
  isPaidFor,
  isTakenUp,
  mayShowSecret,
  outcomeOf,
  paymentMayExist,
  type SwapState,
  secretIsPublic,
  type TxVersion,
  versionsOf,
  wasUsed,
} from "../../core/swap/swapState.ts";
import { deadlinesOf } from "../../core/swap/timelocks.ts";
import { fromHex } from "../../core/util/bytes.ts";
import { chainOf } from "./contracts.ts";

/**
 * A claim, refund or cancellation, and all its versions. `showsSecret`: nobody was seen to have it, and there is a secret in it; `until`: unix seconds after
 * which such a one stays home, for the own payment goes back instead (`lateClaim.ts`); null: for ever. `notAfter`: its own limit, until which nothing is lost
 * by its staying home; null: it has none. `lock`: unix seconds after which the taker's payment may have gone back. `claim`: of a refund, the own claim that may
 * be out, and whether a block has it by the log; null: there is none.
 */
export type Spend = {
  readonly slot: Slot;
  readonly raws: readonly Uint8Array[];
  readonly txids: readonly string[];
  readonly showsSecret: boolean;
  readonly until: number | null;
  readonly notAfter: number | null;
  readonly lock: number;
  readonly claim: { readonly txids: readonly string[]; readonly wasMined: boolean } | null;
};
/**
 * `spend`: of one that is made dearer, or anew, while it is sent; null: it is sent as it is, or not at all. `unseen`: id of a payment that nobody was seen
 * to use, which is sent only where nodes have it; null of all else.
 */
type Entrusted = {
  readonly raw: Uint8Array;
  readonly until: number | null;
  readonly spend: Spend | null;
  readonly unseen: string | null;
};

/** Versions of one transaction. `ticker`: of the coin it was signed for. */
export type Unsent = { readonly slot: Slot; readonly ticker: string; readonly raws: readonly Uint8Array[] };

/** What a stored swap needs of its own coin. */
export type Needs = {
  readonly ticker: string;
  /** Own transactions whose inputs nothing else may spend. */
  readonly raws: readonly Uint8Array[];
  /**
   * Those of them whose change counts only once the chain lists it: all when the swap is over, for nobody sends them until it runs, and a
   * payment that is being cancelled.
   */
  readonly changeless: readonly Uint8Array[];
  /** Children that pay for them; what they pay back counts once the chain lists it. */
  readonly children: readonly TxVersion[];
  /** Base units still to be paid, one transaction each. */
  readonly amounts: readonly bigint[];
  /** Unix seconds after which they are not paid any more. */
  readonly until: number;
  /** The other coin, and what account chains ask beside: there, whoever claims or takes back needs a nonce and gas. */
  readonly otherTicker: string;
  /** Children of the claim, which spend what it pays. */
  readonly claimChildren: readonly TxVersion[];
  readonly refunds: readonly Uint8Array[];
  readonly claims: readonly Uint8Array[];
  /** What is dropped in the log. Whichever active account coin had that stored, the coin it was signed for may still keep its nonce. */
  readonly dropped: Unsent | null;
  /** What is signed and never left, on an account chain: it is signed anew when the swap runs. */
  readonly unsent: Unsent | null;
  /** What its account sees to meanwhile, and unix seconds until which it sends it (`SwapCoin.entrust`). */
  readonly entrusted: readonly Entrusted[];
  readonly mayRefund: boolean;
  readonly mayClaim: boolean;
  /** Unix seconds until which gas is kept for them while nobody takes the swap up. */
  readonly spendUntil: number;
};

export function needsOf(s: SwapState): Needs {
  const { role, makerCoin, takerCoin } = s.terms;
  const isOver = outcomeOf(s) !== null;
  const txs = (["fee", ownPayment(role)] as const).flatMap((slot) => {
    const tx = s.own[slot];
    const isMoot = isOver || (slot === ownPayment(role) && (s.own.cancel !== undefined || s.facts.cancel !== undefined));
    return tx && (tx.attempted || !isOver) ? [{ raw: fromHex(tx.raw), isMoot }] : [];
  });
  const isPaid = paymentMayExist(s) || s.own[ownPayment(role)] !== undefined;
  const times = deadlinesOf(s);
  const [claim, refund] = [ownClaim(role), ownRefund(role)];
  return {
    ticker: role === "maker" ? makerCoin : takerCoin,
    raws: txs.map(({ raw }) => raw),
    changeless: txs.flatMap(({ raw, isMoot }) => (isMoot ? [raw] : [])),
    children: (["feeChild", "paymentChild", "refundChild"] as const).flatMap((slot) => versionsOfSlot(s, slot)),
    amounts: isOver || s.refund || s.abandoned || isTakenUp(s) || isPaid ? [] : openAmounts(s),
    until: role === "maker" ? times.firstSendBy : times.makerPaymentConfirmedBy,
    otherTicker: role === "maker" ? takerCoin : makerCoin,
    claimChildren: versionsOfSlot(s, "claimChild"),
    refunds: ([refund, "cancel"] as const).flatMap((slot) => versionsOfSlot(s, slot).map((v) => fromHex(v.raw))),
    claims: versionsOfSlot(s, claim).map((v) => fromHex(v.raw)),
    dropped: null,
    unsent: unsentOf(s),
    entrusted: entrustedOf(s),
    // Also what has left: it may have to be made dearer.
    mayRefund: !isOver && isPaid && s.own[refund]?.attempted !== false,
    mayClaim: !isOver && !s.abandoned && s.own[claim]?.attempted !== false,
    spendUntil: times.makerLock + s.terms.lockDurationSec,
  };
}

/** A fee or payment, or a claim that has not shown its secret, that is signed and never left, on a chain where it has a nonce. */
export function unsentOf(s: SwapState): Unsent | null {
  const { role, makerCoin, takerCoin, makerContracts, takerContracts } = s.terms;
  const isHeldBack = role === "maker" && !secretIsPublic(s);
  // Of a swap that is over nobody holds the nonces of these.
  const paying = outcomeOf(s) === null ? (["fee", ownPayment(role)] as const) : [];
  const slots = [...paying, ...(isHeldBack ? [ownClaim(role)] : [])];
  const slot = slots.find((own) => s.own[own]?.attempted === false);
  if (slot === undefined) return null;
  const isMakers = chainOf(role, slot) === "maker";
  if ((isMakers ? makerContracts : takerContracts) === undefined) return null;
  return { slot, ticker: isMakers ? makerCoin : takerCoin, raws: versionsOfSlot(s, slot).map((v) => fromHex(v.raw)) };
}

/**
 * What a swap goes on sending is sent while it waits, where it left before, and made dearer where the swap would; a payment only as long as it may leave. What it sends no more,
 * as its log proves, and a claim or refund that never left and has no time limit, is given up: it may come back when the swap runs.
 * What confirmed pays this side, and is sent again where a reorganisation drops it.
 */
function entrustedOf(s: SwapState): Needs["entrusted"] {
  const { role } = s.terms;
  const payment = ownPayment(role);
  const { makerPaymentConfirmedBy, revealBy, makerLock, takerLock: lock } = deadlinesOf(s);
  const published = duties(s).flatMap((duty) => (duty.do === "publish" ? [duty.slot] : []));
  return (["fee", payment, ownClaim(role), ownRefund(role), "cancel"] as const).flatMap((slot): readonly Entrusted[] => {
    const tx = s.own[slot];
    if (!tx) return [];
    const isSpend = slot !== "fee" && slot !== payment;
    const versions = versionsOfSlot(s, slot);
    // Nobody has seen it, perhaps, and nobody sees here what became of the other payment.
    const showsSecret = slot === ownClaim(role) && mayShowSecret(s);
    const [raws, txids] = [versions.map((v) => fromHex(v.raw)), versions.map((v) => v.txid)];
    const until = paymentMayExist(s) ? makerLock : null;
    const claim = slot === ownRefund(role) ? claimBeside(s) : null;
    const spend = isSpend ? { slot, raws, txids, showsSecret, until, notAfter: tx.notAfter, lock, claim } : null;
    const fact = s.facts[slot];
    // A block has used its nonce: nothing is sent or made anew unless a reorganisation undoes that.
    if (fact?.confirmed) {
      const confirmed = versionsOf(tx).filter((v) => v.txid === fact.txid && v.txid !== tx.txid);
      const before = confirmed.map((v) => ({ raw: fromHex(v.raw), until: null, spend: null, unseen: null }));
      return isSpend ? [...before, { raw: fromHex(tx.raw), until: null, spend, unseen: null }] : [];
    }
    const isMoot = slot === "fee" && isFeeMoot(s);
    const isWanted = published.includes(slot) && !isMoot;
    if (!tx.attempted && (!isSpend || (isWanted && tx.notAfter !== null))) return [];
    if (!isWanted || !tx.attempted) return versionsOf(tx).map((v) => ({ raw: fromHex(v.raw), until: 0, spend: null, unseen: null }));
    const notAfter = tx.notAfter ?? (role === "maker" ? makerPaymentConfirmedBy : revealBy);
    if (slot !== payment || wasUsed(s)) return [{ raw: fromHex(tx.raw), until: null, spend, unseen: null }];
    // What was proven of the other side when its mark was stored may have gone since, and a node or block that had it may have dropped it.
    return [{ raw: fromHex(tx.raw), until: isPaidFor(s) ? makerLock : notAfter, spend, unseen: tx.txid }];
  });
}

/** Whoever was paid takes nothing back (`refundStays`). */
function claimBeside(s: SwapState): Spend["claim"] {
  const slot = ownClaim(s.terms.role);
  const [tx, fact] = [s.own[slot], s.facts[slot]];
  if (!tx?.attempted && fact === undefined) return null;
  return { txids: [...(tx ? versionsOf(tx) : []), ...(fact ? [fact] : [])].map(({ txid }) => txid), wasMined: fact?.block != null };
}

const versionsOfSlot = (s: SwapState, slot: Slot): readonly TxVersion[] => {
  const tx = s.own[slot];
  return tx ? versionsOf(tx) : [];
};

function openAmounts(s: SwapState): readonly bigint[] {
  if (s.terms.role === "maker") return [BigInt(s.terms.makerUnits)];
  const fee = BigInt(s.terms.dexFeeUnits) + BigInt(s.terms.dexBurnUnits);
  return s.own.fee || fee === 0n ? [BigInt(s.terms.takerUnits)] : [fee, BigInt(s.terms.takerUnits)];
}
