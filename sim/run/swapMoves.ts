import { ownClaim, ownPayment, ownRefund, theirPayment } from "../../src/core/swap/events.ts";
import { fateOf, type Read } from "./fate.ts";
import type { Watch } from "./watch.ts";

/** What swaps moved of a coin, by the amounts agreed on and what became of the payments: for each node, and still in contracts. */
export function swapMoves(
  watch: Watch,
  ticker: string,
  read: Read,
): { readonly moved: ReadonlyMap<string, bigint>; readonly locked: bigint } {
  const moved = new Map<string, bigint>();
  let locked = 0n;
  const add = (node: string, units: bigint): void => void moved.set(node, (moved.get(node) ?? 0n) + units);
  for (const { uuid, sides } of watch.book.swaps.values()) {
    for (const { node, role, terms } of Object.values(sides)) {
      const isMaker = role === "maker";
      const [given, got] = isMaker ? [terms.makerCoin, terms.takerCoin] : [terms.takerCoin, terms.makerCoin];
      const [givenUnits, gotUnits] = (isMaker ? [terms.makerUnits, terms.takerUnits] : [terms.takerUnits, terms.makerUnits]).map(BigInt);
      if (given === ticker) {
        const fate = fateOf(watch, uuid, read, ownPayment(role), ownRefund(role));
        if (fate === "locked") locked += givenUnits ?? 0n;
        if (fate === "locked" || fate === "claimed") add(node, -(givenUnits ?? 0n));
        const fees = watch.book.signedFor(uuid, "fee").filter((id) => read.heightOf.has(id));
        if (!isMaker) add(node, -BigInt(fees.length) * (BigInt(terms.dexFeeUnits) + BigInt(terms.dexBurnUnits)));
      }
      if (got !== ticker) continue;
      const claims = new Set(watch.book.signedFor(uuid, ownClaim(role)));
      for (const id of watch.book.signedFor(uuid, theirPayment(role)))
        if (claims.has(read.spender.get(`${id}:0`) ?? "")) add(node, gotUnits ?? 0n);
    }
  }
  return { moved, locked };
}

type NodeBooks = {
  /** What each node was given; base units, as all that follows. */
  readonly given: ReadonlyMap<string, bigint>;
  readonly has: (node: string) => bigint;
  readonly moved: ReadonlyMap<string, bigint>;
  /** What each node paid to miners, for gas on account chains. */
  readonly paid: ReadonlyMap<string, bigint>;
};

/** Rule "conservation" for each node: it has what it was given and what its swaps moved, less what its transactions cost. */
export function checkNodes(watch: Watch, ticker: string, { given, has, moved, paid }: NodeBooks): void {
  for (const [node, units] of given) {
    watch.checked("conservation");
    const [now, swaps, cost] = [has(node), moved.get(node) ?? 0n, paid.get(node) ?? 0n];
    if (now !== units + swaps - cost)
      watch.violate(
        "conservation",
        `${ticker}: ${node} has ${now}, given were ${units}, swaps came to ${swaps}, its transactions cost ${cost}: ${now - units - swaps + cost} too many`,
      );
  }
}
