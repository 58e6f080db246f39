import { type ChildSlot, isChildSlot, ownPayment, ownRefund, type PaymentSlot, parentOf, type Slot } from "../../../core/swap/events.ts";
import { type FeeQuestion, goingFee, MAX_VERSIONS, nextFee, relayFee, scheduledFee, upFrontFee } from "../../../core/swap/feeSchedule.ts";
import { feeWindow } from "../../../core/swap/feeWindow.ts";
import { type OwnTx, type TxVersion, versionsOf } from "../../../core/swap/swapState.ts";
import { fromHex } from "../../../core/util/bytes.ts";
import { feeForSize } from "../../../core/utxo/feeRate.ts";
import { Aborted, withDeadline } from "../../../ports/clock.ts";
import { fundsErrorText } from "../../fundsErrorText.ts";
import { chainOf, contractOf, unitsOf } from "../contracts.ts";
import type { OwnSignedTx, SwapCoin } from "../swapCoin.ts";
import type { SwapTask } from "../swapTask.ts";
import { leftOutSince } from "./lockTimes.ts";
import { formsToSpend, rawOfForm, spentPayment, versionsBeside, versionsOfForm } from "./paymentForms.ts";
import { storeReplaced } from "./storeSigned.ts";

/**
 * Children of children, where a child cannot be replaced: nodes relay 25 transactions that hang together, and a payment may
 * hang on 20 of ours already (`MAX_CLUSTER`).
 */
const MAX_GENERATIONS = 4;
/**
 * Each generation waits until all of them together are due so many times as much: the first pays half as much again as the
 * parent, so the fourth brings the package to 1.5 x 8^3 = 768 times, of which a package five times as long as the parent needs
 * 250 in a fifty-fold spike. With smaller steps a chain of children ends long before its window does.
 */
const GENERATION_LEAP = 8n;

/** Blocks that left a transaction out before it gets a child: the first may have been found before its miner knew of it. */
const MISSED_BEFORE_CHILD = 2;

const coinOf = (task: SwapTask, slot: Slot): SwapCoin => task.coin(chainOf(task.state.terms.role, slot));

/** What the fee of an own transaction depends on now. A child's fee is that of its package. */
export function feeQuestion(task: SwapTask, slot: Slot, size: number): FeeQuestion {
  const of = isChildSlot(slot) ? parentOf(task.state.terms.role, slot) : slot;
  const coin = coinOf(task, of);
  const now = task.nowSec();
  const firstSent = task.timeOf((e) => e.type === "tx_signed" && e.slot === of) ?? now;
  const { rate, floorPerKb, relayPerKb, mostPerTx } = coin.spendRates();
  const tip = coin.chain.status().tip?.height;
  const from = leftOutSince(task, of);
  const blocksMissed = tip === undefined || from === null ? 0 : Math.max(0, tip - from);
  return { ...feeWindow(task.state, of, firstSent), size, rate, floorPerKb, relayPerKb, mostPerTx, now, blocksMissed };
}

export const spendSize = (task: SwapTask, slot: Slot, former?: Uint8Array): number =>
  coinOf(task, slot).spendSize(slot === ownRefund(task.state.terms.role) ? "refund" : "claim", former);

/** Fee of the first version of a claim or refund: cheap where it can be raised, enough at once where it cannot. */
export function firstFee(task: SwapTask, slot: Slot): bigint {
  const coin = coinOf(task, slot);
  const question = feeQuestion(task, slot, spendSize(task, slot));
  if (coin.relayPolicy !== "overpay") return scheduledFee(question);
  if (coin.spendRates().isFixed) return feeForSize(question.rate, question.size);
  const [paid, due] = [upFrontFee(question.value, goingFee(question)), scheduledFee(question)];
  return paid > due ? paid : due;
}

/** Base units a version pays; null when it was made by an earlier program and its inputs are not known any more. */
function feeOf(task: SwapTask, slot: Slot, tx: TxVersion): bigint | null {
  if (tx.fee !== undefined) return BigInt(tx.fee);
  const coin = coinOf(task, slot);
  const payment = spentPayment(task, slot);
  return payment ? unitsOf(task.state, payment) - coin.outputValue(fromHex(tx.raw)) : coin.feeOf(fromHex(tx.raw));
}

/** Whether the versions of a slot hang on each other instead of replacing each other. */
export const isChained = (task: SwapTask, slot: Slot): boolean => isChildSlot(slot) && coinOf(task, slot).relayPolicy === "child";

/** The versions of a child that count for its parent: all where they hang on each other, else the newest. */
function countingVersions(task: SwapTask, child: ChildSlot): readonly TxVersion[] {
  const tx = task.state.own[child];
  return tx ? versionsOf(tx).slice(isChained(task, child) ? 0 : -1) : [];
}

/** What the children of an own transaction pay, base units. */
export const childFees = (task: SwapTask, child: ChildSlot): bigint =>
  countingVersions(task, child).reduce((n, v) => n + (feeOf(task, child, v) ?? 0n), 0n);

/** Whether others of our transactions, not made to pay for this one, would go if it went. */
export function isBuiltOnByOthers(task: SwapTask, child: ChildSlot, raw: Uint8Array): boolean {
  const coin = coinOf(task, child);
  const tx = task.state.own[child];
  const versions = tx ? versionsOf(tx) : [];
  const ids = new Set(versions.map((v) => v.txid));
  return [raw, ...versions.map((v) => fromHex(v.raw))].some((own) => [...coin.builtOn(own)].some((id) => !ids.has(id)));
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
  return form === null && fact?.block ? open.findLast((v) => coin.spends(fromHex(v.raw), fact.txid)) : open.at(-1);
}

/** A question to a backend that is away must not hold up a claim or refund. */
const TRY_MS = 10_000;

/**
 * Has the coin look what a claim or refund of a payment needs, where its chain can tell.
 * @returns why it would not be paid now; null: it would, or nobody said
 */
export async function whyNotSpend(task: SwapTask, payment: PaymentSlot, signal: AbortSignal): Promise<string | null> {
  const coin = coinOf(task, payment);
  try {
    return await withDeadline(task.deps.clock, TRY_MS, signal, async (s) => coin.prepareToSpend(contractOf(task.state, payment), s));
  } catch (cause) {
    if (signal.aborted || !(cause instanceof Aborted)) throw cause;
    return null;
  }
}

/**
 * Why the own accounts could not be paid what a swap brings, or what it may have to give back; asked before money moves. Null: they could,
 * or nobody said.
 */
export async function whyNotPaidOut(task: SwapTask, signal: AbortSignal): Promise<string | null> {
  for (const slot of ["makerPayment", "takerPayment"] as const) {
    const coin = task.coin(chainOf(task.state.terms.role, slot));
    const asked = coin.prepareToSpend(contractOf(task.state, slot), signal);
    const refused = (asked && (await asked)) ?? coin.spendTooDear();
    if (refused) return refused;
  }
  return null;
}

/** Two tries of what its nodes say would fail are at least this far apart. */
const TRY_AGAIN_SEC = 600;

/**
 * Why a claim or refund that failed on its chain would fail again: each try costs gas, and there are `MAX_VERSIONS` of them. It is tried all
 * the same when half of what its last version had until the deadline is over, and past that as rarely: who says so may be wrong, and a claim
 * that is never tried costs the payment.
 */
export async function whyNotAgain(task: SwapTask, slot: Slot, signal: AbortSignal): Promise<string | null> {
  const payment = spentPayment(task, slot);
  const tx = task.state.own[slot];
  if (!payment || !tx || coinOf(task, slot).relayPolicy !== "nonce" || currentVersion(task, slot)) return null;
  const hopeless = await whyNotSpend(task, payment, signal);
  const last = task.lastTimeOf((e) => (e.type === "tx_signed" || e.type === "tx_replaced") && e.slot === slot) ?? 0;
  const { deadline } = feeQuestion(task, slot, spendSize(task, slot));
  return task.nowSec() - last < Math.max(TRY_AGAIN_SEC, Math.abs(deadline - last) / 2) ? hopeless : null;
}

/**
 * Makes and stores another version of an own transaction where one is due.
 * @param refused a backend refused the present version, and none is known to be in a mempool
 * @param form of the payment, where it is a claim or refund of one of several
 * @returns whether it did
 */
export async function renew(task: SwapTask, slot: Slot, refused: boolean, form: string | null = null): Promise<boolean> {
  const tx = task.state.own[slot];
  if (!tx || versionsBeside(task, slot, form).length >= MAX_VERSIONS) return false;
  const built = isChildSlot(slot)
    ? nextChild(task, slot, tx)
    : slot === "cancel"
      ? nextCancel(task, tx, refused)
      : nextSpend(task, slot, refused, form);
  if (!built) return false;
  try {
    return await storeReplaced(task, slot, built);
  } catch (cause) {
    if (cause instanceof Aborted) throw cause;
    // The version that is stored goes on being sent.
    task.trouble(`a new version of ${slot} was not stored: ${cause instanceof Error ? cause.message : String(cause)}`);
    return false;
  }
}

/** Half of the window is over. */
const isLate = (question: FeeQuestion): boolean => 2 * question.now > question.since + question.deadline;

/**
 * Another claim or refund: of the payment's new id, or with a higher fee. Null for transactions of other kinds, and while there
 * is time for one that was in a block and that another transaction of ours is built on, which would go with it: after a reorg
 * it only has to be sent again.
 */
function nextSpend(task: SwapTask, slot: Slot, refused: boolean, form: string | null): OwnSignedTx | null {
  const payment = spentPayment(task, slot);
  const tx = task.state.own[slot];
  if (!payment || !tx) return null;
  const coin = coinOf(task, slot);
  const current = currentVersion(task, slot, form);
  const question = feeQuestion(task, slot, spendSize(task, slot, current ? fromHex(current.raw) : undefined));
  const paid = feeOf(task, slot, current ?? tx);
  if (paid === null) return null;
  if (!current) return buildSpend(task, slot, payment, paid, form);
  if (!refused && !isLate(question) && coin.builtOn(fromHex(current.raw)).size > 0) return null;
  const canReplace = coin.relayPolicy === "replace" || coin.relayPolicy === "nonce";
  // What spends another form than the one shown is refused by those that show that, and may be in no mempool.
  const isOfOther = form !== null && form !== formsToSpend(task, slot)[0];
  const fee = canReplace || refused || isOfOther ? nextFee(question, paid) : null;
  return fee === null ? null : buildSpend(task, slot, payment, fee, form, fromHex(current.raw));
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
  const args = { contract: contractOf(s, payment), payment: fromHex(raw), fee, ...(replaces ? { replaces } : {}) };
  const isRefund = slot === ownRefund(s.terms.role);
  const secret = isRefund ? null : s.terms.role === "maker" ? task.deps.secret() : s.secret === null ? null : fromHex(s.secret);
  if (!isRefund && secret === null) return null;
  const built = secret === null ? coin.buildRefund(args) : coin.buildClaim({ ...args, secret });
  if (built.ok) return built.value;
  task.trouble(`${slot} cannot be built: ${fundsErrorText(built.error)}`);
  return null;
}

/**
 * A cancellation is not urgent, the refund is armed: it is only made anew where what it pays is not relayed any more. Where it has a
 * nonce, everything later of the account waits for it: its fee rises with time.
 */
function nextCancel(task: SwapTask, tx: OwnTx, refused: boolean): OwnSignedTx | null {
  const { role } = task.state.terms;
  const coin = coinOf(task, "cancel");
  const payment = task.state.own[ownPayment(role)];
  const paid = feeOf(task, "cancel", tx);
  if (coin.relayPolicy === "nonce") {
    const due = payment && paid !== null ? nextFee(feeQuestion(task, "cancel", coin.spendSize("cancel")), paid) : null;
    const raised = payment && due !== null ? coin.buildCancel(fromHex(payment.raw), 0n, due) : null;
    return raised?.ok ? raised.value : null;
  }
  const { floorPerKb } = coin.spendRates();
  if (!refused || !payment || paid === null || floorPerKb === null) return null;
  const least = relayFee({ floorPerKb, size: tx.raw.length / 2 });
  if (least <= paid) return null;
  const built = coin.buildCancel(fromHex(payment.raw), childFees(task, "paymentChild"), least);
  return built.ok && built.value.fee > paid ? built.value : null;
}

/** A child with a higher fee, or a child of the child where it cannot be replaced. */
function nextChild(task: SwapTask, slot: ChildSlot, tx: OwnTx): OwnSignedTx | null {
  const parent = task.state.own[parentOf(task.state.terms.role, slot)];
  const coin = coinOf(task, slot);
  const known = coin.chain.tx(tx.txid);
  if (!parent || (known?.block && !task.doubted.has(slot, known.block))) return null;
  const chained = isChained(task, slot);
  const generations = versionsOf(tx).length;
  // One the backend does not have cannot be built on; one that others are built on cannot be replaced.
  if (chained ? !known || generations >= MAX_GENERATIONS : coin.builtOn(fromHex(tx.raw)).size > 0) return null;
  return childFor(task, slot, fromHex(chained ? tx.raw : parent.raw), chained ? generations + 1 : 1, childFees(task, slot));
}

/** The child that brings a transaction and its children to the fee due now; null while they pay it, or the change is used up. */
export function childFor(task: SwapTask, slot: ChildSlot, on: Uint8Array, children: number, paidByChildren: bigint): OwnSignedTx | null {
  const parentSlot = parentOf(task.state.terms.role, slot);
  const parent = task.state.own[parentSlot];
  const parentFee = parent && feeOf(task, parentSlot, parent);
  if (!parent || parentFee === null || parentFee === undefined) return null;
  const coin = coinOf(task, slot);
  const { childSize, floorPerKb } = coin.spendRates();
  const question = feeQuestion(task, slot, parent.raw.length / 2 + childSize * children);
  if (question.blocksMissed < MISSED_BEFORE_CHILD && !isLate(question)) return null;
  const paid = parentFee + paidByChildren;
  const due = nextFee(question, paid);
  // A little more than was paid is not worth a transaction; a window that nears its end asks for much more.
  const worthwhile = children > 1 ? paid * GENERATION_LEAP : paid + paid / 2n;
  if (due === null || scheduledFee(question) < worthwhile) return null;
  const wanted = children > 1 ? due - paid : due - parentFee;
  const least = relayFee({ floorPerKb, size: childSize });
  const fee = wanted > least ? wanted : least;
  const built = coin.buildChild(on, fee);
  if (!built.ok) return null;
  const isMore = built.value.fee >= (children > 1 ? least : paidByChildren + least);
  if (isMore) return built.value;
  coin.releaseInputs(built.value.raw);
  const former = task.state.own[slot];
  if (former && children === 1) takeChild(coin, former);
  return null;
}

/** Takes the input of a stored child; what it pays back counts once the chain lists it. */
export function takeChild(coin: SwapCoin, child: TxVersion): void {
  coin.lockInputs(fromHex(child.raw));
  coin.dropChange(fromHex(child.raw));
}
