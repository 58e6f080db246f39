import { duties } from "../../../core/swap/duties.ts";
import { type Failure, isSigning, ownClaim, ownPayment, ownRefund, type Slot } from "../../../core/swap/events.ts";
import { isFeeMoot, isPaidFor, type OwnTx, type SwapState, secretIsPublic, versionsOf } from "../../../core/swap/swapState.ts";
import { fromHex } from "../../../core/util/bytes.ts";
import { fundsErrorText } from "../../fundsErrorText.ts";
import { bytesOf } from "../bytesOf.ts";
import { chainOf, contractOf, depthOf } from "../contracts.ts";
import { KEEPS_NONCE_SEC, mayBeSignedAnew } from "../keepsNonce.ts";
import type { SwapCoin } from "../swapCoin.ts";
import type { SwapTask } from "../swapTask.ts";
import { byLimit } from "./byLimit.ts";
import { childFees, isBuiltOnByOthers } from "./childVersions.ts";
import { revealUnsafe, whyKept } from "./claimAndRefund.ts";
import { feeInVain, feeLostTo } from "./fee.ts";
import { currentVersion } from "./feeVersions.ts";
import { isLateByChain } from "./lockTimes.ts";
import { otherKey } from "./otherKey.ts";
import { outageOf } from "./outageOf.ts";
import { whyNotSendPayment } from "./payment.ts";
import { formsToSpend, likeliestForm } from "./paymentForms.ts";
import { isPaymentUnseen, maySendPayment, paymentSentBy } from "./paymentLeaves.ts";
import { whyRefundStays } from "./refundView.ts";
import { renew } from "./renew.ts";
import { bringBackPayment, LOOK_MS, RETRY_MS, Sending } from "./sending.ts";
import { signAmply } from "./signAmply.ts";
import { storeSpend } from "./storeSigned.ts";

/** What a payment with a nonce rests on is looked at for so long at most: servers that answer take seconds. */
const PROOF_SEC = 120;
/** Two looks without news are at least this far apart. */
const LEAST_MS = 1_000;

/**
 * The outbox (design D4): sends a stored transaction, and goes on sending it, until a chain fact ends the duty.
 * The mark `tx_attempted` is durable before the first send; without it, past `notAfter`, nothing is ever sent.
 * Another version (a higher fee, another form of the payment) is stored before it is sent; the mark of the first covers it.
 */
export async function publish(task: SwapTask, slot: Slot, signal: AbortSignal): Promise<void> {
  const { role } = task.state.terms;
  const coin = task.coin(chainOf(role, slot));
  const first = task.state.own[slot];
  if (!first) return;
  const raw = bytesOf(first);
  if (!first.attempted) {
    // A payment that came back under another id meanwhile needs another claim, which is then judged like the first.
    if (!currentVersion(task, slot)) await renew(task, slot, false);
    if (slot === ownClaim(role)) await signAmply(task);
    if (isClaimHeldBack(task, slot) && hasLostNonce(task, slot)) return giveNonceBack(task, slot);
    const refused = await whyNotSend(task, slot, first.notAfter, signal);
    if (refused === "wait") {
      if (hasNonce(task, slot) && hasWaited(task, slot)) await giveNonceBack(task, slot);
      return task.news(task.seen("chain"), RETRY_MS, signal);
    }
    if (refused) return drop(task, slot, refused);
    // Nothing in a fee names its swap: the mark does (see `takeUpFee`). One that never leaves has none, for its inputs serve again.
    const marks = slot === "fee" && coin.relayPolicy !== "nonce" ? [{ kind: "fee_tx", value: first.txid } as const] : [];
    // While the chains were asked another duty may have decided otherwise: a maker that takes its payment back shows no secret.
    const isWanted = (s: SwapState): boolean => duties(s).some((d) => d.do === "publish" && d.slot === slot);
    // It may have to be made dearer once it has left.
    if (slot === ownClaim(role)) holdClaimGas(task, slot);
    if (!(await task.emitIf(isWanted, { type: "tx_attempted", slot }, marks))) return;
  }
  const sendings = new Map<string | null, Sending>();
  let isRefused = false;
  let isProven = !first.attempted;
  for (;;) {
    const seen = task.seen("chain");
    // Its nonce is not kept for it: the cancellation or refund of this swap's payment, and what other swaps must send, wait behind.
    if (slot === "fee" && isFeeMoot(task.state)) coin.giveUp?.(raw, isRefused);
    // One that lost its inputs can be sent by nobody.
    if (slot === "fee" && feeLostTo(task) !== null) {
      await task.news(seen, LOOK_MS, signal);
      continue;
    }
    // It was signed when the claim was in no block, before a start, perhaps. With a child goes what it is built on.
    const isRefund = slot === ownRefund(role) || slot === "refundChild";
    if (isRefund && !task.state.facts[ownRefund(role)]?.confirmed && whyRefundStays(task) !== null) {
      await task.news(seen, LOOK_MS, signal);
      continue;
    }
    // A child goes with its claim, whose bytes are sent before it.
    const showsSecret = (slot === "takerPaymentSpend" && !isProven) || slot === "claimChild";
    const kept = showsSecret ? await whyKept(task, signal) : null;
    if (kept !== null) {
      task.trouble(kept);
      // After its lock it could only go back.
      if (task.nowSec() <= task.times().takerLock) await bringBackPayment(task, null, signal);
      await task.news(seen, LOOK_MS, signal);
      continue;
    }
    // Before sending: a payment whose time passed while this node was down must not leave now.
    const mayLeave = slot !== ownPayment(role) || (await isInTime(task, raw, signal));
    const mustProve = slot === ownPayment(role) && !isProven;
    const isSafe = async (): Promise<boolean> => !mustProve || isStillSafe(task, signal);
    isProven = false;
    if (signal.aborted) return;
    const forms = formsToSpend(task, slot);
    for (const gone of [...sendings.keys()].filter((form) => !forms.includes(form))) sendings.delete(gone);
    let againMs = LOOK_MS;
    const likely = likeliestForm(task, slot) ?? forms[0];
    for (const form of forms.toSorted((a, b) => Number(b === likely) - Number(a === likely))) {
      const sending = sendings.get(form) ?? new Sending(task, slot, form);
      sendings.set(form, sending);
      const others = form === forms[0] || form === likely ? 0 : forms.length - (likely === forms[0] ? 1 : 2);
      againMs = Math.min(againMs, await sending.turn(mayLeave, isSafe, form === forms[0], others, signal));
      if (form === forms[0]) isRefused = sending.isRefused;
      if (signal.aborted) return;
    }
    await task.news(seen, Math.max(LEAST_MS, againMs), signal);
  }
}

/** Why a transaction that never left must not leave now; null = send, "wait" = look again soon. */
async function whyNotSend(task: SwapTask, slot: Slot, notAfter: number | null, signal: AbortSignal): Promise<string | "wait" | null> {
  if (slot === "takerPaymentSpend" && secretIsPublic(task.state)) return null;
  const late = (): string | null =>
    notAfter !== null && task.nowSec() > notAfter ? `it was not sent before its time limit ${notAfter}` : null;
  if (late()) return late();
  const { role } = task.state.terms;
  const outage = slot === "fee" || slot === ownPayment(role) ? (otherKey(task) ?? (await outageOf(task.coin(role), signal))) : null;
  const obstacle = outage ?? (slot === "fee" ? feeInVain(task) : null);
  if (obstacle) {
    task.trouble(obstacle);
    return late() ?? "wait";
  }
  if (slot === ownPayment(role)) {
    // Signed before a crash, perhaps: what was proven then is proven again.
    const unsafe = await whyNotPay(task, notAfter, signal);
    if (unsafe) task.trouble(unsafe);
    return late() ?? (unsafe ? "wait" : null);
  }
  if (slot !== "takerPaymentSpend") return null;
  const unsafe = await revealUnsafe(task, signal);
  if (!unsafe) return null;
  if (unsafe.final) return unsafe.reason;
  task.trouble(unsafe.reason);
  return "wait";
}

/** Why a payment must not leave now; null when it may. Where others wait for its nonce no chain is waited for until its limit. */
function whyNotPay(task: SwapTask, notAfter: number | null, signal: AbortSignal): Promise<string | null> {
  const soon = task.nowSec() + PROOF_SEC;
  const isSoon = notAfter === null || task.nowSec() > notAfter || hasNonce(task, ownPayment(task.state.terms.role));
  return byLimit(task, isSoon ? soon : notAfter, signal, (s) => whyNotSendPayment(task, s));
}

const hasNonce = (task: SwapTask, slot: Slot): boolean => task.coin(chainOf(task.state.terms.role, slot)).relayPolicy === "nonce";

/** Whether it is a claim with a nonce that stays here while its secret does. */
const isClaimHeldBack = (task: SwapTask, slot: Slot): boolean =>
  slot === "takerPaymentSpend" && !secretIsPublic(task.state) && hasNonce(task, slot);

function hasLostNonce(task: SwapTask, slot: Slot): boolean {
  const tx = task.state.own[slot];
  return tx !== undefined && task.coin(chainOf(task.state.terms.role, slot)).lostNonce?.(fromHex(tx.raw)) === true;
}

function hasWaited(task: SwapTask, slot: Slot): boolean {
  const signed = task.lastTimeOf((e) => isSigning(e) && e.slot === slot);
  return signed !== null && task.nowSec() - signed >= KEEPS_NONCE_SEC;
}

const rawsOf = (tx: OwnTx): readonly Uint8Array[] => versionsOf(tx).map(({ raw }) => fromHex(raw));

function release(coin: SwapCoin, tx: OwnTx): void {
  for (const raw of rawsOf(tx)) coin.releaseInputs(raw);
}

/**
 * What may not leave has everything later of its account wait behind it, the claims of other swaps, too, whose time may be over before that of a fee or
 * payment is. That it never leaves as it is signed now is stored first; then its nonce is free, gas is held for it as before, and it is signed anew when it
 * may leave.
 */
export async function giveNonceBack(task: SwapTask, slot: Slot): Promise<void> {
  const { role } = task.state.terms;
  const coin = task.coin(chainOf(role, slot));
  const tx = task.state.own[slot];
  const isUnsent = ({ own }: SwapState): boolean => own[slot]?.attempted === false && own[slot].txid === tx?.txid;
  if (!tx || !mayBeSignedAnew(coin, role, slot, rawsOf(tx))) return;
  await task.emitIf(isUnsent, { type: "tx_dropped", slot, failure: null });
  // The log counts: it may be stored though the answer was lost.
  if (task.state.own[slot]?.txid === tx.txid) return;
  release(coin, tx);
  // Signed again already.
  if (slot === ownClaim(role) && !task.state.own[slot]) holdClaimGas(task, slot);
}

/** What a claim may cost, as far as there is so much, unless it is held already: a claim that was signed before a restart has nothing yet. */
function holdClaimGas(task: SwapTask, slot: Slot): void {
  if (task.claimReservation || task.state.finished) return;
  const coin = task.coin(chainOf(task.state.terms.role, slot));
  const { makerLock } = task.times();
  const untilSec = makerLock + task.state.terms.lockDurationSec;
  const held = coin.reserveClaimAgain(Math.max(1, untilSec - task.nowSec()) * 1_000);
  if (!held.ok) task.trouble(`no gas is held for the claim: ${fundsErrorText(held.error)}`);
  else if (held.value) {
    task.claimReservation = held.value;
    coin.adopt(held.value);
  }
}

const DROPPED: { readonly [S in Slot]?: string } = {
  fee: "TakerFeeSendFailed",
  makerPayment: "MakerPaymentTransactionFailed",
  takerPayment: "TakerPaymentTransactionFailed",
  takerPaymentSpend: "TakerPaymentSpendFailed",
};

async function drop(task: SwapTask, slot: Slot, reason: string): Promise<void> {
  const { role } = task.state.terms;
  const tx = task.state.own[slot];
  const failure: Failure = { event: DROPPED[slot] ?? "Finished", reason };
  // The decision comes first: dropping alone would let the duty build the transaction anew.
  if (slot === ownClaim(role)) await task.emit({ type: "refund_decided", failure });
  else await task.emit({ type: "abandoned", failure });
  if (tx) release(task.coin(chainOf(role, slot)), tx);
  await task.emit({ type: "tx_dropped", slot, failure });
}

/**
 * An attempted payment that is in no block when its confirmation window closes can only do harm by confirming later: its
 * inputs are spent back to ourselves. The refund stays armed until one of the two is deep. Not cancelled is a payment
 * that others of ours are built on, which would go with it, unless it stays home for good, and one the swap has already used: an honest node does not
 * take back what it was paid for.
 * @returns whether the payment may be sent (again) now
 */
async function isInTime(task: SwapTask, raw: Uint8Array, signal: AbortSignal): Promise<boolean> {
  const { role } = task.state.terms;
  const slot = ownPayment(role);
  if (maySendPayment(task, false) || (await isInRealBlock(task, signal))) return true;
  // The window may have closed while this node or its backend was down: the chain decides, not what we last knew of it.
  const coin = task.coin(chainOf(role, slot));
  await coin.chain.refresh(signal, { scripts: [coin.contractScript(contractOf(task.state, slot))] });
  const s = task.state;
  const txid = s.facts[slot]?.txid ?? s.own[slot]?.txid;
  if (s.own.cancel || txid === undefined || coin.chain.status().state !== "ready") return false;
  const known = coin.chain.tx(txid);
  const isThere = coin.chain.unfound?.(coin.contractScript(contractOf(s, slot)));
  if (isThere || maySendPayment(task, known !== undefined) || (await isInRealBlock(task, signal))) return true;
  const event = role === "maker" ? "MakerPaymentWaitConfirmFailed" : "TakerPaymentWaitForSpendFailed";
  const failure = { event, reason: isLateByChain(task) ?? `own payment is in no block by ${paymentSentBy(task, known !== undefined)}` };
  // Also where it is decided already: a child that is being stored right now is then known as ours.
  if (!(await task.emitIf((now) => !isPaidFor(now), { type: "refund_decided", failure }))) return true;
  if (isBuiltOnByOthers(task, "paymentChild", raw) && !(await staysHome(task, signal))) return true;
  const built = coin.buildCancel(raw, { paid: BigInt(s.own[slot]?.fee ?? 0), childFees: childFees(task, "paymentChild") });
  if (built.ok) {
    coin.dropChange(raw);
    await storeSpend(task, "cancel", built.value, null);
  } else if (!task.state.isOursGone) {
    task.trouble(`the payment could not be cancelled: ${fundsErrorText(built.error)}`);
  }
  return false;
}

/**
 * Whether what was proven of the other side when the mark of a payment was stored holds still, where no chain shows it: a
 * backend that refuses it for a while may take it when what it is for has gone with a reorganisation, and one that took it and passed it on to nobody may
 * do so then. One the swap has used already leaves in any case: an honest node pays for what it took.
 */
async function isStillSafe(task: SwapTask, signal: AbortSignal): Promise<boolean> {
  const tx = unseenPayment(task);
  if (!tx) return true;
  const unsafe = await whyNotPay(task, tx.notAfter, signal);
  if (unsafe) task.trouble(unsafe);
  return unsafe === null;
}

/** The own payment, where no chain shows it, and nobody was seen to use it. */
function unseenPayment(task: SwapTask): OwnTx | null {
  const tx = task.state.own[ownPayment(task.state.terms.role)];
  return tx && isPaymentUnseen(task) ? tx : null;
}

/**
 * Whether a payment that nobody is known to have never leaves again: what it is for has gone, and past its own lock that is for good. What is built on it
 * could not confirm either way.
 */
async function staysHome(task: SwapTask, signal: AbortSignal): Promise<boolean> {
  const { lock } = contractOf(task.state, ownPayment(task.state.terms.role));
  // To prove takes up to minutes, in which it may have come back.
  return task.nowSec() > lock && !(await isStillSafe(task, signal)) && unseenPayment(task) !== null;
}

/** Whether the own payment is in a block, and nothing speaks against that: where blocks cost nothing, strangers make one up. */
async function isInRealBlock(task: SwapTask, signal: AbortSignal): Promise<boolean> {
  const { state } = task;
  const slot = ownPayment(state.terms.role);
  const { chain } = task.coin(chainOf(state.terms.role, slot));
  const txid = state.facts[slot]?.txid ?? state.own[slot]?.txid;
  const block = state.facts[slot]?.block ?? (txid === undefined ? null : chain.tx(txid)?.block);
  if (!block) return false;
  const doubt = await chain.doubt?.(block, Math.max(1, depthOf(state, slot).confs), signal);
  if (doubt) task.trouble(`${slot}: ${doubt}`);
  return !doubt;
}
