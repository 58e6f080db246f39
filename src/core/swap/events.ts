import type { SwapSafety } from "./safety.ts";

/** Transactions a swap is made of. Names say whose money moves, not who sends it. */
export type Slot =
  | "fee"
  | "makerPayment"
  | "takerPayment"
  /** the maker takes the taker payment, revealing the secret */
  | "takerPaymentSpend"
  /** the taker takes the maker payment with the secret */
  | "makerPaymentSpend"
  | "makerPaymentRefund"
  | "takerPaymentRefund"
  /** a conflicting spend of the inputs of an own payment that missed its time */
  | "cancel"
  /** spends of an own transaction's change (or of a claim's output) that pay for their parent as well */
  | "feeChild"
  | "paymentChild"
  | "claimChild"
  | "refundChild";

export type Role = "maker" | "taker";
export type Block = { readonly height: number; readonly hash: string };

/** Exact amount as `numerator/denominator`, in lowest terms. */
export type RationalText = string;

/** One fee figure of the status: whole coins. */
export type FeeFigure = { readonly coin: string; readonly amount: RationalText; readonly paidFromTradingVol: boolean };

/** What a maker's match holds of a balance that pays fees, whole coins; with the amount where that coin is the one given. */
export type HeldFee = { readonly coin: string; readonly amount: RationalText };

/** An event as KDF's files and replies have it (reference rpc.md 7.1). */
export type KdfEvent = { readonly type: string; readonly data?: unknown };
/** `timestamp`: unix milliseconds. */
export type TimedKdfEvent = { readonly timestamp: number; readonly event: KdfEvent };

/**
 * What a swap brings along that KDF began and this node took over (docs/adr/0023). Such a swap never starts a payment here: KDF
 * pays before it writes, so one that no event tells of may be out all the same.
 */
export type TakenOver = {
  /** Maker: the secret, 64 hex, drawn by KDF at random, so that no seed gives it back; null where its file does not have it. */
  readonly secret: string | null;
  /** KDF's own events, without what no status shows. */
  readonly events: readonly TimedKdfEvent[];
};

/** Addresses of the swap contract an own coin would use, 40 hex each: the first, and the one it also accepts (swap-protocol.md 5.3). */
export type OwnContracts = { readonly own: string; readonly fallback: string | null };

/** What both sides agreed on at the match, plus what this side fixed at its start. Hex lower-case; units = base units. */
export type SwapTerms = {
  readonly role: Role;
  readonly uuid: string;
  readonly myOrderUuid: string;
  readonly makerCoin: string;
  readonly takerCoin: string;
  readonly makerAmount: RationalText;
  readonly takerAmount: RationalText;
  /** Amounts on chain: the exact amount cut to base units. Decimal text of a bigint. */
  readonly makerUnits: string;
  readonly takerUnits: string;
  readonly makerConfs: number;
  readonly makerNota: boolean;
  readonly takerConfs: number;
  readonly takerNota: boolean;
  readonly lockDurationSec: number;
  /** unix seconds */
  readonly startedAt: number;
  /** 33 bytes */
  readonly counterparty: string;
  readonly myPersistentPub: string;
  readonly myMakerCoinPub: string;
  readonly myTakerCoinPub: string;
  /** Maker only: salt of the derived secret (design D5) and the hash it commits to (20 bytes). The secret itself is stored only of a swap that KDF began. */
  readonly secretSalt: number | null;
  readonly secretHash: string | null;
  readonly makerStartHeight: number;
  readonly takerStartHeight: number;
  /** Dex fee by this node's network profile, base units of the taker coin. */
  readonly dexFeeUnits: string;
  readonly dexBurnUnits: string;
  /** Compressed key the fee is paid to, 33 bytes; null = no fee due. */
  readonly dexFeePubkey: string | null;
  readonly fees: readonly FeeFigure[];
  readonly gui: string | null;
  readonly version: string;
  /** Absent in logs of version 0.1.0: the fixed limits alone. */
  readonly safety?: SwapSafety;
  /** Only of a swap that KDF began. */
  readonly takenOver?: TakenOver;
  /** Absent: a coin that locks money in scripts. */
  readonly makerContracts?: OwnContracts;
  readonly takerContracts?: OwnContracts;
  /**
   * What the fees of claims and refunds are measured by on a coin that pays them in another: base units of that other coin,
   * decimal text. Absent: the amount itself.
   */
  readonly makerFeeValue?: string;
  readonly takerFeeValue?: string;
  /** Maker only: counted against the taker's key until its fee has come. Absent: no account pays. */
  readonly heldFees?: readonly HeldFee[];
};

export type Negotiated = {
  readonly theirStartedAt: number;
  readonly theirLocktime: number;
  /** The other side's keys, 33 bytes each. */
  readonly makerCoinPub: string;
  readonly takerCoinPub: string;
  /** 20 or 32 bytes, as negotiated. */
  readonly secretHash: string;
  /** The contracts both use, 40 hex; absent: a coin that locks money in scripts. */
  readonly makerContract?: string;
  readonly takerContract?: string;
};

/**
 * Why a swap left the straight road: the KDF event that says so in the status, and the sentence.
 * The names are those of reference rpc.md 7.2. `theirFault`: the other side broke the protocol; no accident, no network
 * trouble and no old message of its key explains it. `newCoins`: what it paid is made of new coins, which nobody may spend in time.
 */
export type Failure = { readonly event: string; readonly reason: string; readonly theirFault?: true; readonly newCoins?: true };

export type Outcome = "success" | "refunded" | "cancelled" | "failed" | "lost";

/**
 * The swap's own vocabulary (design D3): decisions of ours, messages we accepted, and chain facts with their block,
 * which a reorg can take back. Stored as JSON with `v`; names are never reused with another meaning.
 */
export type SwapEvent =
  | { readonly type: "started"; readonly terms: SwapTerms }
  | { readonly type: "start_failed"; readonly terms: SwapTerms; readonly reason: string }
  | { readonly type: "negotiated"; readonly with: Negotiated }
  /** The other side's transaction, taken from a message or found on chain, that passed every check that needs no depth. */
  | { readonly type: "tx_received"; readonly slot: Slot; readonly txid: string; readonly raw: string }
  /**
   * Own transaction, stored before anything of it leaves. `notAfter`: unix seconds after which a first send is forbidden.
   * `fee`: base units, decimal text; `height`: tip of its chain at the time. Logs of version 0.1.0 have neither.
   */
  | {
      readonly type: "tx_signed";
      readonly slot: Slot;
      readonly txid: string;
      readonly raw: string;
      readonly notAfter: number | null;
      readonly fee?: string;
      readonly height?: number;
    }
  /**
   * Another version of an own claim, refund, cancellation or child: with a higher fee, or of a payment that came back under
   * another id. Stored before it leaves; every earlier version may still confirm.
   */
  | { readonly type: "tx_replaced"; readonly slot: Slot; readonly txid: string; readonly raw: string; readonly fee: string }
  /** From here on the transaction may be known to others. */
  | { readonly type: "tx_attempted"; readonly slot: Slot }
  /**
   * An own transaction that was never attempted and now never will be. `failure` null: a claim that could not leave gave its nonce back, and
   * is signed anew when it may.
   */
  | { readonly type: "tx_dropped"; readonly slot: Slot; readonly failure: Failure | null }
  /** A backend has it (block null) or a block has it. `raw` is empty where the log has the bytes already, or nobody shows them. */
  | { readonly type: "tx_seen"; readonly slot: Slot; readonly txid: string; readonly raw: string; readonly block: Block | null }
  /** As deep as the terms ask; block null only where they ask for none. */
  | { readonly type: "tx_confirmed"; readonly slot: Slot; readonly txid: string; readonly block: Block | null }
  /** A reorg or an eviction took the fact back. */
  | { readonly type: "tx_withdrawn"; readonly slot: Slot; readonly txid: string }
  | { readonly type: "secret_learned"; readonly secret: string }
  | { readonly type: "refund_decided"; readonly failure: Failure }
  /** Nothing of ours is locked and nothing more will be sent. */
  | { readonly type: "abandoned"; readonly failure: Failure }
  /** The other side took ours, and its own payment has been in no block and no mempool until long after the later lock. */
  | { readonly type: "payment_gone" }
  /** Nothing that the own payment spends has been in any block or mempool until long after the later lock: it cannot be mined. */
  | { readonly type: "own_payment_gone" }
  /** Events before this one may be lost: an older copy was put back, or the end of the record could not be read. */
  | { readonly type: "record_cut" }
  | { readonly type: "finished"; readonly outcome: Outcome };

/** An event as stored: version, and unix milliseconds of this node's clock. */
export type StoredEvent = { readonly v: 1; readonly atMs: number; readonly event: SwapEvent };

export type PaymentSlot = "makerPayment" | "takerPayment";
/** The slot of the payment this side makes, and of the one it receives. */
export const ownPayment = (role: Role): PaymentSlot => (role === "maker" ? "makerPayment" : "takerPayment");
export const theirPayment = (role: Role): PaymentSlot => (role === "maker" ? "takerPayment" : "makerPayment");
/** This side's claim of the other payment. */
export const ownClaim = (role: Role): "takerPaymentSpend" | "makerPaymentSpend" =>
  role === "maker" ? "takerPaymentSpend" : "makerPaymentSpend";
export const theirClaim = (role: Role): "takerPaymentSpend" | "makerPaymentSpend" =>
  role === "maker" ? "makerPaymentSpend" : "takerPaymentSpend";
export const ownRefund = (role: Role): "makerPaymentRefund" | "takerPaymentRefund" =>
  role === "maker" ? "makerPaymentRefund" : "takerPaymentRefund";
export const theirRefund = (role: Role): "makerPaymentRefund" | "takerPaymentRefund" =>
  role === "maker" ? "takerPaymentRefund" : "makerPaymentRefund";

/** An own transaction was signed, for the first time or in another version. */
export const isSigning = (event: SwapEvent): event is Extract<SwapEvent, { readonly type: "tx_signed" | "tx_replaced" }> =>
  event.type === "tx_signed" || event.type === "tx_replaced";

/** The child that pays for an own transaction. */
export type ChildSlot = "feeChild" | "paymentChild" | "claimChild" | "refundChild";
export const CHILD_SLOTS: readonly ChildSlot[] = ["feeChild", "paymentChild", "claimChild", "refundChild"];
export const isChildSlot = (slot: Slot): slot is ChildSlot => (CHILD_SLOTS as readonly Slot[]).includes(slot);

/** The own transaction a child pays for. */
export function parentOf(role: Role, child: ChildSlot): Slot {
  switch (child) {
    case "feeChild":
      return "fee";
    case "paymentChild":
      return ownPayment(role);
    case "claimChild":
      return ownClaim(role);
    case "refundChild":
      return ownRefund(role);
  }
}

/** Payments and the dex fee are messages to the other side by their id: they have one version for ever. */
export const isReplaceableSlot = (slot: Slot): boolean => slot !== "fee" && slot !== "makerPayment" && slot !== "takerPayment";
