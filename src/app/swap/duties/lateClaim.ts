import { mayShowSecret, versionsOf } from "../../../core/swap/swapState.ts";
import { contractOf } from "../contracts.ts";
import type { SwapTask } from "../swapTask.ts";
import { branchOf } from "./provenSpend.ts";

/**
 * Whether a claim of the maker, marked before its limit and left alone until after it, was never seen by anybody: the process died between the
 * mark and the sending, perhaps, and its secret is nobody's but ours.
 */
function isUnseen(task: SwapTask): boolean {
  const { own } = task.state;
  const claim = own.takerPaymentSpend;
  if (!claim || claim.notAfter === null || task.nowSec() <= claim.notAfter || !mayShowSecret(task.state)) return false;
  const { chain } = task.coin("taker");
  return versionsOf(claim).every(({ txid }) => chain.tx(txid) === undefined);
}

const takerScript = (task: SwapTask): Uint8Array => task.coin("taker").contractScript(contractOf(task.state, "takerPayment"));

/** By this node's clock, as the claim's own limit: the taker's payment cannot have gone back yet, whoever says so or says nothing. */
const isLocked = (task: SwapTask): boolean => task.nowSec() <= contractOf(task.state, "takerPayment").lock;

/**
 * Whether the late claim would show the secret and bring nothing, as far as its chain is known: the taker's payment has gone back. While that
 * stands, the claim goes out late, for it may have left: whoever was given it and kept it has the secret, and must not keep it from others by a spend
 * that is made up. And after the payment's lock it waits while nobody answers, or an index that begins anew has not come to the payment.
 */
export function isClaimInVain(task: SwapTask): boolean {
  if (!isUnseen(task)) return false;
  const { own, facts, received } = task.state;
  const coin = task.coin("taker");
  const { chain } = coin;
  if (chain.status().state !== "ready" || !task.covered.has("taker")) return !isLocked(task);
  const txid = facts.takerPayment?.txid ?? received.takerPayment?.txid;
  const output = chain.outputs(takerScript(task)).find((o) => o.txid === txid && o.vout === 0);
  // No node may have more of it than what the contract says.
  if (!output) return chain.unfound?.(takerScript(task)) === "refunded";
  if (!output.spentBy) return false;
  const spender = output.spentBy.txid;
  if (own.takerPaymentSpend && versionsOf(own.takerPaymentSpend).some((v) => v.txid === spender)) return false;
  const spend = chain.tx(spender);
  return !chain.guard || (spend !== undefined && branchOf(task, coin, "takerPayment", spend, output.txid) === "refund");
}

/** The same by a fresh look, where that tells anything: a backend that is away keeps who asks waiting. */
export async function isClaimInVainNow(task: SwapTask, signal: AbortSignal): Promise<boolean> {
  if (!isUnseen(task)) return false;
  if (!isLocked(task)) await task.coin("taker").chain.refresh(signal, { scripts: [takerScript(task)] });
  return isClaimInVain(task);
}
