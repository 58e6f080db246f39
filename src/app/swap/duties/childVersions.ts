import { type ChildSlot, isChildSlot, parentOf, type Slot } from "../../../core/swap/events.ts";
import { nextFee, relayFee, scheduledFee } from "../../../core/swap/feeSchedule.ts";
import { type OwnTx, type TxVersion, versionsOf } from "../../../core/swap/swapState.ts";
import { fromHex } from "../../../core/util/bytes.ts";
import type { SeenTx } from "../../../ports/chain.ts";
import { bytesOf } from "../bytesOf.ts";
import type { OwnSignedTx, SwapCoin } from "../swapCoin.ts";
import type { SwapTask } from "../swapTask.ts";
import { coinOf, currentVersion, feeOf, feeQuestion, isLate } from "./feeVersions.ts";
import { builtOnThese, formsToSpend, spentPayment, versionsOfForm } from "./paymentForms.ts";

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

/** Whether the versions of a slot hang on each other instead of replacing each other. */
export const isChained = (task: SwapTask, slot: Slot): boolean => isChildSlot(slot) && coinOf(task, slot).relayPolicy === "child";

/**
 * The versions of a child that count for its parent: of one version of that, or of all (null), those that hang on it; where they replace
 * each other the newest.
 */
function countingVersions(task: SwapTask, child: ChildSlot, base: TxVersion | null): readonly TxVersion[] {
  const tx = task.state.own[child];
  const versions = tx ? versionsOf(tx) : [];
  if (!isChained(task, child)) return versions.slice(-1);
  return base === null ? versions : builtOnThese(coinOf(task, child), versions, [base]);
}

/** What the children of an own transaction pay, of one version of it or of all, base units. */
export const childFees = (task: SwapTask, child: ChildSlot, base: TxVersion | null = null): bigint =>
  countingVersions(task, child, base).reduce((n, v) => n + (feeOf(task, child, v) ?? 0n), 0n);

/** Whether others of our transactions, not made to pay for this one, would go if it went. */
export function isBuiltOnByOthers(task: SwapTask, child: ChildSlot, raw: Uint8Array): boolean {
  const coin = coinOf(task, child);
  const tx = task.state.own[child];
  const versions = tx ? versionsOf(tx) : [];
  const ids = new Set(versions.map((v) => v.txid));
  return [raw, ...versions.map((v) => bytesOf(v))].some((own) => [...coin.builtOn(own)].some((id) => !ids.has(id)));
}

/**
 * The version of an own transaction that a child is built on: what is sent, or of a claim or refund of one form of the payment the newest
 * that the chain has. Of a form that is not shown nobody tells which version others have: the first, for a mempool that has it takes none of
 * the later ones, and one that refused it takes the newest without a child.
 */
export function childBase(task: SwapTask, slot: Slot, form: string | null): TxVersion | undefined {
  if (form === null) return currentVersion(task, slot);
  const { chain } = coinOf(task, slot);
  const versions = versionsOfForm(task, slot, form);
  const isShown = form === formsToSpend(task, slot)[0];
  return versions.findLast((v) => chain.tx(v.txid)) ?? (isShown ? currentVersion(task, slot, form) : versions[0]);
}

/** Whether a transaction may be built on: the backend has it in no block, or strangers who show a chain may be keeping a claim or refund back. */
export function canBuildOn(task: SwapTask, slot: Slot, txid: string, refused: boolean): boolean {
  const known = coinOf(task, slot).chain.tx(txid);
  if (known) return !isMined(task, slot, known);
  const spend = isChildSlot(slot) ? parentOf(task.state.terms.role, slot) : slot;
  return !refused && coinOf(task, slot).chain.guard !== undefined && spentPayment(task, spend) !== null;
}

const isMined = (task: SwapTask, slot: Slot, { block }: Pick<SeenTx, "block">): boolean => block !== null && !task.doubted.has(slot, block);

/**
 * A child with a higher fee, or a child of the child where it cannot be replaced; of the claim or refund of one form of the payment the first,
 * too, where another form has had one.
 */
export function nextChild(task: SwapTask, slot: ChildSlot, tx: OwnTx, refused: boolean, form: string | null): OwnSignedTx | null {
  const parentSlot = parentOf(task.state.terms.role, slot);
  const coin = coinOf(task, slot);
  // It has nothing to pay for any more.
  if (task.state.facts[parentSlot]?.confirmed) return null;
  if (!isChained(task, slot)) {
    const parent = task.state.own[parentSlot];
    const known = coin.chain.tx(tx.txid);
    // One that others are built on cannot be replaced.
    if (!parent || (known && isMined(task, slot, known)) || coin.builtOn(bytesOf(tx)).size > 0) return null;
    return childFor(task, slot, parent, bytesOf(parent), 1, childFees(task, slot));
  }
  const base = childBase(task, parentSlot, form);
  if (!base) return null;
  const children = countingVersions(task, slot, base);
  const last = children.at(-1);
  if (children.length >= MAX_GENERATIONS || !canBuildOn(task, last ? slot : parentSlot, (last ?? base).txid, refused)) return null;
  if (!last && isBuiltOnByOthers(task, slot, bytesOf(base))) return null;
  return childFor(task, slot, base, bytesOf(last ?? base), children.length + 1, childFees(task, slot, base));
}

/** The child that brings a transaction and its children to the fee due now; null while they pay it, or the change is used up. */
export function childFor(
  task: SwapTask,
  slot: ChildSlot,
  parent: TxVersion,
  on: Uint8Array,
  children: number,
  paidByChildren: bigint,
): OwnSignedTx | null {
  const parentFee = feeOf(task, parentOf(task.state.terms.role, slot), parent);
  if (parentFee === null) return null;
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
