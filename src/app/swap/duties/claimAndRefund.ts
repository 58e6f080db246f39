import { ownPayment, ownRefund, theirPayment } from "../../../core/swap/events.ts";
import { fromHex, toHex } from "../../../core/util/bytes.ts";
import { fundsErrorText } from "../../fundsErrorText.ts";
import { chainOf, contractOf } from "../contracts.ts";
import type { SwapTask } from "../swapTask.ts";
import { theirPaymentUnsafe } from "./payment.ts";

const LOOK_AGAIN_MS = 2_000;
/** The refund waits for blocks; between news of the chain it looks this often. */
const REFUND_LOOK_MS = 15_000;

/**
 * Why the maker must not reveal the secret now; null when it is safe (promise "Secret", reference swap-protocol.md 9.2):
 * the taker payment stands deep and unspent, and there is time to confirm the claim before the taker may refund.
 */
export async function revealUnsafe(
  task: SwapTask,
  signal: AbortSignal,
): Promise<{ readonly final: boolean; readonly reason: string } | null> {
  const { revealBy, takerLock } = task.times();
  const tooLate = (): boolean => task.nowSec() > revealBy;
  const late = { final: true, reason: `too late to reveal the secret: the limit was ${revealBy}` };
  if (tooLate()) return late;
  const unsafe = await theirPaymentUnsafe(task, signal);
  // Looking at the chain may have taken long: the clock decides last.
  if (tooLate()) return late;
  if (unsafe) return { final: false, reason: unsafe };
  const mtp = task.coin("taker").chain.status().tip?.medianTimePastSec ?? Number.POSITIVE_INFINITY;
  const margin = takerLock - revealBy;
  if (mtp >= takerLock - margin)
    return { final: true, reason: `the taker chain's time ${mtp} is within ${margin} s of the taker's refund time ${takerLock}` };
  return null;
}

/** Builds and stores the claim of the other payment. The maker's claim reveals the secret, so it is proven safe first. */
export async function claim(task: SwapTask, signal: AbortSignal): Promise<void> {
  const s = task.state;
  const { role } = s.terms;
  const slot = theirPayment(role);
  const payment = s.facts[slot]?.raw ?? s.received[slot]?.raw;
  const secret = role === "maker" ? task.deps.secret() : s.secret === null ? null : fromHex(s.secret);
  if (payment === undefined || secret === null) return;
  if (role === "maker") {
    const unsafe = await revealUnsafe(task, signal);
    if (unsafe?.final) return task.emit({ type: "refund_decided", failure: { event: "TakerPaymentSpendFailed", reason: unsafe.reason } });
    if (unsafe) {
      task.trouble(unsafe.reason);
      return task.news(task.version, LOOK_AGAIN_MS, signal);
    }
  }
  const built = task.coin(chainOf(role, slot)).buildClaim({ contract: contractOf(s, slot), payment: fromHex(payment), secret });
  if (!built.ok) throw new Error(fundsErrorText(built.error));
  const notAfter = role === "maker" ? task.times().revealBy : null;
  await task.emit({
    type: "tx_signed",
    slot: role === "maker" ? "takerPaymentSpend" : "makerPaymentSpend",
    txid: built.value.txid,
    raw: toHex(built.value.raw),
    notAfter,
  });
}

/**
 * Waits until the chain's median time past has passed the own lock (BIP-113) and takes the money back, unless the
 * other side took it first. Never gives up: it ends only when `observe` records what became of the payment (design D6).
 */
export async function refund(task: SwapTask, signal: AbortSignal): Promise<void> {
  for (;;) {
    const seen = task.version;
    const s = task.state;
    const { role } = s.terms;
    const slot = ownPayment(role);
    const coin = task.coin(chainOf(role, slot));
    const contract = contractOf(s, slot);
    const status = coin.chain.status();
    const txid = s.facts[slot]?.txid ?? s.own[slot]?.txid;
    const output = coin.chain.outputs(coin.contractScript(contract)).find((o) => o.txid === txid && o.vout === 0);
    const lockPassed = (status.tip?.medianTimePastSec ?? 0) > contract.lock;
    const raw = s.own[slot]?.raw ?? s.facts[slot]?.raw;
    if (lockPassed && output?.block && !output.spentBy && raw !== undefined) {
      const reason = `the lock time ${contract.lock} has passed and the payment is unspent`;
      const event =
        role === "maker"
          ? s.own.takerPaymentSpend
            ? "TakerPaymentSpendConfirmFailed"
            : "TakerPaymentValidateFailed"
          : "TakerPaymentWaitForSpendFailed";
      if (!s.refund) await task.emit({ type: "refund_decided", failure: { event, reason } });
      const built = coin.buildRefund({ contract, payment: fromHex(raw) });
      if (!built.ok) throw new Error(fundsErrorText(built.error));
      return task.emit({ type: "tx_signed", slot: ownRefund(role), txid: built.value.txid, raw: toHex(built.value.raw), notAfter: null });
    }
    await task.news(seen, REFUND_LOOK_MS, signal);
  }
}
