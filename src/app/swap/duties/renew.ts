import { isChildSlot, ownPayment, type Slot } from "../../../core/swap/events.ts";
import { MAX_VERSIONS, nextFee, relayFee } from "../../../core/swap/feeSchedule.ts";
import type { OwnTx } from "../../../core/swap/swapState.ts";
import { fromHex } from "../../../core/util/bytes.ts";
import { reasonOf } from "../../../core/util/reasonOf.ts";
import { Aborted } from "../../../ports/clock.ts";
import type { OwnSignedTx } from "../swapCoin.ts";
import type { SwapTask } from "../swapTask.ts";
import { childFees, nextChild } from "./childVersions.ts";
import { coinOf, feeOf, nextSpend, spendQuestion } from "./feeVersions.ts";
import { versionsBeside } from "./paymentForms.ts";
import { storeReplaced } from "./storeSigned.ts";

/**
 * Makes and stores another version of an own transaction where one is due.
 * @param refused a backend refused the present version, and none is known to be in a mempool
 * @param form of the payment, where it is a claim or refund of one of several, or a child of such
 * @returns whether it did
 */
export async function renew(task: SwapTask, slot: Slot, refused: boolean, form: string | null = null): Promise<boolean> {
  const tx = task.state.own[slot];
  if (!tx || versionsBeside(task, slot, form).length >= MAX_VERSIONS) return false;
  try {
    const built = nextVersion(task, slot, tx, refused, form);
    return built !== null && (await storeReplaced(task, slot, built));
  } catch (cause) {
    if (cause instanceof Aborted) throw cause;
    // The version that is stored goes on being sent: also by a coin that knows no prices since its nodes were away at the start.
    task.trouble(`a new version of ${slot} was not stored: ${reasonOf(cause)}`);
    return false;
  }
}

function nextVersion(task: SwapTask, slot: Slot, tx: OwnTx, refused: boolean, form: string | null): OwnSignedTx | null {
  if (isChildSlot(slot)) return nextChild(task, slot, tx, refused, form);
  return slot === "cancel" ? nextCancel(task, tx, refused) : nextSpend(task, slot, refused, form);
}

/**
 * A cancellation is not urgent, the refund is armed: it is only made anew where what it pays is not relayed any more, nothing is left of
 * some input, or some input will never be there. Where it has a nonce, everything later of the account waits for it: its fee rises with time.
 */
function nextCancel(task: SwapTask, tx: OwnTx, refused: boolean): OwnSignedTx | null {
  const { role } = task.state.terms;
  const coin = coinOf(task, "cancel");
  const newest = fromHex(tx.raw);
  const payment = task.state.own[ownPayment(role)];
  const paid = feeOf(task, "cancel", tx);
  if (coin.relayPolicy === "nonce") {
    const question = spendQuestion(task, "cancel", newest);
    const due = paid === null ? null : nextFee(question, coin.feeAt?.(newest, question.size) ?? paid);
    const raised = due === null ? null : coin.buildDearer?.(newest, due);
    return raised?.ok ? raised.value : null;
  }
  if (!refused || !payment || paid === null) return null;
  const { floorPerKb } = coin.spendRates();
  const least = floorPerKb === null ? 0n : relayFee({ floorPerKb, size: tx.raw.length / 2 });
  const isBroken = coin.feeOf(newest) === null || coin.restsOnAged?.(newest) === true;
  if (least <= paid && !isBroken) return null;
  const fees = { paid: BigInt(payment.fee ?? 0), childFees: childFees(task, "paymentChild"), least };
  const built = coin.buildCancel(fromHex(payment.raw), fees);
  return built.ok && (isBroken || built.value.fee > paid) ? built.value : null;
}
