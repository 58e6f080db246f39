import { type Negotiated, ownPayment, type Role, type Slot, type SwapTerms } from "../../core/swap/events.ts";
import type { SwapState } from "../../core/swap/swapState.ts";
import { makerLock, takerLock } from "../../core/swap/timelocks.ts";
import { fromHex } from "../../core/util/bytes.ts";
import type { Contract } from "./swapCoin.ts";

export type PaymentSlot = "makerPayment" | "takerPayment";

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
      return ownPayment(role) === "makerPayment" ? "maker" : "taker";
  }
}

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
      }
    : {
        lock: takerLock(takerStart, lockDurationSec),
        secretHash,
        refundKey: fromHex(keys.takerOnTakerCoin),
        claimKey: fromHex(keys.makerOnTakerCoin),
      };
}

/** Base units both sides agreed to lock in a payment. */
export const unitsOf = (s: SwapState, slot: PaymentSlot): bigint =>
  BigInt(slot === "makerPayment" ? s.terms.makerUnits : s.terms.takerUnits);

/** Depth a slot's transaction needs to count: the agreed one for payments, at least one block for everything that ends a swap. */
export function depthOf(s: SwapState, slot: Slot): { readonly confs: number; readonly nota: boolean } {
  const onMakerChain = chainOf(s.terms.role, slot) === "maker";
  const confs = onMakerChain ? s.terms.makerConfs : s.terms.takerConfs;
  const nota = onMakerChain ? s.terms.makerNota : s.terms.takerNota;
  if (slot === "makerPayment" || slot === "takerPayment") return { confs: nota ? Math.max(1, confs) : confs, nota };
  return { confs: Math.max(1, confs), nota: false };
}
