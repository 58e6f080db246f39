import type { Slot } from "../../src/core/swap/events.ts";
import type { Watch } from "./watch.ts";

/** A chain read from end to end: who spends what, and where each transaction is. */
export type Read = {
  readonly spender: ReadonlyMap<string, string>;
  readonly heightOf: ReadonlyMap<string, number>;
};

/** What became of the payments of a swap in one slot. */
export type Fate = "none" | "locked" | "claimed" | "refunded";

export function fateOf(watch: Watch, uuid: string, read: Read, payment: Slot, refund: Slot): Fate {
  const paid = watch.book.signedFor(uuid, payment).filter((id) => read.heightOf.has(id));
  if (paid.length === 0) return "none";
  const refunds = new Set(watch.book.signedFor(uuid, refund));
  const spends = paid.map((id) => read.spender.get(`${id}:0`));
  if (spends.some((s) => s === undefined)) return "locked";
  return spends.every((s) => refunds.has(s ?? "")) ? "refunded" : "claimed";
}
