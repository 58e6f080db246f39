import { ownClaim, theirPayment } from "../../../core/swap/events.ts";
import { MAX_VERSIONS, payableCap, scheduledFee } from "../../../core/swap/feeSchedule.ts";
import { versionsOf } from "../../../core/swap/swapState.ts";
import { fromHex } from "../../../core/util/bytes.ts";
import { chainOf } from "../contracts.ts";
import type { SwapTask } from "../swapTask.ts";
import { buildSpend, spendQuestion } from "./feeVersions.ts";
import { isUnseen } from "./lateClaim.ts";
import { storeReplaced } from "./storeSigned.ts";

/**
 * Stores another version of a claim that never left, or that was marked and nobody was seen to have, and has less gas than it would need now: as
 * it is it would fail with its secret shown, or stay here until it is too late. It has the same nonce, and costs no more than such a claim may.
 */
export async function signAmply(task: SwapTask): Promise<void> {
  const { role } = task.state.terms;
  const slot = ownClaim(role);
  const tx = task.state.own[slot];
  const coin = task.coin(chainOf(role, slot));
  if (!tx || (tx.attempted && !isUnseen(task)) || versionsOf(tx).length >= MAX_VERSIONS || !coin.lacksGas?.(fromHex(tx.raw))) return;
  // It is made anew, with another nonce.
  if (coin.lostNonce?.(fromHex(tx.raw))) return;
  const question = spendQuestion(task, slot, fromHex(tx.raw));
  const built = buildSpend(task, slot, theirPayment(role), scheduledFee(question), null, fromHex(tx.raw));
  if (!built) return;
  // An account that cannot pay more would sign one after the other, each dearer.
  if (built.fee > payableCap(question) || coin.lacksGas(built.raw)) return coin.releaseInputs(built.raw);
  await storeReplaced(task, slot, built);
}
