import {
  CHILD_SLOTS,
  type ChildSlot,
  type Outcome,
  ownPayment,
  ownRefund,
  parentOf,
  type Role,
  type Slot,
  theirClaim,
} from "../../core/swap/events.ts";
import { isOverForGood, type OwnTx, outcomeOf, type TxVersion, versionsOf } from "../../core/swap/swapState.ts";
import { fromHex } from "../../core/util/bytes.ts";
import { bytesOf } from "./bytesOf.ts";
import { chainOf } from "./contracts.ts";
import { isEndDenied } from "./duties/guardedContracts.ts";
import { decidingSlots } from "./duties/observe.ts";
import { builtOnThese } from "./duties/paymentForms.ts";
import { lostTo } from "./lostTo.ts";
import type { SwapCoin } from "./swapCoin.ts";
import type { SwapTask } from "./swapTask.ts";

/** Blocks on top of a final transaction after which a finished swap is no longer watched. */
const SETTLED_EXTRA_CONFS = 10;
/** How long past the later lock a payment that is gone is waited for; and past that and the first block that had it, that what is deep is called final. */
const WATCH_SEC = 86_400;

/**
 * Whether nothing about a finished swap can change any more: its deciding transaction and what it owes are deep, what became of its
 * fee and of its children is certain, and no swap that goes on has to learn from it what became of its own transactions.
 */
export function isSettled(task: SwapTask): boolean {
  const { finished, terms } = task.state;
  if (finished === null || !isRestOver(task)) return false;
  // Facts of this very look may have taken the end back or turned it round, and the log does not say so yet.
  if (finished !== outcomeOf(task.state)) return false;
  // Who made up the block makes up others on top of it.
  if (isEndDenied(task, "makerPayment") || isEndDenied(task, "takerPayment")) return false;
  const isDone =
    (decidingSlots(task).some((slot) => isDeep(task, slot)) || isGoneLong(task)) &&
    restsOn(finished, terms.role).some((slot) => isDeep(task, slot));
  return (isOverForGood(task.state) || isDone) && !isCarrying(task);
}

/**
 * What became of the own payment: one of these has to stand as deep. Whoever has the other coin owes its own, and what was taken back is not for good
 * because the other side's was: it is sent again should a reorg undo it.
 */
function restsOn(finished: Outcome, role: Role): readonly Slot[] {
  if (finished === "success") return [ownPayment(role)];
  return [ownRefund(role), "cancel", theirClaim(role)];
}

/** A payment given up for gone is claimed should it come back, for as long as anybody may still have its bytes at hand. */
function isGoneLong(task: SwapTask): boolean {
  const { isTheirsGone, terms } = task.state;
  return isTheirsGone && isDeep(task, theirClaim(terms.role)) && task.nowSec() > task.times().makerLock + WATCH_SEC;
}

function isDeep(task: SwapTask, slot: Slot): boolean {
  const { facts, terms } = task.state;
  const fact = facts[slot];
  // The fact may be of before a reorg: blocks by the dozen can come between two looks, and only the chain knows which it has.
  return fact?.confirmed === true && standsDeep(task, task.coin(chainOf(terms.role, slot)), fact.txid);
}

/**
 * Ten blocks of a chain that has them every few seconds are soon undone: where it tells what is final, that is waited for, too. Not for ever: some nodes name
 * the first block for as long as they run, and what is watched is asked about at each block. What came into a block late, as after days in which this node did
 * not run, has as long from there on.
 */
function standsDeep(task: SwapTask, { chain }: SwapCoin, txid: string): boolean {
  const block = chain.tx(txid)?.block ?? null;
  if (block === null || chain.confirmations(block) < SETTLED_EXTRA_CONFS) return false;
  if (chain.hasNoFinality?.() !== false || chain.isNotarized(block.height)) return true;
  const minedAt = task.timeOf((e) => e.type === "tx_seen" && e.txid === txid && e.block !== null) ?? 0;
  return task.nowSec() > Math.max(task.times().makerLock, minedAt) + WATCH_SEC;
}

/** What may confirm though the end needs it not: the other side has the bytes of a fee that was sent, and miners those of a child. */
function isRestOver(task: SwapTask): boolean {
  const { fee } = task.state.own;
  return (!fee?.attempted || isOver(task, "fee", fee)) && CHILD_SLOTS.every((child) => isChildOver(task, child));
}

/** What a child spends is free only when it is over, and there is none where its parent is not. */
function isChildOver(task: SwapTask, child: ChildSlot): boolean {
  const { own, facts, terms } = task.state;
  const [tx, parent] = [own[child], facts[parentOf(terms.role, child)]];
  if (!tx?.attempted || !parent) return true;
  return builtOnThese(task.coin(chainOf(terms.role, child)), versionsOf(tx), [parent]).every((version) => isOver(task, child, version));
}

/**
 * It is over when it is deep; or when what keeps it from confirming is; or when the backend has refused it past the later lock, and does not
 * have it. Where it has a nonce, only what uses that one keeps it from confirming: the account fills it then (`giveUp`).
 */
function isOver(task: SwapTask, slot: Slot, tx: TxVersion): boolean {
  const coin = task.coin(chainOf(task.state.terms.role, slot));
  const known = coin.chain.tx(tx.txid);
  if (known?.block) return standsDeep(task, coin, tx.txid);
  const winner = known ? null : lostTo(coin, bytesOf(tx), task.deps.ownTx);
  if (winner !== null) return standsDeep(task, coin, winner);
  return !known && coin.relayPolicy !== "nonce" && (task.refusedAt.get(slot) ?? 0) > task.times().makerLock;
}

/**
 * Whether a transaction of a running swap hangs, directly or through others, on an own one that is in no block. One that no swap here
 * knows may be of a swap that waits for its other coin.
 */
function isCarrying(task: SwapTask): boolean {
  const { own, terms } = task.state;
  return (Object.entries(own) as [Slot, OwnTx][]).some(([slot, tx]) => {
    const coin = task.coin(chainOf(terms.role, slot));
    return tx.attempted && versionsOf(tx).some((v) => !coin.chain.tx(v.txid)?.block && carries(task, coin, v.raw));
  });
}

function carries(task: SwapTask, coin: SwapCoin, raw: string): boolean {
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
