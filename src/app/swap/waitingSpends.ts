import { ownRefund, type Slot, type StoredEvent } from "../../core/swap/events.ts";
import { MAX_VERSIONS, nextFee } from "../../core/swap/feeSchedule.ts";
import { feeWindow } from "../../core/swap/feeWindow.ts";
import { type SwapState, versionsOf } from "../../core/swap/swapState.ts";
import { fromHex } from "../../core/util/bytes.ts";
import type { OwnSignedTx, SwapCoin } from "./swapCoin.ts";

/** Two tries of what its nodes say would fail are at least this far apart. */
const TRY_AGAIN_SEC = 600;

/**
 * Who says that a claim or refund would fail may be wrong, and one that is never tried costs the payment; each try costs gas. So it is tried
 * when half of what its last version had until the deadline is over, as where its swap runs (`whyNotAgain`), and after it no more: nobody
 * sees there whether the payment is long gone.
 */
function isTriedAllTheSame(last: number, deadline: number, now: number): boolean {
  return now < deadline && now - last >= Math.max(TRY_AGAIN_SEC, (deadline - last) / 2);
}

/**
 * Another version of a claim, refund or cancellation of a swap that waits for its other coin, where the schedule that all swaps share asks for
 * one (`feeSchedule.ts`), or where the newest has missed its nonce. It has its nonce from here on.
 * @param coin any coin of the account that signed it
 * @param missed bytes of the newest version, in hex, where a block has used its nonce for something else; null: none has
 * @param isHopeless nobody says that the chain would take it, or its nodes say that it would not
 * @returns null: the newest will do, or no other can be made
 */
export function nextSpend(
  s: SwapState,
  log: readonly StoredEvent[],
  slot: Slot,
  coin: SwapCoin,
  now: number,
  missed: string | null,
  isHopeless: boolean,
): OwnSignedTx | null {
  const tx = s.own[slot];
  if (!tx || versionsOf(tx).length >= MAX_VERSIONS || !coin.buildDearer) return null;
  // The log has another one by now, whose nonce was not looked at.
  if (missed !== null && missed !== tx.raw) return null;
  const raw = fromHex(tx.raw);
  const lastMs = log.findLast(({ event: e }) => (e.type === "tx_signed" || e.type === "tx_replaced") && e.slot === slot)?.atMs ?? 0;
  const signedAtMs = log.find(({ event }) => event.type === "tx_signed" && event.slot === slot)?.atMs;
  const tip = coin.chain.status().tip?.height;
  const question = {
    ...feeWindow(s, slot, signedAtMs === undefined ? now : Math.floor(signedAtMs / 1_000)),
    ...coin.spendRates(),
    size: coin.spendSize(slot === "cancel" ? slot : slot === ownRefund(s.terms.role) ? "refund" : "claim", raw),
    now,
    // One that was signed before its time has no height.
    blocksMissed: tip === undefined || tx.height === undefined ? 0 : Math.max(0, tip - tx.height),
  };
  const isDone = s.facts[slot]?.confirmed === true;
  if (isHopeless && (isDone || !isTriedAllTheSame(Math.floor(lastMs / 1_000), question.deadline, now))) return null;
  const paid = tx.fee === undefined ? coin.feeOf(raw) : BigInt(tx.fee);
  const due = paid === null ? null : nextFee(question, paid);
  const fee = missed === null ? due : (due ?? paid);
  const built = fee === null ? null : coin.buildDearer(raw, fee, missed !== null);
  return built?.ok ? built.value : null;
}
