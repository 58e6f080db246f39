import { ownClaim, ownPayment, ownRefund, type Slot, theirClaim, theirPayment, theirRefund } from "../../../core/swap/events.ts";
import type { OwnTx } from "../../../core/swap/swapState.ts";
import { fromHex, toHex } from "../../../core/util/bytes.ts";
import type { BlockRef, SeenOutput } from "../../../ports/chain.ts";
import { sleep } from "../../../ports/clock.ts";
import { chainOf, contractOf, depthOf, type PaymentSlot, unitsOf } from "../contracts.ts";
import type { SwapCoin } from "../swapCoin.ts";
import type { SwapTask } from "../swapTask.ts";

/** News wakes this duty; without any it still looks this often (notarization and depth come without news of our own). */
const LOOK_MS = 15_000;

type Sighting = { readonly txid: string; readonly raw: string; readonly block: BlockRef | null };

/** Turns what both chains say into facts of the swap, and takes facts back after a reorg. */
export async function observe(task: SwapTask, signal: AbortSignal): Promise<void> {
  const { role } = task.state.terms;
  // What one chain says counts while the other is away; and before it covers the contract, it says nothing.
  const covered = new Set<"maker" | "taker">();
  void cover(task, "makerPayment", covered, signal);
  void cover(task, "takerPayment", covered, signal);
  for (;;) {
    const seen = task.version;
    for (const slot of SLOTS) if (covered.has(chainOf(role, slot))) await record(task, slot, look(task, slot));
    await learnSecret(task);
    await task.news(seen, LOOK_MS, signal);
  }
}

/** Has the chain of a payment follow its contract, however often that takes; never rejects. */
async function cover(task: SwapTask, slot: PaymentSlot, covered: Set<"maker" | "taker">, signal: AbortSignal): Promise<void> {
  const { role, makerStartHeight, takerStartHeight } = task.state.terms;
  const coin = task.coin(chainOf(role, slot));
  const from = slot === "makerPayment" ? makerStartHeight : takerStartHeight;
  while (!signal.aborted) {
    try {
      await coin.chain.watchScript(coin.contractScript(contractOf(task.state, slot)), from, signal);
      covered.add(chainOf(role, slot));
      task.wake();
      return;
    } catch (cause) {
      if (signal.aborted) return;
      task.trouble(`watching ${slot}: ${cause instanceof Error ? cause.message : String(cause)}`);
    }
    await sleep(task.deps.clock, LOOK_MS, signal).catch(() => undefined);
  }
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
];

/** What the chain says of a slot now. */
function look(task: SwapTask, slot: Slot): Sighting | null {
  const s = task.state;
  const { role } = s.terms;
  const coin = task.coin(chainOf(role, slot));
  if (slot === theirPayment(role)) return theirs(task, coin, slot);
  if (slot === "cancel") return byTxid(coin, s.own.cancel?.txid) ?? byTxid(coin, conflict(coin, s.own[ownPayment(role)]));
  if (slot === ownPayment(role) || slot === "fee") return byTxid(coin, s.own[slot]?.txid);
  const payment = slot === "takerPaymentSpend" || slot === "takerPaymentRefund" ? "takerPayment" : "makerPayment";
  const branch = slot === ownClaim(role) || slot === theirClaim(role) ? "claim" : "refund";
  const spend = spendOf(task, coin, payment);
  if (spend && coin.classifySpend(fromHex(spend.raw), spend.payment) === branch) return spend;
  return slot === ownClaim(role) || slot === ownRefund(role) ? byTxid(coin, s.own[slot]?.txid) : null;
}

/** Another wallet of the same seed may have spent the inputs of the payment: it can never confirm, which ends the swap too. */
function conflict(coin: SwapCoin, payment: OwnTx | undefined): string | undefined {
  if (!payment || coin.chain.tx(payment.txid)?.block) return undefined;
  return coin.conflictOf(fromHex(payment.raw)) ?? undefined;
}

function byTxid(coin: SwapCoin, txid: string | undefined): Sighting | null {
  const tx = txid === undefined ? undefined : coin.chain.tx(txid);
  return tx ? { txid: tx.txid, raw: toHex(tx.raw), block: tx.block } : null;
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
  const exact = coin.chain.outputs(coin.contractScript(contractOf(s, slot))).filter((o) => o.vout === 0 && o.value === unitsOf(s, slot));
  const settled = s.facts[slot]?.txid;
  const announced = s.received[slot]?.txid;
  const best = exact.find((o) => o.txid === settled) ?? exact.find((o) => o.txid === announced) ?? exact.find((o) => o.block) ?? exact[0];
  return byTxid(coin, best?.txid);
}

function spendOf(task: SwapTask, coin: SwapCoin, slot: PaymentSlot): (Sighting & { readonly payment: string }) | null {
  const output = paymentOutput(task, coin, slot);
  const spend = byTxid(coin, output?.spentBy?.txid);
  return output && spend ? { ...spend, payment: output.txid } : null;
}

async function record(task: SwapTask, slot: Slot, sighting: Sighting | null): Promise<void> {
  const known = task.state.facts[slot];
  if (!sighting) {
    // A backend that took it but does not list it yet is not a withdrawal of a fact that never had a block.
    if (known?.block || (known && slot !== ownPayment(task.state.terms.role) && task.state.own[slot] === undefined)) {
      await task.emit({ type: "tx_withdrawn", slot, txid: known.txid });
    }
    return;
  }
  if (known && known.txid !== sighting.txid) await task.emit({ type: "tx_withdrawn", slot, txid: known.txid });
  await task.emit({ type: "tx_seen", slot, ...sighting });
  const coin = task.coin(chainOf(task.state.terms.role, slot));
  const { confs, nota } = depthOf(task.state, slot);
  const deep =
    coin.chain.confirmations(sighting.block) >= confs &&
    (!nota || (sighting.block !== null && coin.chain.isNotarized(sighting.block.height)));
  if (deep) await task.emit({ type: "tx_confirmed", slot, txid: sighting.txid, block: sighting.block });
}

/** Taker: the maker's claim, even unconfirmed, shows the secret. */
async function learnSecret(task: SwapTask): Promise<void> {
  const s = task.state;
  const spend = s.facts.takerPaymentSpend;
  if (s.terms.role !== "taker" || s.secret !== null || !spend || !s.negotiated) return;
  const secret = task.coin("taker").findSecret(fromHex(spend.raw), fromHex(s.negotiated.secretHash));
  if (secret) await task.emit({ type: "secret_learned", secret: toHex(secret) });
  else task.trouble(`the spend ${spend.txid} of our payment carries no secret`);
}

/** Slots whose depth decides that a finished swap needs no more watching. */
export const decidingSlots = (task: SwapTask): readonly Slot[] => {
  const { role } = task.state.terms;
  return [ownClaim(role), ownRefund(role), "cancel", theirRefund(role)];
};
