import { ownPayment, type Slot } from "../../core/swap/events.ts";
import { fromHex } from "../../core/util/bytes.ts";
import { chainOf } from "./contracts.ts";
import { isBuiltOnByOthers } from "./duties/feeVersions.ts";
import { decidingSlots } from "./duties/observe.ts";
import type { SwapCoin } from "./swapCoin.ts";
import type { SwapTask } from "./swapTask.ts";

/** Blocks on top of a final transaction after which a finished swap is no longer watched. */
const SETTLED_EXTRA_CONFS = 10;

/**
 * Whether nothing about a finished swap can change any more: its deciding transaction and what it owes are deep, and what became
 * of its fee is certain.
 */
export function isSettled(task: SwapTask): boolean {
  const { finished, terms } = task.state;
  if (finished === null || !isFeeOver(task)) return false;
  if (finished === "failed") return true;
  // Whoever has the other coin owes its own: until that stands as deep, it is sent again should a reorg undo it.
  return decidingSlots(task).some((slot) => isDeep(task, slot)) && (finished !== "success" || isDeep(task, ownPayment(terms.role)));
}

function isDeep(task: SwapTask, slot: Slot): boolean {
  const { facts, terms } = task.state;
  const fact = facts[slot];
  // The fact may be of before a reorg: blocks by the dozen can come between two looks, and only the chain knows which it has.
  return fact?.confirmed === true && standsDeep(task.coin(chainOf(terms.role, slot)), fact.txid);
}

function standsDeep({ chain }: SwapCoin, txid: string): boolean {
  const block = chain.tx(txid)?.block ?? null;
  return chain.confirmations(block) >= SETTLED_EXTRA_CONFS;
}

/**
 * A fee that was sent once may confirm at any time: the other side has its bytes. It is over when it or a rival for its inputs is
 * deep; or when the backend does not have it, after the later lock: an honest maker has then long done with the swap.
 * Not while a transaction of another swap is built on it: then its bytes may have to be sent again.
 */
function isFeeOver(task: SwapTask): boolean {
  const { own, terms } = task.state;
  if (!own.fee?.attempted) return true;
  const coin = task.coin(terms.role);
  const raw = fromHex(own.fee.raw);
  const winner = coin.chain.tx(own.fee.txid)?.block ? own.fee.txid : coin.conflictOf(raw);
  if (winner !== null) return standsDeep(coin, winner);
  const isUnknown = !coin.chain.tx(own.fee.txid) && coin.chain.status().state === "ready";
  return isUnknown && task.nowSec() > task.times().makerLock && !isBuiltOnByOthers(task, "feeChild", raw);
}
