import { mayShowSecret, versionsOf } from "../../../core/swap/swapState.ts";
import { contractOf } from "../contracts.ts";
import type { SwapTask } from "../swapTask.ts";

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

/**
 * Whether the late claim would show the secret and bring nothing, as far as its chain is known: the taker's payment has gone back. While that
 * stands, the claim goes out late, for it may have left; and while nobody answers, or an index that begins anew has not come to the payment, it waits.
 */
export function isClaimInVain(task: SwapTask): boolean {
  if (!isUnseen(task)) return false;
  const { own, facts, received } = task.state;
  const { chain } = task.coin("taker");
  if (chain.status().state !== "ready" || !task.covered.has("taker")) return true;
  const txid = facts.takerPayment?.txid ?? received.takerPayment?.txid;
  const spend = chain.outputs(takerScript(task)).find((o) => o.txid === txid && o.vout === 0)?.spentBy;
  return Boolean(spend && !(own.takerPaymentSpend && versionsOf(own.takerPaymentSpend).some((v) => v.txid === spend.txid)));
}

/** The same by a fresh look. */
export async function isClaimInVainNow(task: SwapTask, signal: AbortSignal): Promise<boolean> {
  if (!isUnseen(task)) return false;
  await task.coin("taker").chain.refresh(signal, { scripts: [takerScript(task)] });
  return isClaimInVain(task);
}
