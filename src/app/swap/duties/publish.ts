import { type Failure, ownClaim, ownPayment, type Slot } from "../../../core/swap/events.ts";
import { fromHex, toHex } from "../../../core/util/bytes.ts";
import { chainOf } from "../contracts.ts";
import type { SwapTask } from "../swapTask.ts";
import { revealUnsafe } from "./claimAndRefund.ts";

/** Pause between two attempts while the backend refuses or does not answer. */
const RETRY_MS = 5_000;
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
  await coin.chain
    .watchTx(first.txid, role === "maker" ? task.state.terms.makerStartHeight : task.state.terms.takerStartHeight, signal)
    .catch((cause: unknown) => {
      // Watching helps `observe`; sending must not wait for it.
      task.trouble(`watching ${slot}: ${cause instanceof Error ? cause.message : String(cause)}`);
    });
  let lastSentMs = Number.NEGATIVE_INFINITY;
  for (;;) {
    const seen = task.version;
    const known = coin.chain.tx(first.txid);
    const nowMs = task.deps.clock.nowMs();
    let waitMs = LOOK_MS;
    if (!known?.block && (!known ? nowMs - lastSentMs >= RETRY_MS : nowMs - lastSentMs >= REPEAT_MS)) {
      lastSentMs = nowMs;
      const outcome = await coin.chain.broadcast(raw, signal);
      if (outcome.kind === "accepted" || outcome.kind === "already_known") {
        if (!task.state.facts[slot]) await task.emit({ type: "tx_seen", slot, txid: first.txid, raw: first.raw, block: null });
      } else {
        task.trouble(`${slot} ${outcome.kind}: ${outcome.message}`);
        waitMs = RETRY_MS;
      }
    }
    if (slot === ownPayment(role)) await cancelIfTooLate(task, raw);
    await task.news(seen, waitMs, signal);
  }
}

/** Why a transaction that never left must not leave now; null = send, "wait" = look again soon. */
async function whyNotSend(task: SwapTask, slot: Slot, notAfter: number | null, signal: AbortSignal): Promise<string | "wait" | null> {
  if (notAfter !== null && task.nowSec() > notAfter) return `it was not sent before its time limit ${notAfter}`;
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
 * An attempted payment that is in no block when its confirmation window closes can only do harm by confirming later:
 * its inputs are spent back to ourselves. The refund stays armed until one of the two is deep.
 */
async function cancelIfTooLate(task: SwapTask, raw: Uint8Array): Promise<void> {
  const s = task.state;
  const { role } = s.terms;
  const slot = ownPayment(role);
  const { makerPaymentConfirmedBy, revealBy } = task.times();
  const limit = role === "maker" ? makerPaymentConfirmedBy : revealBy;
  if (s.own.cancel || s.facts[slot]?.block || task.nowSec() <= limit) return;
  const event = role === "maker" ? "MakerPaymentWaitConfirmFailed" : "TakerPaymentWaitForSpendFailed";
  if (!s.refund) await task.emit({ type: "refund_decided", failure: { event, reason: `own payment is in no block by ${limit}` } });
  const built = task.coin(chainOf(role, slot)).buildCancel(raw);
  if (!built.ok) return task.trouble("the payment could not be cancelled: too little value for the fee");
  await task.emit({ type: "tx_signed", slot: "cancel", txid: built.value.txid, raw: toHex(built.value.raw), notAfter: null });
}
