import { type ClaimView, claimStays } from "../../../core/swap/claimStays.ts";
import { mayShowSecret, versionsOf } from "../../../core/swap/swapState.ts";
import { fromHex } from "../../../core/util/bytes.ts";
import type { SeenOutput } from "../../../ports/chain.ts";
import { Aborted, withDeadline } from "../../../ports/clock.ts";
import { contractOf, depthOf, notDeep } from "../contracts.ts";
import type { SwapCoin } from "../swapCoin.ts";
import type { SwapTask } from "../swapTask.ts";
import { branchOf } from "./provenSpend.ts";

/** A backend that is away keeps whoever asks waiting: before the payment's lock it is waited for no longer. */
const LOOK_MS = 10_000;
/** News of the chain tell that an index has come to the payment; without any it is asked so often. */
const COVERED_MS = 1_000;

/**
 * Whether a claim of the maker was marked and never seen by anybody: the process died between the mark and the sending, perhaps, or its backend
 * refused it, and its secret is nobody's but ours.
 */
export function isUnseen(task: SwapTask): boolean {
  const claim = task.state.own.takerPaymentSpend;
  if (!claim || claim.notAfter === null || !mayShowSecret(task.state)) return false;
  const coin = task.coin("taker");
  return versionsOf(claim).every(({ txid, raw }) => !task.taken.has(txid) && isUnknown(coin, txid, raw));
}

/** Where a block has another transaction with its nonce, the chain says so of bytes that it may never have had: the account fills those of what stays home. */
function isUnknown(coin: SwapCoin, txid: string, raw: string): boolean {
  const known = coin.chain.tx(txid);
  return known === undefined || (known.failed === true && coin.lostNonce?.(fromHex(raw)) === true);
}

const takerScript = (task: SwapTask): Uint8Array => task.coin("taker").contractScript(contractOf(task.state, "takerPayment"));

/** By this node's clock, as the claim's own limit: the taker's payment cannot have gone back yet. */
const isLocked = (task: SwapTask): boolean => task.nowSec() <= contractOf(task.state, "takerPayment").lock;

/**
 * By this node's clock: the own payment, which nobody is known to have taken, can go back, and whoever has it back is owed nothing. What a contract says of one
 * that no node shows is true at once; its fact is missing for a while after a start.
 */
function isOursReturnable(task: SwapTask): boolean {
  const contract = contractOf(task.state, "makerPayment");
  if (task.nowSec() <= contract.lock) return false;
  const coin = task.coin("maker");
  const script = coin.contractScript(contract);
  const said = coin.relayPolicy === "nonce" ? (coin.chain.unfound?.(script) ?? null) : null;
  if (said !== null) return said !== "claimed";
  return Boolean(task.state.facts.makerPayment?.block) && !isOursTaken(task, coin, script);
}

/** Whether a contract says that the own payment was taken: who has the secret, though no node shows the claim that it was in. */
function isOursTaken(task: SwapTask, { chain, relayPolicy }: SwapCoin, script: Uint8Array): boolean {
  if (relayPolicy !== "nonce") return false;
  const spentBy = chain.outputs(script).find(({ txid }) => txid === task.state.facts.makerPayment?.txid)?.spentBy;
  return spentBy != null && chain.tx(spentBy.txid) === undefined;
}

/** What is known of a claim that nobody was seen to have, but for whether and how soon it would be paid: that is taken for granted. */
export const claimView = (task: SwapTask): ClaimView => ({
  isEarly: task.nowSec() <= (task.state.own.takerPaymentSpend?.notAfter ?? 0),
  isOursReturnable: isOursReturnable(task),
  theirs: theirsNow(task),
  mustBeSeen: !isLocked(task),
  payout: "paid",
  isSlow: false,
  isShort: false,
});

/**
 * The taker's payment, as far as its chain is known: nobody answers, an index that begins anew has not come to it, or blocks that were not read may have its
 * end. Before the payment's lock it is taken for there whatever strangers show: those who were given the claim and kept it have the secret, and must not keep
 * it from others by what they make up or leave out.
 */
function theirsNow(task: SwapTask): ClaimView["theirs"] {
  const coin = task.coin("taker");
  const { chain } = coin;
  if (chain.guard && isLocked(task)) return "there";
  if (chain.status().state !== "ready" || !task.covered.has("taker") || isUnread(task)) return "unknown";
  const { own, facts, received } = task.state;
  const txid = facts.takerPayment?.txid ?? received.takerPayment?.txid;
  const output = chain.outputs(takerScript(task)).find((o) => o.txid === txid && o.vout === 0);
  if (!output?.spentBy) return chain.guard || stands(task, coin, output) ? "there" : "gone";
  const spender = output.spentBy.txid;
  if (own.takerPaymentSpend && versionsOf(own.takerPaymentSpend).some((v) => v.txid === spender)) return "there";
  const spend = chain.tx(spender);
  const isBack = !chain.guard || (spend !== undefined && branchOf(task, coin, "takerPayment", spend, output.txid) === "refund");
  return isBack ? "gone" : "there";
}

/**
 * Whether a claim that nobody was seen to have must not go, by what is known at once (`claimStays`): the taker's payment has gone back, or a reorganisation
 * took it; or the own one goes back by now, and should the taker have the secret after all, its claim shows that. Where that is not known the claim goes: to
 * look comes first (`isClaimInVainNow`), and whether it may wait until its limit, too (`whyKept`).
 */
export const isClaimInVain = (task: SwapTask): boolean => isUnseen(task) && claimStays({ ...claimView(task), isEarly: false }) !== null;

/** Servers refuse the history of the contract, and what is in its place was not read: whoever likes can bring that about. */
function isUnread(task: SwapTask): boolean {
  const crowded = task.coin("taker").chain.crowded?.(takerScript(task));
  return crowded === "reading" || crowded === "unread";
}

/** Whether the taker's payment, which nothing is known to have spent, is as deep as agreed. Of a contract no node may have more than its word. */
function stands(task: SwapTask, coin: SwapCoin, output: SeenOutput | undefined): boolean {
  if (coin.relayPolicy === "nonce") return output !== undefined || coin.chain.unfound?.(takerScript(task)) === "unspent";
  return output !== undefined && notDeep(coin.chain, output.block, depthOf(task.state, "takerPayment")) === null;
}

/** The same by a fresh look, where that tells anything. */
export async function isClaimInVainNow(task: SwapTask, signal: AbortSignal): Promise<boolean> {
  if (!isUnseen(task)) return false;
  const { chain } = task.coin("taker");
  const look = async (s: AbortSignal): Promise<void> => {
    // After a start nobody has come to the payment yet.
    while (!task.covered.has("taker") && !s.aborted) await task.news(task.seen("chain"), COVERED_MS, signal);
    await chain.refresh(s, { scripts: [takerScript(task)] });
  };
  if (!isLocked(task)) await look(signal);
  else if (!chain.guard) {
    await withDeadline(task.deps.clock, LOOK_MS, signal, look).catch((cause: unknown) => {
      if (signal.aborted || !(cause instanceof Aborted)) throw cause;
    });
  }
  return isClaimInVain(task);
}
