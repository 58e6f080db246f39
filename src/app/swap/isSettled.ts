import { ownPayment, type Slot } from "../../core/swap/events.ts";
import { fromHex } from "../../core/util/bytes.ts";
import { chainOf } from "./contracts.ts";
import { feeLostTo } from "./duties/fee.ts";
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
 * A fee that was sent once may confirm at any time: the other side has its bytes. It is over when it is deep; or when what keeps it
 * from confirming is, and no running swap is built on it, which would not learn of its own end; or, the same, when past the later
 * lock a backend that answers does not have it, though it was offered all the time.
 */
function isFeeOver(task: SwapTask): boolean {
  const { fee } = task.state.own;
  if (!fee?.attempted) return true;
  const coin = task.coin("taker");
  const known = coin.chain.tx(fee.txid);
  if (known?.block) return standsDeep(coin, fee.txid);
  const winner = feeLostTo(task);
  const isGone = !known && coin.chain.status().state === "ready" && task.nowSec() > task.times().makerLock;
  return (winner !== null ? standsDeep(coin, winner) : isGone) && !isCarrying(task, fee.raw);
}

/** Whether a transaction of a running swap hangs on an own one, directly or through others. One that no swap here knows counts, too. */
function isCarrying(task: SwapTask, raw: string): boolean {
  const coin = task.coin("taker");
  const met = new Set<string>();
  const queue = [raw];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    for (const txid of coin.builtOn(fromHex(next))) {
      if (met.has(txid)) continue;
      met.add(txid);
      const own = task.deps.ownTx(txid);
      if (!own || own.state.finished === null) return true;
      queue.push(own.raw);
    }
  }
  return false;
}
