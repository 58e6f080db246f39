import { isChildSlot, ownClaim, ownPayment, ownRefund, parentOf, type Slot, theirPayment } from "../../../core/swap/events.ts";
import { isOverForGood, type TxVersion } from "../../../core/swap/swapState.ts";
import { fromHex } from "../../../core/util/bytes.ts";
import { reasonOf } from "../../../core/util/reasonOf.ts";
import { bytesOf } from "../bytesOf.ts";
import { chainOf, contractOf } from "../contracts.ts";
import { OfferPause } from "../offerPause.ts";
import { Repeater } from "../repeater.ts";
import type { SwapCoin } from "../swapCoin.ts";
import type { SwapTask } from "../swapTask.ts";
import { isChained } from "./childVersions.ts";
import { currentVersion, whyNotAgain } from "./feeVersions.ts";
import { isBeforeItsTime } from "./lockTimes.ts";
import { noteSeen } from "./noteSeen.ts";
import { rawOfForm, versionsOfForm } from "./paymentForms.ts";
import { renew } from "./renew.ts";

/** First pause between two attempts while the backend does not have it; then see `OfferPause`. */
export const RETRY_MS = 5_000;
/** A cancellation is refused until the payment has left the mempool, or for good. */
const CANCEL_RETRY_MS = 30_000;
/** Versions that were replaced, of which there may be a dozen, are offered this often while the newest is refused. */
const OLDER_MS = 60_000;
/** A transaction the backend has is sent again this often until it confirms; mempools forget. */
const REPEAT_MS = 120_000;
/** News of the chain and of this swap wakes who sends; without any it looks this often: fees and time limits follow the clock. */
export const LOOK_MS = 30_000;

/** Keeps an own transaction that has left before the network, of a claim or refund of several forms of the payment that of one. */
export class Sending {
  readonly #task: SwapTask;
  readonly #slot: Slot;
  readonly #form: string | null;
  readonly #coin: SwapCoin;
  readonly #pause: OfferPause;
  readonly #older: Repeater;
  #sent = null as { readonly txid: string; readonly repeat: Repeater } | null;
  #isRefused = false;

  constructor(task: SwapTask, slot: Slot, form: string | null) {
    this.#task = task;
    this.#slot = slot;
    this.#form = form;
    this.#coin = task.coin(chainOf(task.state.terms.role, slot));
    this.#pause = new OfferPause(slot === "cancel" ? CANCEL_RETRY_MS : RETRY_MS);
    this.#older = new Repeater(task.deps.clock);
  }

  /** A backend refused the present version, and none is known to be in a mempool. */
  get isRefused(): boolean {
    return this.#isRefused;
  }

  /**
   * Makes another version where one is due, and sends the newest where that is due.
   * @param isSafe asked each time before it is sent
   * @param isShown it is of the form of the payment that is seen now, or there are no forms
   * @param others of how many forms this is one that are neither seen now nor likely to be there: all together are offered as often as one
   * @returns milliseconds until it wants to look again
   */
  async turn(mayLeave: boolean, isSafe: () => Promise<boolean>, isShown: boolean, others: number, signal: AbortSignal): Promise<number> {
    const [task, slot, form, coin] = [this.#task, this.#slot, this.#form, this.#coin];
    // What is not seen may not be there: that its spend is refused says nothing of the fee.
    const refusal = (): boolean => isShown && this.#isRefused;
    // A swap that came to nothing pays nothing more for its fee.
    if (!isInBlock(task, slot, form) && !isOverForGood(task.state)) {
      const hopeless = await whyNotAgain(task, slot, signal);
      if (hopeless) task.trouble(hopeless);
      else await renew(task, slot, refusal(), form);
    }
    const version = currentVersion(task, slot, form);
    if (!version) return LOOK_MS;
    if (this.#sent?.txid !== version.txid) {
      this.#sent = { txid: version.txid, repeat: new Repeater(task.deps.clock) };
      this.#isRefused = false;
      // What it pays is watched anyway: one of many that cannot all be there needs no more.
      if (isShown) follow(task, slot, version.txid, signal);
    }
    const { repeat } = this.#sent;
    const pauseMs = (): number => (others > 0 ? others * REPEAT_MS : this.#pause.ms(coin, version.txid));
    const isKnown = coin.chain.tx(version.txid) !== undefined;
    const unknownMs = pauseMs();
    if (mayLeave && !isInBlock(task, slot, form) && repeat.isDue(isKnown ? Math.max(REPEAT_MS, others * REPEAT_MS) : unknownMs)) {
      if (await isSafe()) await this.#send(version, isKnown, signal);
      else this.#pause.offered();
      if (refusal() && this.#older.isDue(OLDER_MS)) await sendOlder(task, slot, form, version.txid, signal);
    }
    const isOut = !mayLeave || coin.chain.tx(version.txid) !== undefined || isInBlock(task, slot, form);
    return isOut ? LOOK_MS : Math.min(LOOK_MS, repeat.leftMs(pauseMs()));
  }

  async #send({ txid, raw }: { readonly txid: string; readonly raw: string }, isKnown: boolean, signal: AbortSignal): Promise<void> {
    const [task, slot, form, coin] = [this.#task, this.#slot, this.#form, this.#coin];
    if (!isKnown && slot === ownClaim(task.state.terms.role)) await bringBackPayment(task, form, signal);
    if (isChained(task, slot)) await sendEarlier(task, slot, form, raw, signal);
    if (!isKnown) await sendForsaken(task, coin, raw, signal);
    const outcome = await coin.chain.broadcast(fromHex(raw), signal);
    this.#pause.offered();
    if (outcome.kind === "accepted" || outcome.kind === "already_known") {
      this.#isRefused = false;
      if (slot === ownClaim(task.state.terms.role)) task.taken.add(txid);
      // What comes after the end of a swap that came to nothing is no part of its story.
      if (!task.state.facts[slot] && !isOverForGood(task.state)) await noteSeen(task, { slot, txid, raw, block: null });
      return;
    }
    task.trouble(`${slot} ${outcome.kind}: ${outcome.message}`);
    this.#isRefused = outcome.kind === "rejected" && !isBeforeItsTime(task, slot) && !anyKnown(task, slot, form);
    if (outcome.kind === "rejected" && (slot === "fee" || isChildSlot(slot))) task.refusedAt.set(slot, task.nowSec());
    if (slot === "fee" && outcome.kind === "rejected") feeRefused(task, coin, fromHex(raw));
  }
}

/** Nobody may count on the change of a fee that is refused when its swap has come to nothing: it counts again once it is listed. */
function feeRefused(task: SwapTask, coin: SwapCoin, raw: Uint8Array): void {
  if (isOverForGood(task.state) && coin.builtOn(raw).size === 0) coin.dropChange(raw);
}

/**
 * Some version of it, or a malleated form, is in a block as the index has it now, which nobody denies; or a contract holds a payment that nobody shows. A claim
 * or refund that failed there is not over: there will be another; whatever else failed is not sent again. Of children that hang on each other the newest is.
 */
export function isInBlock(task: SwapTask, slot: Slot, form: string | null): boolean {
  const coin = task.coin(chainOf(task.state.terms.role, slot));
  const { chain } = coin;
  if (slot === ownPayment(task.state.terms.role) && chain.unfound?.(coin.contractScript(contractOf(task.state, slot)))) return true;
  const fact = task.state.facts[slot];
  const isOfForm = fact !== undefined && (form === null || coin.spends(bytesOf(fact), form));
  const versions = versionsOfForm(task, slot, form).map((v) => v.txid);
  const ids = isChained(task, slot) ? versions.slice(-1) : [...(isOfForm ? [fact.txid] : []), ...versions];
  const mayBeRebuilt = slot === ownClaim(task.state.terms.role) || slot === ownRefund(task.state.terms.role);
  return ids.some((id) => {
    const known = chain.tx(id);
    return known?.block && !(known.failed && mayBeRebuilt) && !task.doubted.has(slot, known.block);
  });
}

function anyKnown(task: SwapTask, slot: Slot, form: string | null): boolean {
  const { chain } = task.coin(chainOf(task.state.terms.role, slot));
  return versionsOfForm(task, slot, form).some((v) => chain.tx(v.txid));
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
      if (!signal.aborted) task.trouble(`watching ${slot}: ${reasonOf(cause)}`);
    });
}

/**
 * A child of a child is worth nothing without those before it; where there are several forms of the payment, nor without the very version of
 * the claim or refund that they hang on, which may be the one that is sent no more.
 */
async function sendEarlier(task: SwapTask, slot: Slot, form: string | null, newest: string, signal: AbortSignal): Promise<void> {
  const { role } = task.state.terms;
  const coin = task.coin(chainOf(role, slot));
  const spends = form === null || !isChildSlot(slot) ? [] : versionsOfForm(task, parentOf(role, slot), form);
  const all = [...spends, ...versionsOfForm(task, slot, form)];
  const earlier: TxVersion[] = [];
  for (let raw: string | undefined = newest; raw !== undefined; raw = earlier[0]?.raw) {
    const parents = coin.parentsOf(fromHex(raw));
    const parent = all.find(({ txid }) => parents.includes(txid));
    if (!parent) break;
    earlier.unshift(parent);
  }
  for (const { txid, raw } of earlier) if (!coin.chain.tx(txid)) await coin.chain.broadcast(fromHex(raw), signal);
}

/** A backend may find the newest version's fee absurd after it refused everything for hours: then an older one will do. */
async function sendOlder(task: SwapTask, slot: Slot, form: string | null, newest: string, signal: AbortSignal): Promise<void> {
  const { role } = task.state.terms;
  const coin = task.coin(chainOf(role, slot));
  for (const v of versionsOfForm(task, slot, form).toReversed()) {
    if (v.txid === newest || (slot === ownClaim(role) && coin.lacksGas?.(fromHex(v.raw)))) continue;
    const { kind } = await coin.chain.broadcast(fromHex(v.raw), signal);
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
export async function bringBackPayment(task: SwapTask, form: string | null, signal: AbortSignal): Promise<void> {
  const { role } = task.state.terms;
  const slot = theirPayment(role);
  const { chain } = task.coin(chainOf(role, slot));
  const received = task.state.received[slot];
  const [txid, raw] = form === null ? [received?.txid, received?.raw] : [form, rawOfForm(task, slot, form)];
  if (txid === undefined || raw === undefined || chain.tx(txid)) return;
  const fee = role === "maker" ? task.state.received.fee : undefined;
  if (fee && fee.raw !== "" && !chain.tx(fee.txid)) await chain.broadcast(fromHex(fee.raw), signal);
  await chain.broadcast(fromHex(raw), signal);
}
