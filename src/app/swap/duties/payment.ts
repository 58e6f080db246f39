import { type Failure, ownPayment, type SwapEvent, theirPayment } from "../../../core/swap/events.ts";
import { fromHex, toHex } from "../../../core/util/bytes.ts";
import type { SeenOutput } from "../../../ports/chain.ts";
import { chainOf, contractOf, depthOf, notDeep, unitsOf } from "../contracts.ts";
import { OfferPause } from "../offerPause.ts";
import { Repeater } from "../repeater.ts";
import { Resender } from "../resender.ts";
import type { TxRefusal } from "../swapCoin.ts";
import type { SwapTask } from "../swapTask.ts";
import { awaitFunds } from "./awaitFunds.ts";
import { byLimit } from "./byLimit.ts";
import { crowdedContract } from "./crowdedContract.ts";
import { feeGone, feeUnsafe } from "./fee.ts";
import { whyNotPaidOut } from "./feeVersions.ts";
import { isLateByChain } from "./lockTimes.ts";
import { otherKey } from "./otherKey.ts";
import { outageOf } from "./outageOf.ts";
import { mayTellPayment } from "./paymentLeaves.ts";
import { storeSigned } from "./storeSigned.ts";

/** The taker waits this long for word of the maker payment: 600 s and 90 s of grace (reference swap-protocol.md 1.8). */
const waitSec = ({ deps }: SwapTask): number => deps.timing.paymentMessageWaitSec + deps.timing.messageGraceSec;
/** News wakes a waiting side; without any it still looks this often. */
const LOOK_MS = 15_000;
const LOOK_AGAIN_MS = 2_000;
/**
 * Different payments of the other side that are taken from messages, and their bytes together: they stand in the log, and in memory while the
 * swap is open, whether or not a chain ever has them. Larger ones are taken from the chain alone.
 */
const MAX_ANNOUNCED = 5;
const MAX_ANNOUNCED_BYTES = 50_000;

/** Builds and stores the own payment, after proving that it is still safe to lock money (design D7). */
export async function pay(task: SwapTask, signal: AbortSignal): Promise<void> {
  const s = task.state;
  // One was dropped that came too late, and nothing is claimed for another, whatever a clock says that was set back since.
  if (s.refund) return task.emit({ type: "abandoned", failure: s.refund });
  const { role } = s.terms;
  const slot = ownPayment(role);
  const limit = payBy(task);
  const event = role === "maker" ? "MakerPaymentTransactionFailed" : "TakerPaymentTransactionFailed";
  const giveUp = (reason: string): Promise<void> => task.emit({ type: "abandoned", failure: { event, reason, ...newCoins(task) } });
  if (task.nowSec() > limit) return giveUp(`too late to lock funds: the limit was ${limit}, now is ${task.nowSec()}${task.beforeThat}`);
  const unsafe = await byLimit(task, limit, signal, (until) => whyNotLock(task, until));
  if (unsafe) {
    task.trouble(unsafe);
    return task.news(task.seen("chain"), LOOK_AGAIN_MS, signal);
  }
  const coin = task.coin(chainOf(role, slot));
  const claimed = task.coin(chainOf(role, theirPayment(role)));
  for (const [c, units] of [
    [coin, unitsOf(s, slot)],
    [claimed, unitsOf(s, theirPayment(role))],
  ] as const) {
    if (!c.coversSpend(units))
      return giveUp(`${units} units of ${c.ticker} are too few to be claimed or refunded at the present miner fee`);
  }
  const contract = contractOf(s, slot);
  const start = role === "maker" ? s.terms.makerStartHeight : s.terms.takerStartHeight;
  await coin.chain.watchScript(coin.contractScript(contract), start, signal);
  // Last: what may be paid with an allowance keeps others from a new one, and must not wait for anything else.
  const unpaid = await whyNotPaidOut(task, signal);
  const preparing = unpaid === null ? coin.prepareToPay(contract, task.reservation, signal) : null;
  const unprepared = unpaid ?? (preparing && (await preparing));
  if (unprepared) {
    task.trouble(unprepared);
    return task.news(task.seen("chain"), LOOK_AGAIN_MS, signal);
  }
  const built = coin.buildPayment({ contract, reservation: task.reservation });
  if (!built.ok) return awaitFunds(task, built.error, giveUp, signal);
  await storeSigned(task, slot, built.value, limit);
}

/**
 * Until when the own payment may leave first. A maker that pays when the taker has stopped waiting locks its money for
 * nothing: it pays while the taker that sent its fee still looks for the payment, less its grace.
 */
function payBy(task: SwapTask): number {
  const { firstSendBy, makerPaymentConfirmedBy } = task.times();
  if (task.state.terms.role === "taker") return makerPaymentConfirmedBy;
  const feeAt = task.timeOf((e) => e.type === "tx_received" && e.slot === "fee") ?? task.state.terms.startedAt;
  return Math.min(firstSendBy, feeAt + task.deps.timing.paymentMessageWaitSec);
}

/** The other side's payment as its chain is known to have it. */
function theirOutput(task: SwapTask): SeenOutput | undefined {
  const slot = theirPayment(task.state.terms.role);
  const coin = task.coin(chainOf(task.state.terms.role, slot));
  const txid = task.state.facts[slot]?.txid;
  return coin.chain.outputs(coin.contractScript(contractOf(task.state, slot))).find((o) => o.txid === txid && o.vout === 0);
}

/** What a failure says of the other side's payment where that is of new coins. */
export const newCoins = (task: SwapTask): Pick<Failure, "newCoins"> => (theirOutput(task)?.coinbase ? { newCoins: true } : {});

/**
 * Reads the chain right before an irreversible step: is the other side's payment there, exact, deep and free to be spent, in a block that nobody made up?
 * @returns what is wrong, or null
 */
export async function theirPaymentUnsafe(task: SwapTask, signal: AbortSignal): Promise<string | null> {
  const s = task.state;
  const slot = theirPayment(s.terms.role);
  const coin = task.coin(chainOf(s.terms.role, slot));
  const { block } = s.facts[slot] ?? {};
  // First, since it takes a while, and all the rest is to be true at the moment of the step.
  const { confs, valueConfs } = depthOf(s, slot);
  const doubt = block ? await coin.chain.doubt?.(block, Math.max(confs, valueConfs), signal) : null;
  if (doubt) return `${slot}: ${doubt}`;
  const script = coin.contractScript(contractOf(s, slot));
  await coin.chain.refresh(signal, { scripts: [script] });
  const status = coin.chain.status();
  if (status.state !== "ready") return `${coin.ticker}: the backend is ${status.state}, its view may be old`;
  const hasty = coin.chain.hasty?.();
  if (hasty) return `${slot}: ${hasty}`;
  const output = theirOutput(task);
  if (!output) return `${slot} ${s.facts[slot]?.txid ?? "?"} is not on the chain`;
  // A miner can pay so, on Raptoreum anybody, and before such coins mature the other side may take its payment back.
  if (output.coinbase) return `${slot} ${output.txid} is made of new coins, or of locked ones, which nobody may spend for many blocks`;
  if (output.value !== unitsOf(s, slot)) return `${slot} holds ${output.value} units, agreed were ${unitsOf(s, slot)}`;
  if (output.spentBy) return `${slot} is already spent by ${output.spentBy.txid}`;
  const shallow = notDeep(coin.chain, output.block, depthOf(s, slot));
  if (shallow !== null) return `${slot} ${shallow}`;
  return output.block?.hash === block?.hash ? null : `${slot} has just come into another block`;
}

/** Why the own payment must not be made now; null when it may: what the other side has done so far still stands. */
async function whyNotLock(task: SwapTask, signal: AbortSignal): Promise<string | null> {
  const { role } = task.state.terms;
  const unsignable = otherKey(task);
  if (unsignable) return unsignable;
  const coin = task.coin(chainOf(role, ownPayment(role)));
  const known = (): string | null =>
    isLateByChain(task) ??
    feeInTheWay(task) ??
    crowdedContract(task) ??
    coin.unexplained() ??
    (task.reservation ? coin.dearerThanReserved(task.reservation) : null);
  // While a step waits for what is known here, as for lower fees, nobody need be asked for a fresh view each time.
  const hopeless = known();
  if (hopeless) return hopeless;
  const unsafe = role === "taker" ? await theirPaymentUnsafe(task, signal) : await feeUnsafe(task, signal);
  return unsafe ?? (await outageOf(coin, signal)) ?? known();
}

/**
 * Taker: why the payment could not be mined, where accounts send in the order of their nonces: no node has the fee before it. Neither
 * could its cancellation, nor its refund.
 */
function feeInTheWay(task: SwapTask): string | null {
  const { fee } = task.state.own;
  const coin = task.coin("taker");
  if (!fee || coin.relayPolicy !== "nonce" || coin.chain.tx(fee.txid)) return null;
  return `no ${coin.ticker} node has the dex fee ${fee.txid}, and the payment would wait behind it`;
}

/** What was proven of the fee when the maker's payment was signed stands for so long, as far as our index says nothing else. */
const FEE_PROOF_SEC = 60;

/** Why a signed payment must not leave for the first time; null when it may. It may have been signed before a crash. */
export async function whyNotSendPayment(task: SwapTask, signal: AbortSignal): Promise<string | null> {
  const { role } = task.state.terms;
  const hopeless = otherKey(task) ?? crowdedContract(task);
  if (hopeless) return hopeless;
  if (role === "taker") return (await theirPaymentUnsafe(task, signal)) ?? isLateByChain(task) ?? feeInTheWay(task);
  const signedAt = task.timeOf((e) => e.type === "tx_signed" && e.slot === "makerPayment") ?? 0;
  return task.nowSec() - signedAt > FEE_PROOF_SEC ? feeUnsafe(task, signal) : feeGone(task);
}

/** Takes the other side's payment from its message (the chain watch takes it too) and keeps the time limits. */
export async function awaitPayment(task: SwapTask, signal: AbortSignal): Promise<void> {
  // Every piece of news comes by here: a backend that refuses the bytes is not asked each time.
  let offered = null as { readonly txid: string; readonly repeat: Repeater } | null;
  const pause = new OfferPause(LOOK_AGAIN_MS);
  let unfit = null as TxRefusal | null;
  for (;;) {
    const seen = task.seen("anything");
    const s = task.state;
    const slot = theirPayment(s.terms.role);
    const coin = task.coin(chainOf(s.terms.role, slot));
    const raw = slot === "makerPayment" ? task.mailbox.take("MakerPayment")?.tx.data : task.mailbox.take("TakerPayment")?.tx;
    if (raw && !s.facts[slot] && mayAnnounce(task, slot, raw.length)) {
      const checked = coin.checkPayment(raw, contractOf(s, slot));
      if (checked.ok) {
        await task.emit({ type: "tx_received", slot, txid: checked.value.txid, raw: toHex(raw) });
        continue;
      }
      // Only harms the sender: a right one may still come, by message or on the chain.
      if (unfit?.kind !== "OtherValue") unfit = checked.error;
      task.trouble(`${slot} refused: ${checked.error.reason}`);
    }
    const received = s.received[slot];
    if (received && offered?.txid !== received.txid) offered = { txid: received.txid, repeat: new Repeater(task.deps.clock) };
    // In a block it may be without counting: the chain says why.
    const isWanted = received !== undefined && !s.facts[slot] && !coin.chain.tx(received.txid)?.block;
    if (isWanted && offered?.repeat.isDue(pause.ms(coin, received.txid))) {
      await coin.chain.broadcast(fromHex(received.raw), signal);
      pause.offered();
    }
    const late = lateness(task, unfit);
    if (late) {
      return s.terms.role === "maker"
        ? task.emit({ type: "refund_decided", failure: late })
        : task.emit({ type: "abandoned", failure: late });
    }
    const againMs = isWanted ? (offered?.repeat.leftMs(pause.ms(coin, received.txid)) ?? 0) : LOOK_MS;
    await task.news(seen, Math.min(LOOK_MS, Math.max(LOOK_AGAIN_MS, againMs)), signal);
  }
}

/** A payment the chain does not have may be followed by another; a peer that goes on for ever fills no log. */
function mayAnnounce(task: SwapTask, slot: "makerPayment" | "takerPayment", bytes: number): boolean {
  const sizes = task.events.flatMap(({ event: e }) => (e.type === "tx_received" && e.slot === slot ? [e.raw.length / 2] : []));
  return sizes.length < MAX_ANNOUNCED && sizes.reduce((sum, size) => sum + size, bytes) <= MAX_ANNOUNCED_BYTES;
}

/** What the chain says of a payment that does not count for it, as the end of a reason. */
const said = ({ unseen }: SwapTask): string => (unseen === null ? "" : `: ${unseen}`);

/**
 * Which limit of reference swap-protocol.md 2.2 has passed while waiting for the other payment; null if none.
 * @param unfit why the payment they sent instead of a right one does not count
 */
function lateness(task: SwapTask, unfit: TxRefusal | null): Failure | null {
  const s = task.state;
  const now = task.nowSec();
  const times = task.times();
  if (s.terms.role === "maker") {
    const own = s.facts.makerPayment;
    if (!own?.confirmed && now > times.makerPaymentConfirmedBy) {
      return { event: "MakerPaymentWaitConfirmFailed", reason: `own payment not confirmed by ${times.makerPaymentConfirmedBy}` };
    }
    if (now <= times.revealBy) return null;
    return s.received.takerPayment || s.facts.takerPayment
      ? { event: "TakerPaymentWaitConfirmFailed", reason: `taker payment not confirmed by ${times.revealBy}${said(task)}` }
      : missing("TakerPaymentValidateFailed", `no valid taker payment by ${times.revealBy}`, unfit);
  }
  if (s.received.makerPayment || s.facts.makerPayment) {
    return now > times.makerPaymentConfirmedBy
      ? { event: "MakerPaymentWaitConfirmFailed", reason: `maker payment not confirmed by ${times.makerPaymentConfirmedBy}${said(task)}` }
      : null;
  }
  const since =
    task.timeOf((e) => e.type === "tx_attempted" && e.slot === "fee") ?? task.timeOf((e) => e.type === "negotiated") ?? s.terms.startedAt;
  return now > since + waitSec(task)
    ? missing("MakerPaymentValidateFailed", `the maker sent no payment within ${waitSec(task)} s`, unfit)
    : null;
}

/**
 * Proof of bad faith is the key's signature under a payment to this contract of another value. Anything else it signed may
 * belong to another swap: no message names its own, and whoever kept one can put it on this topic.
 */
function missing(event: string, reason: string, unfit: TxRefusal | null): Failure {
  if (unfit === null) return { event, reason };
  const said = { event, reason: `${reason}; what came instead: ${unfit.reason}` };
  return unfit.kind === "OtherValue" ? { ...said, theirFault: true } : said;
}

/** Until when the other side waits for the own fee or payment message, by this side's clock (reference swap-protocol.md 1.8 and 2.2). */
function heardUntil(task: SwapTask, what: "fee" | "payment"): number {
  const { role, startedAt } = task.state.terms;
  if (what === "payment" && role === "taker") return task.times().revealBy;
  const from =
    role === "maker" ? (e: SwapEvent) => e.type === "tx_received" && e.slot === "fee" : (e: SwapEvent) => e.type === "negotiated";
  return (task.timeOf(from) ?? startedAt) + waitSec(task);
}

/** Repeats the own fee or payment message, ever more rarely; at once when the other side shows that it still waits. */
export async function tell(task: SwapTask, what: "fee" | "payment", signal: AbortSignal): Promise<void> {
  const { role } = task.state.terms;
  const asks = role === "maker" ? "TakerFee" : what === "fee" ? "Negotiated" : "MakerPayment";
  const { takerFeeResendSec, makerPaymentResendSec, takerPaymentResendSec } = task.deps.timing;
  const firstSec = what === "fee" ? takerFeeResendSec : role === "maker" ? makerPaymentResendSec : takerPaymentResendSec;
  let asked = task.mailbox.arrivals(asks);
  const resend = new Resender(task.deps.clock, firstSec, () => heardUntil(task, what) - task.nowSec());
  for (;;) {
    const seen = task.seen("messages");
    // What may not be told uses up no try: no pause is the longer for it.
    const mayTell = what === "fee" || mayTellPayment(task);
    if (mayTell && resend.isDue(task.mailbox.arrivals(asks) > asked)) {
      asked = task.mailbox.arrivals(asks);
      sendOwn(task, what);
    }
    await task.news(seen, mayTell ? resend.leftMs : LOOK_MS, signal);
  }
}

function sendOwn(task: SwapTask, what: "fee" | "payment"): void {
  const s = task.state;
  if (what === "fee") {
    task.deps.send({ type: "TakerFee", tx: { data: fromHex(s.own.fee?.raw ?? "") } });
    return;
  }
  const raw = s.own[ownPayment(s.terms.role)]?.raw;
  if (!raw) return;
  if (s.terms.role === "maker") task.deps.send({ type: "MakerPayment", tx: { data: fromHex(raw) } });
  else task.deps.send({ type: "TakerPayment", tx: fromHex(raw) });
}
