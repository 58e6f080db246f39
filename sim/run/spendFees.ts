import { ownClaim, ownRefund } from "../../src/core/swap/events.ts";
import type { Watch } from "./watch.ts";

/** A claim or refund and its children cost this part of the payment at most (docs/safety-fees.md, "The schedule": cap). */
const MOST_SHARE = 2n;

/** Rule "funds" of a coin of scripts: who has a payment, or has it back, has more of it than the miners. @param feeOf of transactions in blocks, base units */
export function checkSpendFees(watch: Watch, ticker: string, feeOf: ReadonlyMap<string, bigint>): void {
  for (const { uuid, sides } of watch.book.swaps.values()) {
    for (const { node, role, terms } of Object.values(sides)) {
      const [given, got] = role === "maker" ? (["maker", "taker"] as const) : (["taker", "maker"] as const);
      for (const [slot, child, of] of [[ownClaim(role), "claimChild", got] as const, [ownRefund(role), "refundChild", given] as const]) {
        if (terms[`${of}Coin`] !== ticker) continue;
        const ids = [...watch.book.signedFor(uuid, slot), ...watch.book.signedFor(uuid, child)];
        const paid = ids.reduce((sum, id) => sum + (feeOf.get(id) ?? 0n), 0n);
        const units = BigInt(terms[`${of}Units`]);
        if (paid * MOST_SHARE > units) watch.violate("funds", `${node}'s ${slot} cost ${paid} of ${units} units of ${ticker}`, uuid);
      }
    }
  }
}
