import { isChildSlot, isSigning, ownRefund, type PaymentSlot, parentOf, type Slot, type SwapEvent } from "../../../core/swap/events.ts";
import { type FeeQuestion, goingFee, nextFee, payableCap, scheduledFee, upFrontFee } from "../../../core/swap/feeSchedule.ts";
import { feeWindow, tryAgainAfter } from "../../../core/swap/feeWindow.ts";
import type { TxVersion } from "../../../core/swap/swapState.ts";
import { min } from "../../../core/util/bigints.ts";
import { fromHex } from "../../../core/util/bytes.ts";
import { feeForSize } from "../../../core/utxo/feeRate.ts";
import { Aborted, withDeadline } from "../../../ports/clock.ts";
import { fundsErrorText } from "../../fundsErrorText.ts";
import { bytesOf } from "../bytesOf.ts";
import { chainOf, contractOf, spendUse, unitsOf } from "../contracts.ts";
import type { OwnSignedTx, SwapCoin } from "../swapCoin.ts";
import type { SwapTask } from "../swapTask.ts";
import { isBeforeItsTime, leftOutSince } from "./lockTimes.ts";
import { otherKey } from "./otherKey.ts";
import { formsToSpend, rawOfForm, spentPayment, versionsOfForm } from "./paymentForms.ts";

export const coinOf = (task: SwapTask, slot: Slot): SwapCoin => task.coin(chainOf(task.state.terms.role, slot));

/** What the fee of an own transaction depends on now. A child's fee is that of its package. */
export function feeQuestion(task: SwapTask, slot: Slot, size: number, sureSize = size): FeeQuestion {
  const of = isChildSlot(slot) ? parentOf(task.state.terms.role, slot) : slot;
  const coin = coinOf(task, of);
  const now = task.nowSec();
  const firstSent = task.timeOf((e) => e.type === "tx_signed" && e.slot === of) ?? now;
  const { rate, floorPerKb, relayPerKb, mostPerTx } = coin.spendRates();
  const tip = coin.chain.status().tip?.height;
  const from = leftOutSince(task, of);
  const blocksMissed = tip === undefined || from === null ? 0 : Math.max(0, tip - from);
  return { ...feeWindow(task.state, of, firstSent), size, sureSize, rate, floorPerKb, relayPerKb, mostPerTx, now, blocksMissed };
}

/** The same of a claim, refund or cancellation, where it is the first or replaces a former one. */
export function spendQuestion(task: SwapTask, slot: Slot, former?: Uint8Array): FeeQuestion {
  const what = spendUse(task.state.terms.role, slot);
  const coin = coinOf(task, slot);
  return feeQuestion(task, slot, coin.spendSize(what, former), coin.sureSize?.(what, former));
}

/** Fee of the first version of a claim or refund: cheap where it can be raised, enough at once where it cannot. */
export function firstFee(task: SwapTask, slot: Slot): bigint {
  const coin = coinOf(task, slot);
  const question = spendQuestion(task, slot);
  if (coin.relayPolicy !== "overpay") return scheduledFee(question);
  if (coin.spendRates().isFixed) return feeForSize(question.rate, question.size);
  const [paid, due] = [upFrontFee(question.value, goingFee(question)), scheduledFee(question)];
  return paid > due ? paid : due;
}

/** Base units a version pays; null when it was made by an earlier program and its inputs are not known any more. */
export function feeOf(task: SwapTask, slot: Slot, tx: TxVersion): bigint | null {
  if (tx.fee !== undefined) return BigInt(tx.fee);
  const coin = coinOf(task, slot);
  const payment = spentPayment(task, slot);
  return payment ? unitsOf(task.state, payment) - coin.outputValue(bytesOf(tx)) : coin.feeOf(bytesOf(tx));
}

/**
 * The version to send: the newest, of those that spend one form of the payment; for null the one that stands in the chain now. Undefined
 * when none does: a reorg brought it back under another id.
 */
export function currentVersion(task: SwapTask, slot: Slot, form: string | null = null): TxVersion | undefined {
  const coin = coinOf(task, slot);
  // One that failed for good spends nothing any more.
  const open = versionsOfForm(task, slot, form).filter((v) => !coin.chain.tx(v.txid)?.failed);
  const payment = spentPayment(task, slot);
  const fact = payment && task.state.facts[payment];
  return form === null && fact?.block ? open.findLast((v) => coin.spends(bytesOf(v), fact.txid)) : open.at(-1);
}

/** A question to a backend that is away must not hold up a claim or refund. */
const TRY_MS = 10_000;

/**
 * Has the coin look what a claim or refund of a payment needs, where its chain can tell.
 * @returns why it would not be paid now, or may not be; null: it would
 */
export async function whyNotSpend(task: SwapTask, payment: PaymentSlot, signal: AbortSignal): Promise<string | null> {
  const coin = coinOf(task, payment);
  try {
    const ask = async (s: AbortSignal) => coin.prepareToSpend(contractOf(task.state, payment), s);
    return (await withDeadline(task.deps.clock, TRY_MS, signal, ask))?.reason ?? null;
  } catch (cause) {
    if (signal.aborted || !(cause instanceof Aborted)) throw cause;
    return `the ${coin.ticker} nodes have not said within ${TRY_MS / 1_000} s whether a claim or refund would be paid`;
  }
}

/**
 * Why the own accounts could not be paid what a swap brings, or what it may have to give back, or why nobody would say; asked before money
 * moves. Null: they could.
 */
export async function whyNotPaidOut(task: SwapTask, signal: AbortSignal): Promise<string | null> {
  for (const slot of ["makerPayment", "takerPayment"] as const) {
    const coin = task.coin(chainOf(task.state.terms.role, slot));
    const asked = coin.prepareToSpend(contractOf(task.state, slot), signal);
    const refused = (asked && (await asked))?.reason ?? coin.spendTooDear();
    if (refused) return refused;
  }
  return null;
}

const EARLY = "the refund failed in a block: by its chain's time the payment is still locked";

/**
 * Why a claim or refund that failed on its chain would fail again, or may: each try costs gas, and there are `MAX_VERSIONS` of them. It is tried
 * all the same when half of what its last version had until the deadline is over, and past that as rarely: who says so may be wrong, who says
 * nothing may never do, and a claim that is never tried costs the payment.
 */
export async function whyNotAgain(task: SwapTask, slot: Slot, signal: AbortSignal): Promise<string | null> {
  const payment = spentPayment(task, slot);
  const tx = task.state.own[slot];
  if (!payment || !tx || coinOf(task, slot).relayPolicy !== "nonce" || currentVersion(task, slot)) return null;
  const hopeless = isBeforeItsTime(task, slot) ? EARLY : await whyNotSpend(task, payment, signal);
  const last = task.lastTimeOf((e) => isSigning(e) && e.slot === slot) ?? 0;
  const { deadline } = spendQuestion(task, slot);
  return task.nowSec() - last < tryAgainAfter(last, deadline) ? hopeless : null;
}

/** Half of the window is over. */
export const isLate = (question: FeeQuestion): boolean => 2 * question.now > question.since + question.deadline;

/**
 * Another claim or refund: of the payment's new id, with a higher fee, or with a lock time that is not too old. Null for transactions of other kinds, and while there
 * is time for one that was in a block and that another transaction of ours is built on, which would go with it: after a reorg
 * it only has to be sent again.
 */
export function nextSpend(task: SwapTask, slot: Slot, refused: boolean, form: string | null): OwnSignedTx | null {
  const payment = spentPayment(task, slot);
  const tx = task.state.own[slot];
  if (!payment || !tx) return null;
  const coin = coinOf(task, slot);
  const current = currentVersion(task, slot, form);
  const question = spendQuestion(task, slot, current ? bytesOf(current) : undefined);
  const paid = coin.feeAt?.(bytesOf(current ?? tx), question.size) ?? feeOf(task, slot, current ?? tx);
  if (paid === null) return null;
  if (!current) return buildSpend(task, slot, payment, paid, form);
  if (!refused && !isLate(question) && coin.builtOn(bytesOf(current)).size > 0) return null;
  const canReplace = coin.relayPolicy === "replace" || coin.relayPolicy === "nonce";
  // What spends another form than the one shown is refused by those that show that, and may be in no mempool.
  const isOfOther = form !== null && form !== formsToSpend(task, slot)[0];
  const dearer = canReplace || refused || isOfOther ? nextFee(question, paid) : null;
  if (dearer !== null) return buildSpend(task, slot, payment, dearer, form, bytesOf(current));
  if (!refused || !coin.hasAged?.(bytesOf(current)) || !isDueAnew(task, slot)) return null;
  const most = payableCap(question);
  const built = buildSpend(task, slot, payment, min(paid, most), form, bytesOf(current));
  return built && !coin.hasAged(built.raw) ? built : null;
}

/** The age of a claim or refund to the pause before it is signed anew for nothing but another lock time. */
const AGE_TO_PAUSE = 8;

/**
 * Whether a claim or refund whose lock time is too old, and whose fee cannot rise, is signed anew: again and again while a backend refuses
 * all of them, each time after a longer pause. A year of it takes eighty of the `MAX_VERSIONS`.
 */
function isDueAnew(task: SwapTask, slot: Slot): boolean {
  const isVersion = (e: SwapEvent): boolean => isSigning(e) && e.slot === slot;
  const [first, last, now] = [task.timeOf(isVersion) ?? 0, task.lastTimeOf(isVersion) ?? 0, task.nowSec()];
  return (now - last) * AGE_TO_PAUSE >= now - first;
}

/**
 * A claim or refund of a payment, of one form of it or as it counts now. Null when it cannot be built.
 * @param replaces the former version, where this one takes its place
 */
export function buildSpend(
  task: SwapTask,
  slot: Slot,
  payment: PaymentSlot,
  fee: bigint,
  form: string | null = null,
  replaces?: Uint8Array,
): OwnSignedTx | null {
  const s = task.state;
  const raw = rawOfForm(task, payment, form);
  if (raw === undefined) return null;
  const coin = coinOf(task, slot);
  const unsignable = otherKey(task, [chainOf(s.terms.role, slot)]);
  if (unsignable) {
    task.trouble(unsignable);
    return null;
  }
  const args = { contract: contractOf(s, payment), payment: fromHex(raw), fee, ...(replaces ? { replaces } : {}) };
  const isRefund = slot === ownRefund(s.terms.role);
  const secret = isRefund ? null : s.terms.role === "maker" ? task.deps.secret() : s.secret === null ? null : fromHex(s.secret);
  if (!isRefund && secret === null) return null;
  const built = secret === null ? coin.buildRefund(args) : coin.buildClaim({ ...args, secret });
  if (built.ok) return built.value;
  task.trouble(`${slot} cannot be built: ${fundsErrorText(built.error)}`);
  return null;
}
