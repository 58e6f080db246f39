import {
  type Negotiated,
  ownPayment,
  ownRefund,
  type PaymentSlot,
  type Role,
  type Slot,
  type SwapTerms,
  theirPayment,
} from "../../core/swap/events.ts";
import type { SwapState } from "../../core/swap/swapState.ts";
import { makerLock, takerLock } from "../../core/swap/timelocks.ts";
import { fromHex } from "../../core/util/bytes.ts";
import type { BlockRef } from "../../ports/chain.ts";
import type { Contract, SpendUse, SwapChain } from "./swapCoin.ts";

/** Which chain a slot's transaction lives on. */
export function chainOf(role: Role, slot: Slot): "maker" | "taker" {
  switch (slot) {
    case "makerPayment":
    case "makerPaymentSpend":
    case "makerPaymentRefund":
      return "maker";
    case "fee":
    case "takerPayment":
    case "takerPaymentSpend":
    case "takerPaymentRefund":
      return "taker";
    case "cancel":
    case "feeChild":
    case "paymentChild":
    case "refundChild":
      return role;
    case "claimChild":
      return role === "maker" ? "taker" : "maker";
  }
}

/** What an own claim, refund or cancellation is, by its slot. */
export const spendUse = (role: Role, slot: Slot): SpendUse => (slot === "cancel" ? slot : slot === ownRefund(role) ? "refund" : "claim");

/** Contracts by the negotiation they follow from, so that coins can keep what they work out for one. */
const contracts = new WeakMap<Negotiated, { readonly [S in PaymentSlot]: Contract }>();

/** The contract of a payment as both sides negotiated it: the same object each time. Throws before negotiation: no duty asks then. */
export function contractOf(s: SwapState, slot: PaymentSlot): Contract {
  const n = s.negotiated;
  if (!n) throw new Error("no contract before negotiation");
  let both = contracts.get(n);
  if (!both) {
    both = { makerPayment: buildContract(s.terms, n, "makerPayment"), takerPayment: buildContract(s.terms, n, "takerPayment") };
    contracts.set(n, both);
  }
  return both[slot];
}

function buildContract(terms: SwapTerms, n: Negotiated, slot: PaymentSlot): Contract {
  const { role, startedAt, lockDurationSec, myMakerCoinPub, myTakerCoinPub } = terms;
  const makerStart = role === "maker" ? startedAt : n.theirStartedAt;
  const takerStart = role === "taker" ? startedAt : n.theirStartedAt;
  const keys = {
    makerOnMakerCoin: role === "maker" ? myMakerCoinPub : n.makerCoinPub,
    makerOnTakerCoin: role === "maker" ? myTakerCoinPub : n.takerCoinPub,
    takerOnMakerCoin: role === "taker" ? myMakerCoinPub : n.makerCoinPub,
    takerOnTakerCoin: role === "taker" ? myTakerCoinPub : n.takerCoinPub,
  };
  const secretHash = fromHex(n.secretHash);
  return slot === "makerPayment"
    ? {
        lock: makerLock(makerStart, lockDurationSec),
        secretHash,
        refundKey: fromHex(keys.makerOnMakerCoin),
        claimKey: fromHex(keys.takerOnMakerCoin),
        units: BigInt(terms.makerUnits),
        swapContract: n.makerContract ?? null,
      }
    : {
        lock: takerLock(takerStart, lockDurationSec),
        secretHash,
        refundKey: fromHex(keys.takerOnTakerCoin),
        claimKey: fromHex(keys.makerOnTakerCoin),
        units: BigInt(terms.takerUnits),
        swapContract: n.takerContract ?? null,
      };
}

/** Base units both sides agreed to lock in a payment. */
export const unitsOf = (s: SwapState, slot: PaymentSlot): bigint =>
  BigInt(slot === "makerPayment" ? s.terms.makerUnits : s.terms.takerUnits);

/** What makes a transaction of a slot count. */
export type NeededDepth = {
  readonly confs: number;
  readonly nota: boolean;
  /** Confirmations asked for by value; a notarization, after which a chain is never reorganised, stands for them. */
  readonly valueConfs: number;
};

/**
 * Depth a slot's transaction needs to count: the agreed one for payments, and what its value asks for where it is the other
 * side's; at least one block for everything that ends a swap, and for the own payment, which must not be left to mempools: the other
 * side may have asked for none, and has its bytes.
 */
export function depthOf(s: SwapState, slot: Slot): NeededDepth {
  const { role, safety } = s.terms;
  const onMakerChain = chainOf(role, slot) === "maker";
  const confs = onMakerChain ? s.terms.makerConfs : s.terms.takerConfs;
  const nota = onMakerChain ? s.terms.makerNota : s.terms.takerNota;
  if (slot === theirPayment(role)) return { confs: nota ? Math.max(1, confs) : confs, nota, valueConfs: safety?.valueConfs ?? 0 };
  const isPayment = slot === ownPayment(role);
  return { confs: Math.max(1, confs), nota: isPayment && nota, valueConfs: 0 };
}

/** Why a block is not deep enough on its chain, in words that follow a transaction's name; null when it is. */
export function notDeep(chain: SwapChain, block: BlockRef | null, { confs, nota, valueConfs }: NeededDepth): string | null {
  const depth = chain.confirmations(block);
  const isNotarized = block !== null && chain.isNotarized(block.height);
  if (depth < confs) return `has ${depth} of ${confs} confirmations`;
  if (nota && !isNotarized) return "is not notarized yet";
  return depth < valueConfs && !isNotarized ? `has ${depth} of the ${valueConfs} confirmations its value asks for` : null;
}
