import { ownClaim, ownPayment, ownRefund, theirRefund } from "../../../core/swap/events.ts";
import { FIRST_LOOK_SEC, type RefundStay, type RefundView, refundStays } from "../../../core/swap/refundStays.ts";
import { versionsOf } from "../../../core/swap/swapState.ts";
import { fromHex } from "../../../core/util/bytes.ts";
import type { SeenOutput } from "../../../ports/chain.ts";
import { chainOf, contractOf } from "../contracts.ts";
import type { SwapCoin } from "../swapCoin.ts";
import type { SwapTask } from "../swapTask.ts";
import { isHeldUp, lockHasPassed } from "./lockTimes.ts";
import { branchOf } from "./provenSpend.ts";
import { isInBlock } from "./sending.ts";
import type { WaitedLooks } from "./waitedLooks.ts";

/** What a contract says of a payment that nobody shows. */
type Unfound = ReturnType<NonNullable<SwapCoin["chain"]["unfound"]>>;

/** What is known of the own claim: its chain's word, where that has come to it. A log that was put back may lack it, and only the chain has it. */
function claimOf(task: SwapTask): Pick<RefundView, "claim" | "wasClaimMined" | "isFresh"> {
  const { own, facts, terms } = task.state;
  const slot = ownClaim(terms.role);
  const mayBeOut = own[slot]?.attempted === true || facts[slot] !== undefined;
  const isCovered = !mayBeOut || task.covered.has(chainOf(terms.role, slot));
  const isMined = mayBeOut && isInBlock(task, slot, null);
  return {
    claim: isMined ? "mined" : isCovered ? "none" : "unknown",
    wasClaimMined: facts[slot]?.block != null,
    isFresh: task.ranSec() < FIRST_LOOK_SEC,
  };
}

/**
 * What others have of a spend of the own payment. One that carries no secret is nobody's, in no block, or in one that strangers show: who
 * names it may have made it up, or will never give it to a miner, and a refund waits for neither.
 */
function spendOf(task: SwapTask, coin: SwapCoin, output: SeenOutput | undefined, unfound: Unfound): RefundView["spend"] {
  const { negotiated, own, terms } = task.state;
  if (unfound === "claimed" || unfound === "refunded") return "mined";
  if (!output?.spentBy) return "none";
  const { txid, block } = output.spentBy;
  const refund = own[ownRefund(terms.role)];
  if (refund && versionsOf(refund).some((version) => version.txid === txid)) return "none";
  const spend = coin.chain.tx(txid);
  if (block === null) return spend && negotiated && coin.findSecret(spend, fromHex(negotiated.secretHash)) ? "pooled" : "none";
  const isProven =
    !coin.chain.guard || (spend !== undefined && branchOf(task, coin, ownPayment(terms.role), spend, output.txid) !== "other");
  return isProven ? "mined" : "none";
}

/**
 * What is known of the own refund by what is known at once.
 * @param looks at the chain of the payment in this run
 */
export function refundView(task: SwapTask, looks: Pick<WaitedLooks, "waitedSec" | "stillSec">): RefundView {
  const { own, facts, terms } = task.state;
  const slot = ownPayment(terms.role);
  const side = chainOf(terms.role, slot);
  const coin = task.coin(side);
  const contract = contractOf(task.state, slot);
  const txid = facts[slot]?.txid ?? own[slot]?.txid;
  const script = coin.contractScript(contract);
  const output = coin.chain.outputs(script).find((o) => o.txid === txid && o.vout === 0);
  const unfound = coin.chain.unfound?.(script) ?? null;
  const isPaid = output?.block != null || unfound === "unspent";
  return {
    ...claimOf(task),
    isSigned: own[ownRefund(terms.role)] !== undefined,
    isPassed: lockHasPassed(task, side, contract.lock),
    isHeldUp: isHeldUp(task, side, contract.lock, isPaid, looks),
    isPaid,
    spend: spendOf(task, coin, output, unfound),
    isTheirsBack: facts[theirRefund(terms.role)]?.confirmed === true,
    costsGas: coin.relayPolicy === "nonce",
  };
}

/** Nobody waits for the time of one that is signed. */
const NO_LOOKS = { waitedSec: 0, stillSec: 0 };

/** Why the refund that is signed is not sent now; null: it is. */
export const whyRefundStays = (task: SwapTask): RefundStay | null => refundStays(refundView(task, NO_LOOKS));
