import { isChildSlot, ownClaim, ownPayment, ownRefund, type Slot, theirClaim, theirRefund } from "../../core/swap/events.ts";
import { type SwapState, versionsOf } from "../../core/swap/swapState.ts";
import { bytesOf } from "./bytesOf.ts";
import type { SwapChain, SwapCoin } from "./swapCoin.ts";

/** An own transaction, and the swap that made it. */
export type OwnTxOfSwap = { readonly state: SwapState; readonly slot: Slot; readonly raw: string };

type View = Pick<SwapCoin, "conflictOf" | "parentsOf"> & { readonly chain: Pick<SwapChain, "tx"> };

/** Nodes relay 25 transactions that hang together. */
const MAX_ANCESTORS = 25;

/**
 * The transaction in a block that keeps an own one from ever confirming: it spends an input of it, or of an own transaction it
 * is built on and that the backend does not have. So a payment is lost with a claim that confirmed in another version. Null:
 * none is known.
 * @param ownTx finds an own transaction by its id
 */
export function lostTo(coin: View, raw: Uint8Array, ownTx: (txid: string) => OwnTxOfSwap | null, depth = MAX_ANCESTORS): string | null {
  const direct = coin.conflictOf(raw);
  if (direct !== null || depth === 0) return direct;
  for (const txid of coin.parentsOf(raw)) {
    if (coin.chain.tx(txid)) continue;
    const parent = ownTx(txid);
    const winner = parent && (supersededBy(coin, parent, txid) ?? lostTo(coin, bytesOf(parent), ownTx, depth - 1));
    if (winner) return winner;
  }
  return null;
}

/** What is in a block and spends the same payment, or is another version or form of the same own transaction. */
function supersededBy(coin: View, { state, slot }: OwnTxOfSwap, txid: string): string | null {
  // Where miners count children, versions of a child hang on each other; a rival of one spends an output of ours: a conflict.
  if (isChildSlot(slot)) return null;
  const { role } = state.terms;
  const rivals: { readonly [S in Slot]?: Slot } = {
    [ownClaim(role)]: theirRefund(role),
    [ownRefund(role)]: theirClaim(role),
    [ownPayment(role)]: "cancel",
  };
  const rival = rivals[slot];
  const own = state.own[slot];
  const ids = [...(own ? versionsOf(own) : []), state.facts[slot], rival && state.facts[rival]].map((tx) => tx?.txid);
  return ids.find((id) => id !== undefined && id !== txid && coin.chain.tx(id)?.block) ?? null;
}

/** Looks an own transaction of a swap up by its id, in whatever version. */
export function ownTxIn(state: SwapState, txid: string): OwnTxOfSwap | null {
  for (const [slot, tx] of Object.entries(state.own)) {
    const version = tx.txid === txid ? tx : tx.replaced?.find((v) => v.txid === txid);
    if (version) return { state, slot: slot as Slot, raw: version.raw };
  }
  return null;
}
