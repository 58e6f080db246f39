import { ownPayment } from "../../core/swap/events.ts";
import { isFeeMoot, type OwnTx, type SwapState } from "../../core/swap/swapState.ts";
import { fromHex, toHex } from "../../core/util/bytes.ts";
import { chainOf, contractOf, unitsOf } from "./contracts.ts";
import { isSignedHere } from "./duties/paymentForms.ts";
import type { SwapCoin } from "./swapCoin.ts";
import type { SwapTask } from "./swapTask.ts";

/** True when the log of a swap that is taken up leaves room for a payment it does not know of. */
export function mayHavePaid(s: SwapState): boolean {
  const slot = ownPayment(s.terms.role);
  return s.negotiated !== null && s.finished === null && s.own[slot]?.attempted !== true && s.facts[slot] === undefined;
}

/**
 * Takes over the own payment from the chain when the log lacks it: the store was put back to an older state, or lost its
 * end. To be called before any duty of a swap that was stored: it would pay a second time, or call the swap failed
 * while its money is locked. Only a payment of the exact value, signed with the own key, counts: anybody can pay the contract.
 * Where the log has its bytes, the word of the contract that holds it is enough.
 * Rejects when the chain could not be read, has the payment and not yet shown its transaction, or has one of ours in no block yet that
 * may be it; also while pools lack what may stand before it: they keep what waits behind a gap of nonces, and count none of it.
 */
export async function takeUpPayment(task: SwapTask, signal: AbortSignal): Promise<void> {
  const s = task.state;
  const { role, makerStartHeight, takerStartHeight } = s.terms;
  const slot = ownPayment(role);
  const coin = task.coin(chainOf(role, slot));
  const script = coin.contractScript(contractOf(s, slot));
  await coin.chain.watchScript(script, role === "maker" ? makerStartHeight : takerStartHeight, signal);
  const own = s.own[slot];
  const exact = coin.chain.outputs(script).filter((o) => o.vout === 0 && o.value === unitsOf(s, slot));
  const found = exact.flatMap((o) => coin.chain.tx(o.txid) ?? []).find((tx) => isOwn(coin, tx.raw, tx.txid, own));
  // The contract takes an id once, and names the payer: the payment is the one that was signed, or does the same.
  if (!found && s.own[slot] && coin.chain.unfound?.(script)) {
    task.deps.log.warn("swap_payment_found", { swap: task.uuid, txid: s.own[slot].txid });
    return task.emit({ type: "tx_attempted", slot });
  }
  if (!found) {
    const lookedFor = `the ${coin.ticker} chain has our payment, and its transaction is still looked for`;
    const hidden = coin.chain.unfound?.(script) ? (coin.chain.unseen?.(script) ?? lookedFor) : null;
    const unread = unreadText(coin, script);
    task.unseen = hidden ?? unread ?? task.unseen;
    const known = hidden ?? unread;
    if (known === null) await bringBackFee(task, coin, signal);
    const unexplained = known ?? coin.unexplained() ?? (own ? null : (coin.behindMissing?.((txid) => wasSent(task, txid)) ?? null));
    if (unexplained !== null) throw new Error(unexplained);
    return;
  }
  task.deps.log.warn("swap_payment_found", { swap: task.uuid, txid: found.txid });
  coin.lockInputs(found.raw);
  if (!s.own[slot]) await task.emit({ type: "tx_signed", slot, txid: found.txid, raw: toHex(found.raw), notAfter: null });
  await task.emit({ type: "tx_attempted", slot });
}

/** Servers refuse the history of the contract, and the payment may be in a block that was not read in its place. */
function unreadText({ chain, ticker }: SwapCoin, script: Uint8Array): string | null {
  const crowded = chain.crowded?.(script) ?? null;
  if (crowded !== "reading" && crowded !== "unread") return null;
  const next = crowded === "reading" ? "its blocks are being read" : `its past is too long to be read: enable ${ticker} with a daemon`;
  return `the ${ticker} servers refuse the history of the swap's address, which may hold our payment; ${next}`;
}

/**
 * Signed with the own key, and where the log has a payment that one, perhaps under another id: to send it beside another that is there would
 * pay twice.
 */
function isOwn(coin: SwapCoin, raw: Uint8Array, txid: string, own: OwnTx | undefined): boolean {
  if (!coin.isOurs(txid) || !isSignedHere(coin, raw)) return false;
  return own === undefined || coin.sameInputs(raw, fromHex(own.raw));
}

/** The swap does not run yet, and nobody else sends its fee: a payment would wait behind it. */
async function bringBackFee({ state }: SwapTask, coin: SwapCoin, signal: AbortSignal): Promise<void> {
  const { fee } = state.own;
  if (coin.relayPolicy !== "nonce" || !fee?.attempted || isFeeMoot(state) || coin.chain.tx(fee.txid)) return;
  await coin.chain.broadcast(fromHex(fee.raw), signal);
}

/** Whether somebody sends an own transaction on: its swap, or its account while that waits. What never left has nothing of ours behind it. */
function wasSent(task: SwapTask, txid: string): boolean {
  const of = task.deps.ownTx(txid);
  if (of === null) return true;
  return of.state.own[of.slot]?.attempted === true && !(of.state.terms.uuid === task.uuid && isFeeMoot(of.state));
}
