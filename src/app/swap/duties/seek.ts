import { type Failure, ownPayment } from "../../../core/swap/events.ts";
import type { SwapState } from "../../../core/swap/swapState.ts";
import { chainOf, contractOf } from "../contracts.ts";
import type { SwapTask } from "../swapTask.ts";
import { takeUpPayment } from "../takeUpPayment.ts";
import { giveNonceBack } from "./publish.ts";

/** News wakes this duty; without any it still looks this often. */
const LOOK_MS = 15_000;
/**
 * How long after its lock an own payment is still looked for: KDF sent it, if at all, hours before at the going fee, and one that
 * confirms later than this would have waited for more than a day.
 */
const SEEK_AFTER_LOCK_SEC = 86_400;

/**
 * Looks for the own payment of a swap whose record does not tell of it: KDF, which began it, pays before it writes, or the record was
 * cut. Once it is found the swap goes on with it; when chain and clock are both well past its lock without it, there is none.
 */
export async function seek(task: SwapTask, signal: AbortSignal): Promise<void> {
  const { role } = task.state.terms;
  const slot = ownPayment(role);
  const coin = task.coin(chainOf(role, slot));
  const until = contractOf(task.state, slot).lock + SEEK_AFTER_LOCK_SEC;
  for (;;) {
    const seen = task.seen("chain");
    await coin.chain.refresh(signal);
    await takeUpPayment(task, signal);
    if (task.state.own[slot]?.attempted) return;
    // What the record has as signed and not as sent stays home: everything later of its account would wait for it until the end of the search.
    for (const own of ["fee", slot] as const) await giveNonceBack(task, own);
    const { state, tip } = coin.chain.status();
    const crowded = coin.chain.crowded?.(coin.contractScript(contractOf(task.state, slot))) ?? null;
    const isShown = state === "ready" && crowded !== "reading" && crowded !== "unread";
    const isOver = isShown && (tip?.medianTimePastSec ?? 0) > until && task.nowSec() > until;
    if (isOver) return task.emit({ type: "abandoned", failure: unpaid(task.state, until) });
    await task.news(seen, LOOK_MS, signal);
  }
}

/** The step the record had come to, in KDF's name for it. */
function unpaid(s: SwapState, until: number): Failure {
  const why = s.isCut ? "its record ends" : "taken over from KDF";
  const reason = `${why} before its payment, which is on no chain by ${until}; this node starts none for it`;
  if (s.terms.role === "maker") return { event: s.received.fee ? "MakerPaymentTransactionFailed" : "TakerFeeValidateFailed", reason };
  if (!s.own.fee) return { event: "TakerFeeSendFailed", reason };
  return { event: s.received.makerPayment ? "TakerPaymentTransactionFailed" : "MakerPaymentValidateFailed", reason };
}
