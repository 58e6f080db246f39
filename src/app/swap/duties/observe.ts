import {
  CHILD_SLOTS,
  isChildSlot,
  ownClaim,
  ownPayment,
  ownRefund,
  type PaymentSlot,
  type Slot,
  theirClaim,
  theirPayment,
  theirRefund,
} from "../../../core/swap/events.ts";
import { keptBytes } from "../../../core/swap/keptBytes.ts";
import { isTakenUp, type OwnTx, versionsOf } from "../../../core/swap/swapState.ts";
import { fromHex, hexOf, toHex } from "../../../core/util/bytes.ts";
import { reasonOf } from "../../../core/util/reasonOf.ts";
import type { BlockRef, SeenOutput } from "../../../ports/chain.ts";
import { sleep, withDeadline } from "../../../ports/clock.ts";
import { bytesOf } from "../bytesOf.ts";
import { chainOf, contractOf, depthOf, notDeep, unitsOf } from "../contracts.ts";
import { lostTo, type OwnTxOfSwap, ownTxIn } from "../lostTo.ts";
import type { SwapCoin } from "../swapCoin.ts";
import type { SwapTask } from "../swapTask.ts";
import { txidsOn } from "../txidsOn.ts";
import { EndWitness } from "./endWitness.ts";
import { GuardedContracts, isBelied, type ShownTx } from "./guardedContracts.ts";
import { giveUpIdle, takeBackPayment, yieldPayment } from "./idleSpends.ts";
import { noteSeen } from "./noteSeen.ts";
import { otherKey } from "./otherKey.ts";
import { isFormOf } from "./paymentForms.ts";
import { isOursMissing, isTheirsMissing, PaymentGone } from "./paymentGone.ts";
import { branchOf } from "./provenSpend.ts";

/**
 * News of both chains wakes this duty, a block and a notarization included. Without any it still looks this often: what became of
 * another swap of this node may explain what became of this one.
 */
const LOOK_MS = 60_000;
/** What is larger is in no mempool (400,000 units of weight, Bitcoin Core's `MAX_STANDARD_TX_WEIGHT`), and each form of a payment is stored. */
const MAX_PAYMENT_BYTES = 400_000;
/** Pause before a contract that could not be followed is tried again. */
const COVER_AGAIN_MS = 15_000;

/** `bytes`: what `raw` is the hex of, the same object each time. */
type Sighting = { readonly txid: string; readonly raw: string; readonly bytes: Uint8Array; readonly block: BlockRef | null };

/** Turns what both chains say into facts of the swap, and takes facts back after a reorg. */
export async function observe(task: SwapTask, signal: AbortSignal): Promise<void> {
  const guarded = new GuardedContracts(task);
  try {
    await observeGuarded(task, guarded, signal);
  } finally {
    guarded.release();
    // Its account sees to it from here on.
    takeBackPayment(task);
  }
}

async function observeGuarded(task: SwapTask, guarded: GuardedContracts, signal: AbortSignal): Promise<void> {
  const { role } = task.state.terms;
  // What one chain says counts while the other is away; and before it covers the contract, it says nothing.
  const { covered } = task;
  void cover(task, "makerPayment", signal);
  void cover(task, "takerPayment", signal);
  const [theirs, ours] = [new PaymentGone(isTheirsMissing), new PaymentGone(isOursMissing)];
  const ends = new EndWitness(task, signal);
  for (;;) {
    const seen = task.seen("chain");
    guarded.update();
    for (const slot of SLOTS) {
      if (!covered.has(chainOf(role, slot))) continue;
      const sighting = look(task, slot);
      for (const witness of [ends, task.undisputed]) witness.seen(slot, sighting?.block ?? null);
      await takeBackDenied(task, slot);
      const isClear = (block: BlockRef): boolean =>
        ends.isClear(slot, block) && (!isBelied(task, slot) || task.undisputed.isClear(slot, block));
      // Most looks find nothing new, and a wait for nothing at each of them would be most of their cost.
      if (isNews(task, slot, sighting)) await record(task, slot, sighting, isClear);
    }
    for (const { slot, txid, raw } of guarded.newForms()) await noteSeen(task, { slot, txid, raw: toHex(raw), block: null });
    if (mayLearnSecret(task)) await learnSecret(task, guarded.shown());
    if (theirs.isGone(task)) await task.emit({ type: "payment_gone" });
    if (ours.isGone(task)) await giveUpOwnPayment(task);
    giveUpIdle(task);
    yieldPayment(task);
    const unseen = whatIsUnseen(task);
    if (unseen && unseen !== task.unseen) task.trouble(unseen);
    task.unseen = unseen;
    await task.news(seen, LOOK_MS, signal);
  }
}

/** What ended the swap ends it no more while its block is denied: the other side's payment is claimed with the secret, or the own one refunded. */
async function takeBackDenied(task: SwapTask, slot: Slot): Promise<void> {
  const fact = task.state.facts[slot];
  if (!fact?.confirmed || !fact.block || !isBelied(task, slot) || !task.undisputed.isDenied(slot, fact.block)) return;
  await task.emit({ type: "tx_withdrawn", slot, txid: fact.txid });
}

/** Nothing counts on what it would pay back. */
async function giveUpOwnPayment(task: SwapTask): Promise<void> {
  const { role } = task.state.terms;
  const payment = task.state.own[ownPayment(role)];
  await task.emit({ type: "own_payment_gone" });
  if (payment) task.coin(role).dropChange(bytesOf(payment));
}

/** Why nothing can be signed, or a chain does not show what it knows of a payment: nobody but the user can help. */
function whatIsUnseen(task: SwapTask): string | null {
  if (!task.state.negotiated) return null;
  const unsignable = task.state.finished === null ? otherKey(task) : null;
  if (unsignable) return unsignable;
  for (const slot of ["makerPayment", "takerPayment"] as const) {
    const coin = task.coin(chainOf(task.state.terms.role, slot));
    const unseen = coin.chain.unseen?.(coin.contractScript(contractOf(task.state, slot)));
    if (unseen) return unseen;
  }
  return null;
}

/** The other coin's chain is waited for so long: a refund does not hang on it. */
const OTHER_CHAIN_MS = 30_000;

/**
 * Records what the chains say of this swap now. Rejects when that of the own payment could not be read. Without it a swap that was
 * taken over would take what confirmed while nobody looked for late, before the first look.
 */
export async function observeFirst(task: SwapTask, signal: AbortSignal): Promise<void> {
  const { role } = task.state.terms;
  await lookOnce(task, role, signal);
  const other = role === "maker" ? "taker" : "maker";
  try {
    await withDeadline(task.deps.clock, OTHER_CHAIN_MS, signal, (s) => lookOnce(task, other, s));
  } catch (cause) {
    if (signal.aborted) throw cause;
    task.trouble(`looking at ${task.coin(other).ticker} first: ${reasonOf(cause)}`);
  }
  await learnSecret(task);
}

async function lookOnce(task: SwapTask, side: "maker" | "taker", signal: AbortSignal): Promise<void> {
  const { role, makerStartHeight, takerStartHeight } = task.state.terms;
  const coin = task.coin(side);
  const script = coin.contractScript(contractOf(task.state, `${side}Payment`));
  await coin.chain.watchScript(script, side === "maker" ? makerStartHeight : takerStartHeight, signal);
  for (const slot of SLOTS) if (chainOf(role, slot) === side) await record(task, slot, look(task, slot), () => !coin.chain.doubt);
}

/**
 * Has the chain of a payment follow its contract, however often that takes; never rejects. News only the first time: a duty that
 * fails and is begun anew would otherwise wake itself out of its own pause.
 */
async function cover(task: SwapTask, slot: PaymentSlot, signal: AbortSignal): Promise<void> {
  const { role, makerStartHeight, takerStartHeight } = task.state.terms;
  const coin = task.coin(chainOf(role, slot));
  const from = slot === "makerPayment" ? makerStartHeight : takerStartHeight;
  if (slot === theirPayment(role)) remindOf(task, coin, slot);
  while (!signal.aborted) {
    try {
      await coin.chain.watchScript(coin.contractScript(contractOf(task.state, slot)), from, signal);
      // Nobody else asks for what a log is taken up with, and what is not asked for would count as undone.
      if (coin.relayPolicy === "nonce")
        await Promise.all(txidsOn(task.state, chainOf(role, slot)).map((txid) => coin.chain.watchTx(txid, from, signal)));
      if (!task.covered.has(chainOf(role, slot))) {
        task.covered.add(chainOf(role, slot));
        task.wake("chain");
      }
      return;
    } catch (cause) {
      if (signal.aborted) return;
      task.trouble(`watching ${slot}: ${reasonOf(cause)}`);
    }
    await sleep(task.deps.clock, COVER_AGAIN_MS, signal).catch(() => undefined);
  }
}

/** What was in a block at its full value once is still what it was where its receipt is gone; what KDF saw was not looked at as closely. */
function remindOf(task: SwapTask, coin: SwapCoin, slot: PaymentSlot): void {
  const known = task.state.facts[slot] ?? task.state.received[slot];
  if (!known || !coin.chain.remember) return;
  const wasSeen = task.events.some(({ event: e }) => e.type === "tx_seen" && e.slot === slot && e.txid === known.txid && e.block !== null);
  coin.chain.remember(fromHex(known.raw), wasSeen && task.state.terms.takenOver === undefined);
}

/** Payments first: the spends are found through them. */
const SLOTS: readonly Slot[] = [
  "fee",
  "makerPayment",
  "takerPayment",
  "takerPaymentSpend",
  "makerPaymentSpend",
  "takerPaymentRefund",
  "makerPaymentRefund",
  "cancel",
  ...CHILD_SLOTS,
];

/** What the chain says of a slot now. */
function look(task: SwapTask, slot: Slot): Sighting | null {
  const s = task.state;
  const { role } = s.terms;
  const coin = task.coin(chainOf(role, slot));
  if (slot === theirPayment(role)) return theirs(task, coin, slot);
  if (slot === "cancel") return cancelled(task, coin);
  if (slot === ownPayment(role)) {
    const own = byTxid(coin, s.own[slot]?.txid);
    return own?.block ? own : (malleated(task, coin, slot) ?? own);
  }
  if (slot === "fee" || isChildSlot(slot)) return ownVersion(coin, s.own[slot]);
  const payment = slot === "takerPaymentSpend" || slot === "takerPaymentRefund" ? "takerPayment" : "makerPayment";
  const branch = slot === ownClaim(role) || slot === theirClaim(role) ? "claim" : "refund";
  const spend = spendOf(task, coin, payment);
  if (spend && branchOf(task, coin, payment, { txid: spend.txid, raw: spend.bytes }, spend.payment) === branch) return spend;
  return slot === ownClaim(role) || slot === ownRefund(role) ? ownVersion(coin, s.own[slot]) : null;
}

/** The version of an own transaction that the chain has: one in a block, else the newest. */
function ownVersion(coin: SwapCoin, tx: OwnTx | undefined): Sighting | null {
  const seen = (tx ? versionsOf(tx) : []).flatMap((v) => byTxid(coin, v.txid) ?? []);
  return seen.find((v) => v.block) ?? seen.at(-1) ?? null;
}

/**
 * The own payment under another id: its signatures were changed on the way, which where scripts allow it needs no key; or it was
 * made before a log was put back. It spends the same outputs as the one that was signed, or has the same key and contract, so a
 * stranger's payment to the contract is never taken for it.
 */
function malleated(task: SwapTask, coin: SwapCoin, slot: PaymentSlot): Sighting | null {
  const s = task.state;
  const own = s.own[slot];
  if (!own) return null;
  const exact = coin.chain.outputs(coin.contractScript(contractOf(s, slot))).filter((o) => o.vout === 0 && o.value === unitsOf(s, slot));
  const forms = exact.flatMap((o) => byTxid(coin, o.txid) ?? []).filter((t) => isFormOf(coin, t.bytes, own));
  return forms.find((t) => t.block) ?? forms[0] ?? null;
}

/**
 * What keeps the own payment from ever confirming. A malleated form of the payment is the payment; where the same payment was made under two
 * nonces, one that stands is not undone.
 */
function cancelled(task: SwapTask, coin: SwapCoin): Sighting | null {
  const found = ownVersion(coin, task.state.own.cancel) ?? anyByTxid(coin, conflict(task, coin));
  return found?.block && malleated(task, coin, ownPayment(task.state.terms.role))?.block ? null : found;
}

/**
 * What makes it impossible that the own payment confirms: another wallet of the same seed may have spent its inputs; or the fee
 * or claim it is built on confirmed in another form or version. One that failed on its chain excludes itself.
 */
function conflict(task: SwapTask, coin: SwapCoin): string | undefined {
  const s = task.state;
  const slot = ownPayment(s.terms.role);
  const [payment, known] = [s.own[slot], s.facts.cancel];
  const seen = payment && coin.chain.tx(payment.txid);
  if (!payment?.attempted || (seen?.block && !seen.failed)) return undefined;
  if (seen?.failed) return payment.txid;
  // What excluded it once does so for as long as it is in a block, also when the swap that explains it is forgotten.
  if (known && coin.chain.tx(known.txid)?.block) return known.txid;
  // One the backend has stands on what the backend has.
  const raw = bytesOf(payment);
  const ownTx = (txid: string): OwnTxOfSwap | null => ownTxIn(s, txid) ?? task.deps.ownTx(txid);
  return (seen ? coin.conflictOf(raw) : lostTo(coin, raw, ownTx)) ?? undefined;
}

/** One that failed never happened. */
function byTxid(coin: SwapCoin, txid: string | undefined): Sighting | null {
  return txid !== undefined && coin.chain.tx(txid)?.failed ? null : anyByTxid(coin, txid);
}

function anyByTxid(coin: SwapCoin, txid: string | undefined): Sighting | null {
  const tx = txid === undefined ? undefined : coin.chain.tx(txid);
  return tx ? { txid: tx.txid, raw: hexOf(tx.raw), bytes: tx.raw, block: tx.block } : null;
}

/** Output 0 of the payment transaction of a slot, if the chain has it. */
function paymentOutput(task: SwapTask, coin: SwapCoin, slot: PaymentSlot): SeenOutput | undefined {
  const s = task.state;
  const txid = s.facts[slot]?.txid ?? s.own[slot]?.txid ?? s.received[slot]?.txid;
  return coin.chain.outputs(coin.contractScript(contractOf(s, slot))).find((o) => o.txid === txid && o.vout === 0);
}

/**
 * The other side's payment: exactly the agreed value at output 0 of a transaction to the contract's script. Anyone can
 * send dust or a wrong amount to that address; only an exact one counts (reference swap-protocol.md 9.3, item 2).
 */
function theirs(task: SwapTask, coin: SwapCoin, slot: PaymentSlot): Sighting | null {
  const s = task.state;
  const fits = (txid: string): boolean =>
    (coin.chain.tx(txid)?.raw.length ?? 0) <= MAX_PAYMENT_BYTES || keptBytes(s, slot, txid) !== undefined;
  const exact = coin.chain
    .outputs(coin.contractScript(contractOf(s, slot)))
    .filter((o) => o.vout === 0 && o.value === unitsOf(s, slot) && fits(o.txid));
  const settled = s.facts[slot]?.txid;
  const announced = s.received[slot]?.txid;
  const known = (from: readonly SeenOutput[]): SeenOutput | undefined =>
    from.find((o) => o.txid === settled) ?? from.find((o) => o.txid === announced);
  // After a reorg another one may be in a block, and the known one back in the mempool or gone.
  const inBlocks = exact.filter((o) => o.block);
  const best = (inBlocks.length > 0 ? known(inBlocks) : known(exact)) ?? exact.find((o) => o.block) ?? exact[0];
  return byTxid(coin, best?.txid);
}

function spendOf(task: SwapTask, coin: SwapCoin, slot: PaymentSlot): (Sighting & { readonly payment: string }) | null {
  const output = paymentOutput(task, coin, slot);
  const spend = byTxid(coin, output?.spentBy?.txid);
  return output && spend ? { ...spend, payment: output.txid } : null;
}

/** Whether `record` may have anything to do: the fact is not known as it is seen, or not known to be deep. */
function isNews(task: SwapTask, slot: Slot, sighting: Sighting | null): boolean {
  const known = task.state.facts[slot];
  if (!sighting || !known) return known !== undefined || sighting !== null;
  return known.txid !== sighting.txid || known.block?.hash !== sighting.block?.hash || !known.confirmed;
}

/** @param isClear whether a block that ends the swap may be taken for one */
async function record(task: SwapTask, slot: Slot, sighting: Sighting | null, isClear: (block: BlockRef) => boolean): Promise<void> {
  const known = task.state.facts[slot];
  if (!sighting) {
    // A backend that took it but does not list it yet is not a withdrawal of a fact that never had a block.
    if (known?.block || (known && slot !== ownPayment(task.state.terms.role) && task.state.own[slot] === undefined)) {
      await task.emit({ type: "tx_withdrawn", slot, txid: known.txid });
    }
    return;
  }
  const { txid, raw, block } = sighting;
  const isKnown = known?.txid === txid && known.block?.hash === block?.hash;
  // Most looks find nothing new, and every event goes through the queue of the swap.
  if (isKnown && known.confirmed) return;
  if (known && known.txid !== txid) await task.emit({ type: "tx_withdrawn", slot, txid: known.txid });
  if (!isKnown && !(await noteSeen(task, { slot, txid, raw, block }))) {
    // What is not so any more must not count until there is room for what is.
    if (known) await task.emit({ type: "tx_withdrawn", slot, txid: known.txid });
    return;
  }
  const coin = task.coin(chainOf(task.state.terms.role, slot));
  // The chain may have moved while this was stored: how high it is says nothing then of a block that it undid.
  if (coin.chain.tx(txid)?.block?.hash !== block?.hash) return;
  if (notDeep(coin.chain, block, depthOf(task.state, slot)) !== null) return;
  // A made-up block must not end the sending of the own payment or of a child either, nor keep what cancels it at home.
  const ends = slot === ownPayment(task.state.terms.role) || isChildSlot(slot) || decidingSlots(task).includes(slot);
  if (!block || !ends || isClear(block)) await task.emit({ type: "tx_confirmed", slot, txid, block });
}

function mayLearnSecret({ state }: SwapTask): boolean {
  return state.secret === null && Boolean(state.negotiated) && (state.terms.role === "taker" || isTakenUp(state));
}

/**
 * Taker: the maker's claim, even unconfirmed, shows the secret. Maker of a swap that was taken up: so does any claim, also an own one
 * that nothing tells of. A transaction that only looks like a claim shows nothing.
 * @param shown of which one server alone tells: whoever has the secret in it had it from the maker, so it proves itself
 */
async function learnSecret(task: SwapTask, shown: readonly ShownTx[] = []): Promise<void> {
  const s = task.state;
  const { role } = s.terms;
  if (!mayLearnSecret(task) || !s.negotiated) return;
  for (const slot of role === "taker" ? (["takerPaymentSpend"] as const) : (["takerPaymentSpend", "makerPaymentSpend"] as const)) {
    const coin = task.coin(chainOf(role, slot));
    const secretHash = fromHex(s.negotiated.secretHash);
    const spend = s.facts[slot];
    const secret = spend && coin.findSecret({ txid: spend.txid, raw: bytesOf(spend) }, secretHash);
    if (secret) return task.emit({ type: "secret_learned", secret: toHex(secret) });
    if (spend) task.trouble(`the spend ${spend.txid} carries no secret`);
    for (const tx of shown) {
      const found = `${tx.payment}Spend` === slot ? coin.findSecret(tx, secretHash) : null;
      if (!found) continue;
      // Seen, and withdrawn at the next look while the chain as most tell it does not have it.
      if (!spend) await noteSeen(task, { slot, txid: tx.txid, raw: toHex(tx.raw), block: null });
      return task.emit({ type: "secret_learned", secret: toHex(found) });
    }
    const payment = slot === "takerPaymentSpend" ? "takerPayment" : "makerPayment";
    const proven = coin.chain.shownSecret?.(coin.contractScript(contractOf(s, payment)));
    if (proven) return task.emit({ type: "secret_learned", secret: toHex(proven) });
  }
}

/** Slots whose depth decides that a finished swap needs no more watching. */
export const decidingSlots = (task: SwapTask): readonly Slot[] => {
  const { role } = task.state.terms;
  return [ownClaim(role), ownRefund(role), "cancel", theirRefund(role)];
};
