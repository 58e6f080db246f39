import { ownPayment, ownRefund, type PaymentSlot } from "../../../core/swap/events.ts";
import { versionsOf } from "../../../core/swap/swapState.ts";
import { contractOf } from "../contracts.ts";
import type { SignedTx, SwapCoin } from "../swapCoin.ts";
import type { SwapTask } from "../swapTask.ts";

/**
 * Which branch of a contract a spend takes. Strangers who show a chain can make up spends, and where blocks cost nothing the block, too:
 * of them a claim is one only with the secret in it, and a refund only with the signature of who may; one of the other side's payment only
 * once its time has come by this node's clock, for the other side can sign one early, and put it into a block that nobody mined.
 */
export function branchOf(
  task: SwapTask,
  coin: SwapCoin,
  slot: PaymentSlot,
  spend: SignedTx,
  payment: string,
): "claim" | "refund" | "other" {
  const branch = coin.classifySpend(spend, payment);
  if (!coin.chain.guard || branch === "other") return branch;
  const { own, terms } = task.state;
  const contract = contractOf(task.state, slot);
  if (branch === "claim") return coin.findSecret(spend, contract.secretHash) === null ? "other" : branch;
  const refund = own[ownRefund(terms.role)];
  const isOwnPayment = slot === ownPayment(terms.role);
  if (isOwnPayment && refund && versionsOf(refund).some(({ txid }) => txid === spend.txid)) return branch;
  if (!isOwnPayment && task.nowSec() <= contract.lock) return "other";
  return coin.isSignedRefund(spend, payment, contract) ? branch : "other";
}
