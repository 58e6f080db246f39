import {
  type Failure,
  isChildSlot,
  ownClaim,
  ownPayment,
  ownRefund,
  type Slot,
  theirClaim,
  theirPayment,
} from "../../../core/swap/events.ts";
import { duties, isFeeMoot, type SwapState, secretIsPublic, versionsOf } from "../../../core/swap/swapState.ts";
import { fromHex } from "../../../core/util/bytes.ts";
import { fundsErrorText } from "../../fundsErrorText.ts";
import { chainOf, contractOf } from "../contracts.ts";
import { OfferPause } from "../offerPause.ts";
import { Repeater } from "../repeater.ts";
import type { SwapCoin } from "../swapCoin.ts";
import type { SwapTask } from "../swapTask.ts";
import { revealUnsafe } from "./claimAndRefund.ts";
import { feeLostTo } from "./fee.ts";
import { childFees, currentVersion, isBuiltOnByOthers, isChained, renew, whyNotAgain } from "./feeVersions.ts";
import { isBeforeItsTime } from "./lockTimes.ts";
import { outageOf } from "./outageOf.ts";
import { whyNotSendPayment } from "./payment.ts";
import { storeSpend } from "./storeSigned.ts";

/** First pause between two attempts while the backend does not have it; then see `OfferPause`. */
const RETRY_MS = 5_000;
/** Two looks without news are at least this far apart. */
const LEAST_MS = 1_000;
/** A cancellation is refused until the payment has left the mempool, or for good. */
const CANCEL_RETRY_MS = 30_000;
/** A transaction the backend has is sent again this often until it confirms; mempools forget. */
const REPEAT_MS = 120_000;
/** News of the chain and of this swap wakes this duty; without any it looks this often: fees and time limits follow the clock. */
const LOOK_MS = 30_000;

/**
 * The outbox (design D4): sends a stored transaction, and goes on sending it, until a chain fact ends the duty.
 * The mark `tx_attempted` is durable before the first send; without it, past `notAfter`, nothing is ever sent.
 * Another version (a higher fee, a payment's new id) is stored before it is sent; the mark of the first covers it.
 */
export async function publish(task: SwapTask, slot: Slot, signal: AbortSignal): Promise<void> {
  const { role } = task.state.terms;
  const coin = task.coin(chainOf(role, slot));
  const first = task.state.own[slot];
  if (!first) return;
  const raw = fromHex(first.raw);
  if (!first.attempted) {
    // A payment that came back under another id meanwhile needs another claim, which is then judged like the first.
    if (!currentVersion(task, slot)) await renew(task, slot, false);
    const refused = await whyNotSend(task, slot, first.notAfter, signal);
    if (refused === "wait") return task.news(task.seen("chain"), RETRY_MS, signal);
    if (refused) return drop(task, slot, raw, refused);
    // Nothing in a fee names its swap: the mark does (see `takeUpFee`). One that never leaves has none, for its inputs serve again.
    const marks = slot === "fee" && coin.relayPolicy !== "nonce" ? [{ kind: "fee_tx", value: first.txid } as const] : [];
    // While the chains were asked another duty may have decided otherwise: a maker that takes its payment back shows no secret.
    const isWanted = (s: SwapState): boolean => duties(s).some((d) => d.do === "publish" && d.slot === slot);
    if (!(await task.emitIf(isWanted, { type: "tx_attempted", slot }, marks))) return;
  }
  let sending = null as { readonly txid: string; readonly repeat: Repeater } | null;
  const pause = new OfferPause(slot === "cancel" ? CANCEL_RETRY_MS : RETRY_MS);
  let refused = false;
  for (;;) {
    const seen = task.seen("chain");
    // Its nonce is not kept for it: the cancellation or refund of this swap's payment, and what other swaps must send, wait behind.
    if (slot === "fee" && isFeeMoot(task.state)) coin.giveUp?.(raw, refused);
    // One that lost its inputs can be sent by nobody.
    if (slot === "fee" && feeLostTo(task) !== null) {
      await task.news(seen, LOOK_MS, signal);
      continue;
    }
    // Before sending: a payment whose time passed while this node was down must not leave now.
    const mayLeave = slot !== ownPayment(role) || (await isInTime(task, raw, signal));
    if (signal.aborted) return;
    // A swap that came to nothing pays nothing more for its fee.
    if (!isInBlock(task, slot) && task.state.finished !== "failed") {
      const hopeless = await whyNotAgain(task, slot, signal);
      if (hopeless) task.trouble(hopeless);
      else await renew(task, slot, refused);
    }
    const version = currentVersion(task, slot);
    if (!version) {
      await task.news(seen, LOOK_MS, signal);
      continue;
    }
    if (sending?.txid !== version.txid) {
      sending = { txid: version.txid, repeat: new Repeater(task.deps.clock) };
      refused = false;
      follow(task, slot, version.txid, signal);
    }
    const resend = sending.repeat;
    const known = coin.chain.tx(version.txid);
    const pauseMs = pause.ms(coin, version.txid);
    if (mayLeave && !isInBlock(task, slot) && resend.isDue(known ? REPEAT_MS : pauseMs)) {
      if (!known && slot === ownClaim(role)) await bringBackPayment(task, signal);
      if (isChained(task, slot)) await sendEarlier(task, slot, version.txid, signal);
      if (!known) await sendForsaken(task, coin, version.raw, signal);
      const outcome = await coin.chain.broadcast(fromHex(version.raw), signal);
      pause.offered();
      if (outcome.kind === "accepted" || outcome.kind === "already_known") {
        refused = false;
        // What comes after the end of a swap that came to nothing is no part of its story.
        if (!task.state.facts[slot] && task.state.finished !== "failed")
          await task.emit({ type: "tx_seen", slot, txid: version.txid, raw: version.raw, block: null });
      } else {
        task.trouble(`${slot} ${outcome.kind}: ${outcome.message}`);
        refused = outcome.kind === "rejected" && !isBeforeItsTime(task, slot) && !anyKnown(task, slot);
        if (slot === "fee" && outcome.kind === "rejected") feeRefused(task, coin, raw);
        if (refused) await sendOlder(task, slot, version.txid, signal);
      }
    }
    const isOut = !mayLeave || coin.chain.tx(version.txid) !== undefined || isInBlock(task, slot);
    const againMs = isOut ? LOOK_MS : resend.leftMs(pause.ms(coin, version.txid));
    await task.news(seen, Math.min(LOOK_MS, Math.max(LEAST_MS, againMs)), signal);
  }
}

/** Nobody may count on the change of a fee that is refused when its swap has come to nothing: it counts again once it is listed. */
function feeRefused(task: SwapTask, coin: SwapCoin, raw: Uint8Array): void {
  task.feeRefusedAt = task.nowSec();
  if (task.state.finished === "failed" && coin.builtOn(raw).size === 0) coin.dropChange(raw);
}

/**
 * Some version of it, or a malleated form, is in a block as the index has it now; or a contract holds a payment that nobody shows. A claim
 * or refund that failed there is not over: there will be another; whatever else failed is not sent again.
 */
function isInBlock(task: SwapTask, slot: Slot): boolean {
  const coin = task.coin(chainOf(task.state.terms.role, slot));
  const { chain } = coin;
  if (slot === ownPayment(task.state.terms.role) && chain.unfound?.(coin.contractScript(contractOf(task.state, slot)))) return true;
  const fact = task.state.facts[slot];
  const tx = task.state.own[slot];
  const ids = [...(fact ? [fact.txid] : []), ...(tx ? versionsOf(tx).map((v) => v.txid) : [])];
  const mayBeRebuilt = slot === ownClaim(task.state.terms.role) || slot === ownRefund(task.state.terms.role);
  return ids.some((id) => {
    const known = chain.tx(id);
    return known?.block && !(known.failed && mayBeRebuilt);
  });
}

function anyKnown(task: SwapTask, slot: Slot): boolean {
  const { chain } = task.coin(chainOf(task.state.terms.role, slot));
  const tx = task.state.own[slot];
  return tx !== undefined && versionsOf(tx).some((v) => chain.tx(v.txid));
}

/** Not waited for: it helps `observe`, and it resolves only after a whole look at the chain. */
function follow(task: SwapTask, slot: Slot, txid: string, signal: AbortSignal): void {
  const { role, makerStartHeight, takerStartHeight } = task.state.terms;
  const side = chainOf(role, slot);
  const from = side === "maker" ? makerStartHeight : takerStartHeight;
  task
    .coin(side)
    .chain.watchTx(txid, from, signal)
    .catch((cause: unknown) => {
      if (!signal.aborted) task.trouble(`watching ${slot}: ${cause instanceof Error ? cause.message : String(cause)}`);
    });
}

/** A child of a child is worth nothing without the one before it. */
async function sendEarlier(task: SwapTask, slot: Slot, newest: string, signal: AbortSignal): Promise<void> {
  const { chain } = task.coin(chainOf(task.state.terms.role, slot));
  const tx = task.state.own[slot];
  for (const v of tx ? versionsOf(tx) : []) {
    if (v.txid !== newest && !chain.tx(v.txid)) await chain.broadcast(fromHex(v.raw), signal);
  }
}

/** A backend may find the newest version's fee absurd after it refused everything for hours: then an older one will do. */
async function sendOlder(task: SwapTask, slot: Slot, newest: string, signal: AbortSignal): Promise<void> {
  const { chain } = task.coin(chainOf(task.state.terms.role, slot));
  const tx = task.state.own[slot];
  for (const v of tx ? versionsOf(tx).toReversed() : []) {
    if (v.txid === newest) continue;
    const { kind } = await chain.broadcast(fromHex(v.raw), signal);
    if (kind === "accepted" || kind === "already_known") return;
  }
}

/**
 * What an own transaction is built on and nobody else sends any more, though a mempool may have forgotten it: a child, once
 * its parent is in a block.
 */
async function sendForsaken(task: SwapTask, coin: SwapCoin, raw: string, signal: AbortSignal): Promise<void> {
  for (const txid of coin.parentsOf(fromHex(raw))) {
    const parent = coin.chain.tx(txid) ? null : task.deps.ownTx(txid);
    if (!parent?.state.own[parent.slot]?.attempted || !isChildSlot(parent.slot)) continue;
    await sendForsaken(task, coin, parent.raw, signal);
    await coin.chain.broadcast(fromHex(parent.raw), signal);
  }
}

/**
 * A reorg or a full mempool may have taken the payment that is being claimed: its bytes are put before the network first. The
 * taker's is built on the change of its fee, as a rule, and the taker, whose swap has ended, may send neither any more.
 */
async function bringBackPayment(task: SwapTask, signal: AbortSignal): Promise<void> {
  const { role } = task.state.terms;
  const { chain } = task.coin(chainOf(role, theirPayment(role)));
  const payment = task.state.received[theirPayment(role)];
  if (!payment || chain.tx(payment.txid)) return;
  const fee = role === "maker" ? task.state.received.fee : undefined;
  if (fee && fee.raw !== "" && !chain.tx(fee.txid)) await chain.broadcast(fromHex(fee.raw), signal);
  await chain.broadcast(fromHex(payment.raw), signal);
}

/** Why a transaction that never left must not leave now; null = send, "wait" = look again soon. */
async function whyNotSend(task: SwapTask, slot: Slot, notAfter: number | null, signal: AbortSignal): Promise<string | "wait" | null> {
  if (slot === "takerPaymentSpend" && secretIsPublic(task.state)) return null;
  const late = (): string | null =>
    notAfter !== null && task.nowSec() > notAfter ? `it was not sent before its time limit ${notAfter}` : null;
  if (late()) return late();
  const { role } = task.state.terms;
  const outage = slot === "fee" || slot === ownPayment(role) ? await outageOf(task.coin(role), signal) : null;
  if (outage) {
    task.trouble(outage);
    return late() ?? "wait";
  }
  if (slot === ownPayment(role)) {
    // Signed before a crash, perhaps: what was proven then is proven again.
    const unsafe = await whyNotSendPayment(task, signal);
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

const DROPPED: { readonly [S in Slot]?: string } = {
  fee: "TakerFeeSendFailed",
  makerPayment: "MakerPaymentTransactionFailed",
  takerPayment: "TakerPaymentTransactionFailed",
  takerPaymentSpend: "TakerPaymentSpendFailed",
};

async function drop(task: SwapTask, slot: Slot, raw: Uint8Array, reason: string): Promise<void> {
  const { role } = task.state.terms;
  const failure: Failure = { event: DROPPED[slot] ?? "Finished", reason };
  // The decision comes first: dropping alone would let the duty build the transaction anew.
  if (slot === ownClaim(role)) await task.emit({ type: "refund_decided", failure });
  else await task.emit({ type: "abandoned", failure });
  task.coin(chainOf(role, slot)).releaseInputs(raw);
  await task.emit({ type: "tx_dropped", slot, failure });
}

/**
 * An attempted payment that is in no block when its confirmation window closes can only do harm by confirming later: its
 * inputs are spent back to ourselves. The refund stays armed until one of the two is deep. Not cancelled is a payment
 * that others of ours are built on, which would go with it, and one the swap has already used: an honest node does not
 * take back what it was paid for.
 * @returns whether the payment may be sent (again) now
 */
async function isInTime(task: SwapTask, raw: Uint8Array, signal: AbortSignal): Promise<boolean> {
  const { role } = task.state.terms;
  const slot = ownPayment(role);
  const { makerPaymentConfirmedBy, revealBy } = task.times();
  const window = role === "maker" ? makerPaymentConfirmedBy : revealBy;
  const notAfter = task.state.own[slot]?.notAfter ?? window;
  if (task.state.facts[slot]?.block || task.nowSec() <= notAfter) return true;
  // The window may have closed while this node or its backend was down: the chain decides, not what we last knew of it.
  const coin = task.coin(chainOf(role, slot));
  await coin.chain.refresh(signal);
  const s = task.state;
  const txid = s.facts[slot]?.txid ?? s.own[slot]?.txid;
  if (s.own.cancel || txid === undefined || coin.chain.status().state !== "ready") return false;
  // One the backend has may confirm until its window closes; one it does not have left too late, or never.
  const known = coin.chain.tx(txid);
  const limit = known ? window : notAfter;
  const isThere = known?.block || coin.chain.unfound?.(coin.contractScript(contractOf(s, slot)));
  if (s.facts[slot]?.block || isThere || task.nowSec() <= limit) return true;
  const event = role === "maker" ? "MakerPaymentWaitConfirmFailed" : "TakerPaymentWaitForSpendFailed";
  const failure = { event, reason: `own payment is in no block by ${limit}` };
  // Also where it is decided already: a child that is being stored right now is then known as ours.
  if (!(await task.emitIf((now) => !isPaidFor(now), { type: "refund_decided", failure }))) return true;
  if (isBuiltOnByOthers(task, "paymentChild", raw)) return true;
  const built = coin.buildCancel(raw, childFees(task, "paymentChild"));
  if (built.ok) {
    coin.dropChange(raw);
    await storeSpend(task, "cancel", built.value, null);
  } else {
    task.trouble(`the payment could not be cancelled: ${fundsErrorText(built.error)}`);
  }
  return false;
}

/** Whether the own payment has been used. The own claim may be on the chain though an old backup does not know of it. */
function isPaidFor({ terms: { role }, own, facts }: SwapState): boolean {
  return own[ownClaim(role)]?.attempted === true || facts[ownClaim(role)] !== undefined || facts[theirClaim(role)] !== undefined;
}
