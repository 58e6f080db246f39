import type { Role, StoredEvent, TimedKdfEvent } from "../../core/swap/events.ts";
import type { KeptSwap } from "../../core/swap/kdfStatus.ts";
import { isRecoverable } from "../../core/swap/recovery.ts";
import type { SwapSummary, UniqueMark } from "../../ports/swapStore.ts";
import { summaryOf } from "../swap/startTerms.ts";
import type { ImportCoins } from "./importCoin.ts";
import { kdfSwapLog } from "./kdfSwapLog.ts";
import type { SavedSwap } from "./savedSwap.ts";

/** What becomes of one swap of KDF. */
export type SwapPlan =
  /** It is over: kept as KDF shows it. `note`: what its owner should know of it all the same. */
  | {
      readonly plan: "history";
      readonly summary: SwapSummary;
      readonly kept: KeptSwap;
      readonly marks: readonly UniqueMark[];
      readonly note: string | null;
    }
  /** Money of ours may be in it: this node goes on with it. */
  | {
      readonly plan: "open";
      readonly summary: SwapSummary;
      readonly log: readonly StoredEvent[];
      readonly marks: readonly UniqueMark[];
      readonly note: string | null;
    }
  /** Money may be in it and this node cannot go on with it: it is KDF's to end. */
  | { readonly plan: "leave"; readonly reason: string };

/** Steps after which KDF pays nothing any more, and before which it has not paid. */
const NEVER_PAID: { readonly [R in Role]: readonly string[] } = {
  maker: ["StartFailed", "NegotiateFailed", "TakerFeeValidateFailed"],
  taker: ["StartFailed", "NegotiateFailed", "TakerFeeSendFailed", "MakerPaymentValidateFailed", "MakerPaymentWaitConfirmFailed"],
};

/**
 * Decides about one swap. Over is what KDF has ended with nothing left to recover, and what it cannot have paid for: no key was
 * agreed on, or it gave up before its payment. Everything else goes on here, also what KDF has ended without its money.
 *
 * @param ownKey key of the node, 66 hex
 */
export function planSwapImport(swap: SavedSwap, coins: ImportCoins, ownKey: string, nowMs: number): SwapPlan {
  const { role, events, summary } = swap;
  const names = events.map((e) => e.event.type);
  const isEnded = names.at(-1) === "Finished";
  const marks = marksOf(swap);
  const history = (note: string | null): SwapPlan => ({
    plan: "history",
    summary: { ...summary, finished: true },
    kept: isEnded ? swap.kept : ended(swap, nowMs),
    marks,
    note,
  });
  const hasPaid = names.includes(role === "maker" ? "MakerPaymentSent" : "TakerPaymentSent");
  const neverPaid = !hasPaid && (!names.includes("Negotiated") || names.some((n) => NEVER_PAID[role].includes(n)));
  if (neverPaid) return history(null);
  if (isEnded && !isRecoverable(role, names)) return history(null);
  const log = kdfSwapLog(swap, coins, ownKey, nowMs);
  if (!log.ok) {
    if (!isEnded) return { plan: "leave", reason: log.reason };
    return history(
      `KDF ended it and calls it recoverable, and this node cannot look after it: ${log.reason}. Use KDF's recover_funds_of_swap`,
    );
  }
  const first = log.log[0]?.event;
  if (first?.type !== "started") throw new Error("the log of a swap begins with its start");
  const note = isEnded ? "KDF ended it and calls it recoverable: this node looks for what is left of it" : null;
  return { plan: "open", summary: summaryOf(first.terms), log: log.log, marks, note };
}

/** A swap that KDF would have given up at its next start. */
function ended({ events, kept, role }: SavedSwap, nowMs: number): KeptSwap {
  const isFailed = events.some((e) => NEVER_PAID[role].includes(e.event.type));
  const error = "it had not paid anything when it was taken over from KDF, and ended there";
  const end: readonly TimedKdfEvent[] = [
    ...(isFailed ? [] : [{ timestamp: nowMs, event: { type: "NegotiateFailed", data: { error } } }]),
    { timestamp: nowMs, event: { type: "Finished" } },
  ];
  return { ...kept, events: [...kept.events, ...end] };
}

const HASH = /^([0-9a-f]{40}|[0-9a-f]{64})$/;

/** Hashes and fees, received or paid, that must not serve another swap. */
function marksOf({ role, events }: SavedSwap): readonly UniqueMark[] {
  const field = (type: string, key: string): string | null => {
    const data = events.find((e) => e.event.type === type)?.event.data;
    const value = typeof data === "object" && data !== null ? (data as { readonly [key: string]: unknown })[key] : null;
    return typeof value === "string" && HASH.test(value) ? value : null;
  };
  const hash = role === "maker" ? field("Started", "secret_hash") : field("Negotiated", "secret_hash");
  const fee = field(role === "maker" ? "TakerFeeValidated" : "TakerFeeSent", "tx_hash");
  return [
    ...(hash === null ? [] : [{ kind: "secret_hash" as const, value: hash }]),
    ...(fee === null ? [] : [{ kind: "fee_tx" as const, value: fee }]),
  ];
}
