import { type Failure, ownClaim, ownPayment, type Slot, theirClaim, theirPayment } from "../../../core/swap/events.ts";
import { fromHex, toHex } from "../../../core/util/bytes.ts";
import { fundsErrorText } from "../../fundsErrorText.ts";
import { chainOf } from "../contracts.ts";
import { Repeater } from "../repeater.ts";
import type { SwapTask } from "../swapTask.ts";
import { revealUnsafe } from "./claimAndRefund.ts";
import { theirPaymentUnsafe } from "./payment.ts";

/** Pause between two attempts while the backend refuses or does not answer. */
const RETRY_MS = 5_000;
/** A cancellation is refused until the payment has left the mempool, or for good. */
const CANCEL_RETRY_MS = 30_000;
/** A transaction the backend has is sent again this often until it confirms; mempools forget. */
const REPEAT_MS = 120_000;
/** A payment the backend lost is sent again at once; this bounds how often that is looked at. */
const LOOK_MS = 10_000;

/**
 * The outbox (design D4): sends a stored transaction, and goes on sending it, until a chain fact ends the duty.
 * The mark `tx_attempted` is durable before the first send; without it, past `notAfter`, nothing is ever sent.
 */
export async function publish(task: SwapTask, slot: Slot, signal: AbortSignal): Promise<void> {
  const { role } = task.state.terms;
  const coin = task.coin(chainOf(role, slot));
  const first = task.state.own[slot];
  if (!first) return;
  const raw = fromHex(first.raw);
  if (!first.attempted) {
    const refused = await whyNotSend(task, slot, first.notAfter, signal);
    if (refused === "wait") return task.news(task.version, RETRY_MS, signal);
    if (refused) return drop(task, slot, raw, refused);
    await task.emit({ type: "tx_attempted", slot });
  }
  const { makerStartHeight, takerStartHeight } = task.state.terms;
  // Not waited for: it helps `observe`, and it resolves only after a whole look at the chain.
  coin.chain.watchTx(first.txid, chainOf(role, slot) === "maker" ? makerStartHeight : takerStartHeight, signal).catch((cause: unknown) => {
    if (!signal.aborted) task.trouble(`watching ${slot}: ${cause instanceof Error ? cause.message : String(cause)}`);
  });
  const resend = new Repeater(task.deps.clock);
  for (;;) {
    const seen = task.version;
    // Before sending: a payment whose time passed while this node was down must not leave now.
    const mayLeave = slot !== ownPayment(role) || (await isInTime(task, raw, signal));
    if (signal.aborted) return;
    const known = coin.chain.tx(first.txid);
    let waitMs = LOOK_MS;
    if (mayLeave && !known?.block && resend.isDue(known ? REPEAT_MS : slot === "cancel" ? CANCEL_RETRY_MS : RETRY_MS)) {
      if (!known && slot === ownClaim(role)) await bringBackPayment(task, signal);
      const outcome = await coin.chain.broadcast(raw, signal);
      if (outcome.kind === "accepted" || outcome.kind === "already_known") {
        if (!task.state.facts[slot]) await task.emit({ type: "tx_seen", slot, txid: first.txid, raw: first.raw, block: null });
      } else {
        task.trouble(`${slot} ${outcome.kind}: ${outcome.message}`);
        waitMs = RETRY_MS;
      }
    }
    await task.news(seen, waitMs, signal);
  }
}

/** A reorg or a full mempool may have taken the payment that is being claimed: its bytes are put before the network first. */
async function bringBackPayment(task: SwapTask, signal: AbortSignal): Promise<void> {
  const { role } = task.state.terms;
  const slot = theirPayment(role);
  const payment = task.state.received[slot];
  const { chain } = task.coin(chainOf(role, slot));
  if (payment && !chain.tx(payment.txid)) await chain.broadcast(fromHex(payment.raw), signal);
}

/** Why a transaction that never left must not leave now; null = send, "wait" = look again soon. */
async function whyNotSend(task: SwapTask, slot: Slot, notAfter: number | null, signal: AbortSignal): Promise<string | "wait" | null> {
  const late = (): string | null =>
    notAfter !== null && task.nowSec() > notAfter ? `it was not sent before its time limit ${notAfter}` : null;
  if (late()) return late();
  if (slot === "takerPayment") {
    // Signed before a crash, perhaps: what was proven then is proven again.
    const unsafe = await theirPaymentUnsafe(task, signal);
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
  const txid = s.own[slot]?.txid;
  if (s.own.cancel || txid === undefined || coin.chain.status().state !== "ready") return false;
  // One the backend has may confirm until its window closes; one it does not have left too late, or never.
  const known = coin.chain.tx(txid);
  const limit = known ? window : notAfter;
  if (s.facts[slot]?.block || known?.block || task.nowSec() <= limit) return true;
  const event = role === "maker" ? "MakerPaymentWaitConfirmFailed" : "TakerPaymentWaitForSpendFailed";
  if (s.own[ownClaim(role)]?.attempted || s.facts[theirClaim(role)]) return true;
  if (!s.refund) await task.emit({ type: "refund_decided", failure: { event, reason: `own payment is in no block by ${limit}` } });
  if (coin.isBuiltOn(raw)) return true;
  const built = coin.buildCancel(raw);
  if (built.ok) {
    coin.dropChange(raw);
    await task.emit({ type: "tx_signed", slot: "cancel", txid: built.value.txid, raw: toHex(built.value.raw), notAfter: null });
  } else {
    task.trouble(`the payment could not be cancelled: ${fundsErrorText(built.error)}`);
  }
  return false;
}
