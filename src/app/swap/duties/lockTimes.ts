import { ownPayment, ownRefund, type Slot } from "../../../core/swap/events.ts";
import { chainOf, contractOf } from "../contracts.ts";
import type { SwapTask } from "../swapTask.ts";
import type { WaitedLooks } from "./waitedLooks.ts";

/** So long after the lock strangers who show no more blocks, or the payment in none, are not waited for; and twice as long whatever they show. */
const HELD_UP_SEC = 3_600;
/** A taker waits no longer than this part of the time that is left from its own lock to the maker's, whatever is shown. */
const SHARE_OF_REST = 4;
/** What a restart has still to read is waited for so long, and as long for a block of a chain that may have none any more. */
const FIRST_LOOK_SEC = 600;

const timeOf = (task: SwapTask, side: "maker" | "taker"): number => task.coin(side).chain.status().tip?.medianTimePastSec ?? 0;

/** Whether the own refund is not final yet, as far as its chain has shown blocks: that it is refused says nothing against it. */
export function isBeforeItsTime(task: SwapTask, slot: Slot): boolean {
  const { role } = task.state.terms;
  if (slot !== ownRefund(role)) return false;
  return timeOf(task, chainOf(role, slot)) <= contractOf(task.state, ownPayment(role)).lock;
}

/**
 * Tip from which on each block counts as one that left an own transaction out; null: none does yet. What was signed before its time has
 * none stored: it counts from where it was first seen to be final in this run.
 */
export function leftOutSince(task: SwapTask, slot: Slot): number | null {
  const signedAt = task.state.own[slot]?.height;
  const { role } = task.state.terms;
  if (signedAt !== undefined || slot !== ownRefund(role)) return signedAt ?? null;
  if (!isBeforeItsTime(task, slot)) task.refundFinalFrom ??= task.coin(chainOf(role, slot)).chain.status().tip?.height ?? null;
  return task.refundFinalFrom;
}

/**
 * Whether those who show a chain may be keeping a refund at home, by this node's clock: strangers, who could do so for ever by withholding
 * blocks. What is offered to honest ones too early is refused, no more. After its own lock a maker takes its payment back, and then nothing
 * keeps it from showing the secret: a taker's refund must be in a block before. So it is where too few nodes of an account chain are left to
 * believe any block, or most of them stand still: a refund goes to all that are there, and the contract itself takes none too early. Each that it does not
 * take costs gas, and this clock may be hours ahead: there it is believed once no new block was seen for a while, or where the other coin's chain says the same.
 * @param isPaid the payment is in a block, as they tell
 * @param looks of this run
 */
export function isHeldUp(
  task: SwapTask,
  side: "maker" | "taker",
  lock: number,
  isPaid: boolean,
  { waitedSec, stillSec }: Pick<WaitedLooks, "waitedSec" | "stillSec">,
): boolean {
  const { chain, relayPolicy } = task.coin(side);
  const now = task.nowSec();
  const restSec = side === "taker" ? contractOf(task.state, "makerPayment").lock - lock : Number.POSITIVE_INFINITY;
  const mostSec = Math.max(0, restSec / SHARE_OF_REST);
  const { state, tip } = chain.status();
  const isStill = now > (tip?.timeSec ?? 0) + Math.min(mostSec, HELD_UP_SEC);
  const mayBeHeldUp = chain.guard !== undefined || (relayPolicy === "nonce" && (state !== "ready" || isStill));
  const leastSec = Math.min(FIRST_LOOK_SEC, mostSec);
  if (!mayBeHeldUp || waitedSec <= leastSec) return false;
  if (relayPolicy === "nonce" && stillSec <= leastSec && timeOf(task, side === "maker" ? "taker" : "maker") <= lock) return false;
  const isMoving = isPaid && now <= (tip?.timeSec ?? 0) + HELD_UP_SEC;
  return now > lock + Math.min(mostSec, isMoving ? 2 * HELD_UP_SEC : HELD_UP_SEC);
}

/**
 * Whether the own lock has passed: the payment's chain says so (BIP-113), and so does a second witness, this node's clock or
 * the other coin's chain. One daemon that lies about the time cannot end a swap early, and one wrong clock cannot hold a refund up.
 */
export function lockHasPassed(task: SwapTask, chain: "maker" | "taker", lock: number): boolean {
  return timeOf(task, chain) > lock && (task.nowSec() > lock || timeOf(task, chain === "maker" ? "taker" : "maker") > lock);
}

/**
 * Taker: why money must not move any more, whatever this node's clock says; null: it may. By its chain's own time the maker payment must stay locked for
 * as long as the two locks are apart: a clock that stood still while the node was without power, or that is set back, takes for early what is
 * hours too late, and the maker would take its payment back and claim the taker's.
 */
export function isLateByChain(task: SwapTask): string | null {
  if (task.state.terms.role !== "taker") return null;
  const { takerLock, makerLock } = task.times();
  const { ticker } = task.coin("maker");
  const time = timeOf(task, "maker");
  if (time < takerLock) return null;
  return `by the time ${time} of the ${ticker} chain the maker payment is locked for ${Math.max(0, makerLock - time)} s only: this node's clock is behind`;
}
