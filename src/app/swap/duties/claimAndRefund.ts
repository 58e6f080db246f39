import { claimStays } from "../../../core/swap/claimStays.ts";
import { ownClaim, ownPayment, ownRefund, theirPayment } from "../../../core/swap/events.ts";
import { refundStays } from "../../../core/swap/refundStays.ts";
import { secretIsPublic } from "../../../core/swap/swapState.ts";
import { fromHex } from "../../../core/util/bytes.ts";
import { chainOf, contractOf } from "../contracts.ts";
import type { SpendObstacle } from "../swapCoin.ts";
import type { SwapTask } from "../swapTask.ts";
import { byLimit } from "./byLimit.ts";
import { buildSpend, firstFee, whyNotSpend } from "./feeVersions.ts";
import { claimView, isClaimInVainNow, isUnseen } from "./lateClaim.ts";
import { newCoins, theirPaymentUnsafe } from "./payment.ts";
import { refundView } from "./refundView.ts";
import { signAmply } from "./signAmply.ts";
import { storeSpend } from "./storeSigned.ts";
import { WaitedLooks } from "./waitedLooks.ts";

const LOOK_AGAIN_MS = 2_000;
/** The refund waits for blocks; between news of the chain it looks this often once the clock has passed the lock, and before that so often. */
const REFUND_LOOK_MS = 15_000;
const LOCKED_LOOK_MS = 300_000;

/**
 * Why the maker must not reveal the secret now; null when it is safe (promise "Secret", reference swap-protocol.md 9.2):
 * the taker payment stands deep and unspent, nothing keeps the claim out of a block, and there is time to confirm it before the taker may
 * refund.
 */
export async function revealUnsafe(
  task: SwapTask,
  signal: AbortSignal,
): Promise<{ readonly final: boolean; readonly reason: string } | null> {
  const { revealBy, takerLock } = task.times();
  const tooLate = (): boolean => task.nowSec() > revealBy;
  const late = { final: true, reason: `too late to reveal the secret: the limit was ${revealBy}${task.beforeThat}` };
  if (tooLate()) return late;
  const look = async (s: AbortSignal): Promise<string | null> => (await theirPaymentUnsafe(task, s)) ?? whyNotClaim(task, s);
  const reason = await byLimit(task, revealBy, signal, look);
  // Looking at the chain may have taken long: the clock decides last.
  if (tooLate()) return late;
  if (reason !== null) return { final: false, reason };
  const mtp = task.coin("taker").chain.status().tip?.medianTimePastSec ?? Number.POSITIVE_INFINITY;
  const margin = takerLock - revealBy;
  if (mtp >= takerLock - margin)
    return { final: true, reason: `the taker chain's time ${mtp} is within ${margin} s of the taker's refund time ${takerLock}` };
  return null;
}

/** Why a claim would show the secret and not be paid, or not in time; null when it would. */
async function whyNotClaim(task: SwapTask, signal: AbortSignal): Promise<string | null> {
  return (await whyRefused(task, signal))?.reason ?? whyNotSoon(task);
}

/** Why the chain would carry no claim out now, or why that is not known; null: it would, or nobody says. */
async function whyRefused(task: SwapTask, signal: AbortSignal): Promise<SpendObstacle | null> {
  return task.coin("taker").prepareToSpend(contractOf(task.state, "takerPayment"), signal);
}

/** Why a claim would come into no block soon; null when it would. */
function whyNotSoon(task: SwapTask): string | null {
  const coin = task.coin("taker");
  return coin.spendTooDear() ?? coin.claimObstacle(signedClaim(task));
}

/** The claim as it is signed; null: it is signed anew, as one that was marked, stayed home and lost its nonce meanwhile. */
function signedClaim(task: SwapTask): Uint8Array | null {
  const claim = task.state.own.takerPaymentSpend;
  const raw = claim ? fromHex(claim.raw) : null;
  return claim?.attempted === true && raw !== null && task.coin("taker").lostNonce?.(raw) === true ? null : raw;
}

/** Whether a claim would fail in its block, with its secret shown, though the chain would pay one: past its limit only where enough nodes say so. */
async function isShort(task: SwapTask, isEarly: boolean, signal: AbortSignal): Promise<boolean> {
  const claim = signedClaim(task);
  const coin = task.coin("taker");
  if (claim === null || coin.lacksGas?.(claim) !== true) return false;
  return isEarly || (await coin.isSurelyShort?.(claim, signal)) === true;
}

const KEPT = "nobody has seen the claim, and the taker's payment is gone or not to be seen, or ours goes back: the secret is not shown";
const UNREAD = "nobody has seen the claim, nor what became of the taker's payment: the secret is not shown before the claim's limit";
const AWAY = "nobody has seen the claim, and no nodes say whether it would be paid: the secret is not shown before the claim's limit";
const SHORT =
  "nobody has seen the claim, it has less gas than it needs now, and the account cannot pay more: the secret is not shown in vain";

/**
 * Why a maker's claim that was marked before and that nobody was seen to have stays home; null: it goes. Its rule is `claimStays`; here its chain is asked,
 * and the claim is made anew where it has too little gas.
 */
export async function whyKept(task: SwapTask, signal: AbortSignal): Promise<string | null> {
  const why = await whyStays(task, signal);
  // Nor does its nonce go to anything else when it goes, also where it was kept before.
  if (why === null) task.isClaimKept = false;
  return why;
}

async function whyStays(task: SwapTask, signal: AbortSignal): Promise<string | null> {
  if (await isClaimInVainNow(task, signal)) return KEPT;
  const coin = task.coin("taker");
  if (!isUnseen(task) || coin.relayPolicy !== "nonce") return null;
  const isSilent = (): boolean => coin.chain.status().state !== "ready";
  const asked = isSilent() ? null : await whyRefused(task, signal);
  // They may have gone away while they were asked.
  if (isSilent()) return claimStays({ ...claimView(task), payout: "unknown" }) && AWAY;
  const view = { ...claimView(task), payout: asked === null ? "paid" : asked.isRefused ? "refused" : "unknown" } as const;
  // Nobody has read it: with more gas it is still the first to show the secret. While that costs too much it may lose its nonce.
  if (claimStays({ ...view, isSlow: coin.spendTooDear() !== null }) === null) await signAmply(task);
  // What is stuck before it is moved out of the way of what only that keeps here.
  const slow = view.isEarly && claimStays(view) === null ? whyNotSoon(task) : null;
  const short = await isShort(task, view.isEarly, signal);
  const stays = claimStays({ ...claimView(task), payout: view.payout, isSlow: slow !== null, isShort: short });
  if (stays === null) return null;
  task.isClaimKept = true;
  const said = asked?.reason ?? null;
  return { returnable: KEPT, gone: KEPT, unseen: UNREAD, refused: said, unsaid: said, slow, short: SHORT }[stays];
}

/** Builds and stores the claim of the other payment. The maker's claim reveals the secret, so it is proven safe first. */
export async function claim(task: SwapTask, signal: AbortSignal): Promise<void> {
  const s = task.state;
  const { role } = s.terms;
  const slot = theirPayment(role);
  const payment = s.facts[slot]?.raw ?? s.received[slot]?.raw;
  const knowsSecret = role === "maker" ? task.deps.secret() !== null : s.secret !== null;
  if (payment === undefined || !knowsSecret) return;
  if (role === "maker" && !secretIsPublic(s)) {
    const unsafe = await revealUnsafe(task, signal);
    if (unsafe?.final) {
      const failure = { event: "TakerPaymentSpendFailed", reason: unsafe.reason, ...newCoins(task) };
      return task.emit({ type: "refund_decided", failure });
    }
    if (unsafe) {
      task.trouble(unsafe.reason);
      return task.news(task.seen("chain"), LOOK_AGAIN_MS, signal);
    }
  }
  if (role === "taker") await whyNotSpend(task, slot, signal);
  const built = buildSpend(task, ownClaim(role), slot, firstFee(task, ownClaim(role)));
  if (built) await storeSpend(task, ownClaim(role), built, role === "maker" && !secretIsPublic(s) ? task.times().revealBy : null);
}

/**
 * Waits until the chain's median time past has passed the own lock (BIP-113) and takes the money back, unless the
 * other side took it first. Never gives up: it ends only when `observe` records what became of the payment (design D6).
 */
export async function refund(task: SwapTask, signal: AbortSignal): Promise<void> {
  const looks = new WaitedLooks(task.deps.clock);
  for (;;) {
    const seen = task.seen("chain");
    const s = task.state;
    const { role } = s.terms;
    const slot = ownPayment(role);
    const { lock } = contractOf(s, slot);
    looks.look(task.coin(chainOf(role, slot)).chain.status().tip?.hash ?? null);
    const view = refundView(task, looks);
    if (refundStays(view) === null && (s.own[slot]?.raw ?? s.facts[slot]?.raw) !== undefined) {
      const reason =
        view.isPassed && view.isPaid
          ? `the lock time ${lock} has passed and the payment is unspent`
          : `the lock time ${lock} has long passed by this node's clock, whatever the servers show`;
      const event =
        role === "maker"
          ? s.own.takerPaymentSpend
            ? "TakerPaymentSpendConfirmFailed"
            : "TakerPaymentValidateFailed"
          : "TakerPaymentWaitForSpendFailed";
      if (!s.refund) await task.emit({ type: "refund_decided", failure: { event, reason } });
      await whyNotSpend(task, slot, signal);
      const built = buildSpend(task, ownRefund(role), slot, firstFee(task, ownRefund(role)));
      if (built) return storeSpend(task, ownRefund(role), built, null);
    }
    const lockedMs = (lock - task.nowSec() + 1) * 1_000;
    await task.news(seen, Math.min(LOCKED_LOOK_MS, Math.max(REFUND_LOOK_MS, lockedMs)), signal);
  }
}
