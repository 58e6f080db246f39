import { ownNegotiation } from "../../../core/swap/negotiation.ts";
import { fromHex, toHex } from "../../../core/util/bytes.ts";
import type { Result } from "../../../core/util/result.ts";
import { bytesOf } from "../bytesOf.ts";
import { lostTo } from "../lostTo.ts";
import { OfferPause } from "../offerPause.ts";
import { Repeater } from "../repeater.ts";
import { Resender } from "../resender.ts";
import type { ExpectedDexFee, SignedTx, TxRefusal } from "../swapCoin.ts";
import type { SwapTask } from "../swapTask.ts";
import { takeUpFee } from "../takeUpFee.ts";
import { UnknownFees } from "../unknownFees.ts";
import { awaitFunds } from "./awaitFunds.ts";
import { byLimit } from "./byLimit.ts";
import { whyNotPaidOut } from "./feeVersions.ts";
import { isLateByChain } from "./lockTimes.ts";
import { otherKey } from "./otherKey.ts";
import { outageOf } from "./outageOf.ts";
import { storeSigned } from "./storeSigned.ts";

/** The maker waits this long for the taker's fee: 600 s and 90 s of grace (reference swap-protocol.md 1.8). */
const feeWaitSec = ({ deps }: SwapTask): number => deps.timing.paymentMessageWaitSec + deps.timing.messageGraceSec;
/** Time for the fee to show up at our backend after its message. KDF: 7 looks, 10 s apart. */
const FEE_VISIBLE_SEC = 120;
const LOOK_AGAIN_MS = 2_000;
/**
 * Servers are asked again whether a fee waits in their mempools after the first pause, then after twice as long each time, up to the last one: each
 * waiting swap asks. A fee comes to them some seconds after its message, and the next block takes it away from there.
 */
const FIRST_PROBE_MS = 2_000;
const LAST_PROBE_MS = 60_000;

/** Taker: builds the dex fee once and stores it; `publish` sends exactly those bytes, however often. */
export async function payFee(task: SwapTask, signal: AbortSignal): Promise<void> {
  const { terms } = task.state;
  if (terms.dexFeePubkey === null) return;
  if (await takeUpFee(task)) return;
  const negotiatedAt = task.timeOf((e) => e.type === "negotiated") ?? terms.startedAt;
  // Past its wait without the grace the maker has given up, or soon will: a fee sent then buys nothing.
  const limit = Math.min(task.times().firstSendBy, negotiatedAt + task.deps.timing.paymentMessageWaitSec);
  const giveUp = (reason: string): Promise<void> => task.emit({ type: "abandoned", failure: { event: "TakerFeeSendFailed", reason } });
  if (task.nowSec() > limit) return giveUp(`too late to send the fee: the limit was ${limit}`);
  const coin = task.coin("taker");
  const unfit =
    otherKey(task) ??
    (await outageOf(coin, signal)) ??
    feeInVain(task) ??
    (task.reservation && coin.dearerThanReserved(task.reservation)) ??
    coin.unexplained() ??
    (await whyNotPaidOut(task, signal));
  const [feeKey, feeUnits] = [fromHex(terms.dexFeePubkey), BigInt(terms.dexFeeUnits)];
  const preparing = unfit ? null : (coin.prepareToPayFee?.(feeKey, feeUnits, signal) ?? null);
  const unready = unfit ?? (preparing && (await preparing));
  if (unready) {
    task.trouble(unready);
    return task.news(task.seen("chain"), LOOK_AGAIN_MS, signal);
  }
  const built = coin.buildDexFee({ feeUnits, burnUnits: BigInt(terms.dexBurnUnits), feeKey, reservation: task.reservation });
  if (!built.ok) return awaitFunds(task, built.error, giveUp, signal);
  await storeSigned(task, "fee", built.value, limit);
}

/** Taker: why the fee would be paid for nothing now: the maker's payment would come too late, or not be seen. Null: both chains are seen up to their tips. */
export function feeInVain(task: SwapTask): string | null {
  const late = isLateByChain(task);
  if (late) return late;
  for (const { ticker, chain } of [task.deps.makerCoin, task.deps.takerCoin]) {
    const { state } = chain.status();
    if (state !== "ready") return `${ticker}: the backend is ${state}, the maker's payment would not be seen`;
  }
  return null;
}

/**
 * Maker: says `Negotiated(true)` until the fee arrives, then checks it (reference swap-protocol.md 4.4). A fee that does
 * not count is passed over and proves no bad faith: no message names its swap, so it may be an old one put on this topic by
 * anybody, and to stop waiting early would cost an honest taker the fee that it pays meanwhile.
 */
export async function awaitFee(task: SwapTask, signal: AbortSignal): Promise<void> {
  const { terms } = task.state;
  const since = task.timeOf((e) => e.type === "negotiated") ?? terms.startedAt;
  const refuse = (reason: string): Promise<void> => task.emit({ type: "abandoned", failure: { event: "TakerFeeValidateFailed", reason } });
  let repliesSeen = task.mailbox.arrivals("NegotiationReply");
  let unfit = null as string | null;
  const waitSec = feeWaitSec(task);
  const resend = new Resender(task.deps.clock, task.deps.timing.negotiatedResendSec, () => since + waitSec - task.nowSec());
  const unknown = new UnknownFees(task.deps.clock, task.deps.feeAllowances.of(terms.takerCoin));
  for (;;) {
    const seen = task.seen("messages");
    const message = unknown.leftMs > 0 ? undefined : task.mailbox.take("TakerFee");
    const judge = (until: AbortSignal) => (message ? judgeInTurn(task, message.tx.data, unknown, until) : Promise.resolve(null));
    const fault = await byLimit(task, since + waitSec + FEE_VISIBLE_SEC, signal, judge);
    if (task.state.received.fee) return;
    if (fault) {
      task.trouble(fault);
      unfit = fault;
    }
    if (task.nowSec() > since + waitSec)
      return refuse(`the taker sent no ${unfit ? "right " : ""}fee within ${waitSec} s${unfit ? `: ${unfit}` : ""}`);
    // A taker that has told of a fee knows of the consent: it answers the offer only because it came again.
    const isAsked = task.mailbox.arrivals("NegotiationReply") > repliesSeen && task.mailbox.arrivals("TakerFee") === 0;
    if (resend.isDue(isAsked)) {
      repliesSeen = task.mailbox.arrivals("NegotiationReply");
      // The offer goes along for a taker that restarted before it had stored the answer.
      task.deps.send({ type: "Negotiation", data: ownNegotiation(terms, { secretHash: terms.secretHash ?? "" }) });
      task.deps.send({ type: "Negotiated", accepted: true });
    }
    await task.news(seen, Math.min(resend.leftMs, unknown.leftMs || resend.leftMs), signal);
  }
}

/** The same as below, once servers may be asked for it: what its own bytes say against it costs nobody a question. */
async function judgeInTurn(task: SwapTask, raw: Uint8Array, unknown: UnknownFees, signal: AbortSignal): Promise<string | null> {
  const { terms, negotiated } = task.state;
  if (!negotiated) return null;
  if (terms.dexFeePubkey === null) {
    await task.emit({ type: "tx_received", slot: "fee", txid: "", raw: "" });
    return null;
  }
  const expected = {
    takerKey: fromHex(negotiated.takerCoinPub),
    feeKey: fromHex(terms.dexFeePubkey),
    feeUnits: BigInt(terms.dexFeeUnits),
    burnUnits: BigInt(terms.dexBurnUnits),
  };
  const read = task.coin("taker").checkDexFee(raw, expected);
  if (!read.ok && read.error.kind !== "ValuesNeeded") {
    // No other node has such a fee for a taker's: it makes them up, and all else stands still while they are verified.
    if (read.error.kind === "BadSignature") unknown.note();
    return refusalText(task, raw, read.error);
  }
  const fault =
    (await whyNotAsked(task, raw, expected.takerKey, unknown, signal)) ?? (await judgeFee(task, raw, expected, read, unknown, signal));
  unknown.judged();
  return fault;
}

function refusalText(task: SwapTask, raw: Uint8Array, { reason }: TxRefusal): string {
  const profile = task.deps.profileOfFee(task, raw);
  const hint = profile ? `; it would be right under network profile ${profile}: the two nodes follow different fee rules` : "";
  return `${reason}${hint}`;
}

/**
 * Waits until a backend of servers that count what they do not have may be asked for a fee: of one that waits in their mempools, or stands in the history of
 * the taker's address, that is at once, of all others some at a time. Whoever begins many swaps could have them cut this node off.
 */
async function whyNotAsked(
  task: SwapTask,
  raw: Uint8Array,
  takerKey: Uint8Array,
  unknown: UnknownFees,
  signal: AbortSignal,
): Promise<string | null> {
  const coin = task.coin("taker");
  const { chain } = coin;
  if (chain.isWaiting === undefined) return null;
  const payer = coin.feePayer?.(raw, takerKey) ?? null;
  const probes = new Repeater(task.deps.clock);
  for (let pauseMs = 0; ; ) {
    const seen = task.seen("messages");
    if (probes.isDue(pauseMs)) {
      if (await chain.isWaiting(raw, payer, signal)) return null;
      pauseMs = pauseMs === 0 ? FIRST_PROBE_MS : Math.min(LAST_PROBE_MS, 2 * pauseMs);
    }
    if (unknown.take()) return null;
    if (task.mailbox.hasOtherFee) return "the fee waited in no mempool when the taker told of another";
    await task.news(seen, probes.leftMs(pauseMs), signal);
  }
}

/** What bytes that do not say it all are, with the values of what they spend. Whoever makes such fees up has servers asked for much. */
async function checkWithValues(
  task: SwapTask,
  raw: Uint8Array,
  expected: ExpectedDexFee,
  unknown: UnknownFees,
  signal: AbortSignal,
): Promise<Result<SignedTx, TxRefusal>> {
  const coin = task.coin("taker");
  const spentValue = await coin.spentValues?.(raw, signal);
  const checked = coin.checkDexFee(raw, { ...expected, ...(spentValue ? { spentValue } : {}) });
  if (!checked.ok) unknown.note();
  return checked;
}

/** Stores the fee if it counts. @returns why it does not; null when it was stored */
async function judgeFee(
  task: SwapTask,
  raw: Uint8Array,
  expected: ExpectedDexFee,
  read: Result<SignedTx, TxRefusal>,
  unknown: UnknownFees,
  signal: AbortSignal,
): Promise<string | null> {
  const coin = task.coin("taker");
  const checked = read.ok ? read : await checkWithValues(task, raw, expected, unknown, signal);
  if (!checked.ok) return refusalText(task, raw, checked.error);
  const { txid } = checked.value;
  const mark = { kind: "fee_tx", value: txid } as const;
  if (await task.deps.store.isMarked(mark)) return `fee transaction ${txid} already paid for another swap`;
  try {
    const fault = await notOnChain(task, txid, raw, signal);
    if (!coin.chain.tx(txid)) unknown.note();
    if (fault === null) await task.emit({ type: "tx_received", slot: "fee", txid, raw: toHex(raw) }, [mark]);
    return fault;
  } finally {
    // Nobody else would, also where the limit ends the wait: each message may name another. One that counts for a swap by now is that one's.
    if (!(await task.deps.store.isMarked(mark))) await coin.chain.unwatch({ txids: [txid] });
  }
}

/** Waits until the backend has a fee. @returns why what it has does not count, or that it has none; null when it counts */
async function notOnChain(task: SwapTask, txid: string, raw: Uint8Array, signal: AbortSignal): Promise<string | null> {
  const { terms } = task.state;
  const coin = task.coin("taker");
  await coin.chain.watchTx(txid, terms.takerStartHeight, signal);
  const until = task.nowSec() + FEE_VISIBLE_SEC;
  const offers = new Repeater(task.deps.clock);
  const pause = new OfferPause(LOOK_AGAIN_MS);
  for (;;) {
    const seen = task.seen("anything");
    const known = coin.chain.tx(txid);
    if (known) {
      if (known.failed) return `the fee transaction ${txid} was reverted`;
      if (!coin.sameTx(known.raw, raw)) return `the chain knows ${txid} with other bytes than the taker sent`;
      if (known.block && known.block.height <= terms.takerStartHeight) {
        return `the fee confirmed in block ${known.block.height}, before this swap began at ${terms.takerStartHeight}`;
      }
      return null;
    }
    if (task.nowSec() > until) return `fee transaction ${txid} is unknown to our backend after ${FEE_VISIBLE_SEC} s`;
    // It may be an old one that somebody repeats. Should it be right, its taker will tell of it again.
    if (task.mailbox.hasOtherFee) return `fee transaction ${txid} was unknown to our backend when the taker told of another`;
    // Our backend may be poorly connected, and handing it the bytes settles the question. Servers count each one they refuse.
    if (offers.isDue(pause.ms(coin, txid))) {
      await coin.chain.broadcast(raw, signal);
      pause.offered();
    }
    // Looks at the chain anew; and another swap that was told of the same fee may have ended the watch.
    await coin.chain.watchTx(txid, terms.takerStartHeight, signal);
    if (!coin.chain.tx(txid)) await task.news(seen, LOOK_AGAIN_MS, signal);
  }
}

/**
 * Reads the chain before the maker locks its money: is the fee that was accepted still there, and, where the swap's value asks
 * for it, in a block? An unconfirmed fee can be spent elsewhere by its taker at any time (reference swap-protocol.md 9.2).
 * @returns what is wrong, or null
 */
export async function feeUnsafe(task: SwapTask, signal: AbortSignal): Promise<string | null> {
  const { terms, received } = task.state;
  if (terms.dexFeePubkey === null || !received.fee) return null;
  const { chain } = task.coin("taker");
  // Of one that is there and does not count yet a fresh view is taken once it does: each costs servers as much as there are scripts.
  if (chain.tx(received.fee.txid)) {
    const open = feeGone(task);
    if (open) return open;
  }
  await chain.refresh(signal, { txids: [received.fee.txid] });
  const status = chain.status();
  if (status.state !== "ready") return `${terms.takerCoin}: the backend is ${status.state}, its view may be old`;
  const gone = feeGone(task);
  // A mempool may have dropped it. If it was spent elsewhere, the backend refuses it.
  if (gone && !chain.tx(received.fee.txid)) await chain.broadcast(fromHex(received.fee.raw), signal);
  return gone;
}

/** The same by what our index has of the chain now. */
export function feeGone(task: SwapTask): string | null {
  const { terms, received } = task.state;
  if (terms.dexFeePubkey === null || !received.fee) return null;
  const { txid, raw } = received.fee;
  const coin = task.coin("taker");
  const known = coin.chain.tx(txid);
  if (!known) return `the fee transaction ${txid} is not known to our backend any more`;
  if (known.failed) return `the fee transaction ${txid} was reverted`;
  if (!coin.sameTx(known.raw, fromHex(raw))) return `the chain knows ${txid} with other bytes than the taker sent`;
  const needed = terms.safety?.feeConfs ?? 0;
  const depth = coin.chain.confirmations(known.block);
  return depth < needed ? `the fee transaction ${txid} has ${depth} of ${needed} confirmations` : null;
}

/** Taker: the transaction in a block that keeps its fee from ever confirming; null when there is none, or the backend has the fee. */
export function feeLostTo(task: SwapTask): string | null {
  const { fee } = task.state.own;
  const coin = task.coin("taker");
  return !fee || coin.chain.tx(fee.txid) ? null : lostTo(coin, bytesOf(fee), task.deps.ownTx);
}
