import { ownNegotiation } from "../../../core/swap/negotiation.ts";
import { fromHex, toHex } from "../../../core/util/bytes.ts";
import { fundsErrorText } from "../../fundsErrorText.ts";
import type { SwapTask } from "../swapTask.ts";
import { storeSigned } from "./storeSigned.ts";

/** The maker waits this long for the taker's fee: 600 s and 90 s of grace (reference swap-protocol.md 1.8). */
const FEE_WAIT_SEC = 690;
/** Time for the fee to show up at our backend after its message. KDF: 7 looks, 10 s apart. */
const FEE_VISIBLE_SEC = 120;
const RESEND_MS = 15_000;
const LOOK_AGAIN_MS = 2_000;

/** Taker: builds the dex fee once and stores it; `publish` sends exactly those bytes, however often. */
export async function payFee(task: SwapTask): Promise<void> {
  const { terms } = task.state;
  const { firstSendBy } = task.times();
  if (terms.dexFeePubkey === null) return;
  if (task.nowSec() > firstSendBy) {
    await task.emit({
      type: "abandoned",
      failure: { event: "TakerFeeSendFailed", reason: `too late to send the fee: the limit was ${firstSendBy}` },
    });
    return;
  }
  const built = task.coin("taker").buildDexFee({
    feeUnits: BigInt(terms.dexFeeUnits),
    burnUnits: BigInt(terms.dexBurnUnits),
    feeKey: fromHex(terms.dexFeePubkey),
    reservation: task.reservation,
  });
  if (!built.ok) {
    await task.emit({ type: "abandoned", failure: { event: "TakerFeeSendFailed", reason: fundsErrorText(built.error) } });
    return;
  }
  await storeSigned(task, "fee", built.value, firstSendBy);
}

/** Maker: says `Negotiated(true)` until the fee arrives, then checks it (reference swap-protocol.md 4.4). */
export async function awaitFee(task: SwapTask, signal: AbortSignal): Promise<void> {
  const { terms } = task.state;
  const since = task.timeOf((e) => e.type === "negotiated") ?? terms.startedAt;
  const refuse = (reason: string): Promise<void> => task.emit({ type: "abandoned", failure: { event: "TakerFeeValidateFailed", reason } });
  let repliesSeen = task.mailbox.arrivals("NegotiationReply");
  let nextSendMs = task.deps.clock.nowMs();
  for (;;) {
    const seen = task.version;
    const message = task.mailbox.take("TakerFee");
    if (message) return judgeFee(task, message.tx.data, signal, refuse);
    if (task.nowSec() > since + FEE_WAIT_SEC) return refuse(`the taker sent no fee within ${FEE_WAIT_SEC} s`);
    const nowMs = task.deps.clock.nowMs();
    const repeated = task.mailbox.arrivals("NegotiationReply") > repliesSeen;
    if (repeated || nowMs >= nextSendMs) {
      repliesSeen = task.mailbox.arrivals("NegotiationReply");
      // The offer goes along for a taker that restarted before it had stored the answer.
      task.deps.send({ type: "Negotiation", data: ownNegotiation(terms, terms.secretHash ?? "") });
      task.deps.send({ type: "Negotiated", accepted: true });
      nextSendMs = nowMs + RESEND_MS;
    }
    await task.news(seen, Math.max(1, nextSendMs - nowMs), signal);
  }
}

async function judgeFee(task: SwapTask, raw: Uint8Array, signal: AbortSignal, refuse: (reason: string) => Promise<void>): Promise<void> {
  const { terms, negotiated } = task.state;
  if (!negotiated) return;
  if (terms.dexFeePubkey === null) return task.emit({ type: "tx_received", slot: "fee", txid: "", raw: "" });
  const coin = task.coin("taker");
  const expected = {
    takerKey: fromHex(negotiated.takerCoinPub),
    feeKey: fromHex(terms.dexFeePubkey),
    feeUnits: BigInt(terms.dexFeeUnits),
    burnUnits: BigInt(terms.dexBurnUnits),
  };
  const checked = coin.checkDexFee(raw, expected);
  if (!checked.ok) {
    const profile = task.deps.profileOfFee(task, raw);
    const hint = profile ? `; it would be right under network profile ${profile}: the two nodes follow different fee rules` : "";
    return refuse(`${checked.error.reason}${hint}`);
  }
  const { txid } = checked.value;
  const mark = { kind: "fee_tx", value: txid } as const;
  if (await task.deps.store.isMarked(mark)) return refuse(`fee transaction ${txid} already paid for another swap`);
  await coin.chain.watchTx(txid, terms.takerStartHeight, signal);
  const until = task.nowSec() + FEE_VISIBLE_SEC;
  for (;;) {
    const seen = task.version;
    const known = coin.chain.tx(txid);
    if (known) {
      if (!coin.sameTx(known.raw, raw)) return refuse(`the chain knows ${txid} with other bytes than the taker sent`);
      if (known.block && known.block.height <= terms.takerStartHeight) {
        return refuse(`the fee confirmed in block ${known.block.height}, before this swap began at ${terms.takerStartHeight}`);
      }
      return task.emit({ type: "tx_received", slot: "fee", txid, raw: toHex(raw) }, [mark]);
    }
    if (task.nowSec() > until) return refuse(`fee transaction ${txid} is unknown to our backend after ${FEE_VISIBLE_SEC} s`);
    // Our backend may be poorly connected: handing it the bytes is free and settles the question.
    await coin.chain.broadcast(raw, signal);
    await coin.chain.refresh(signal);
    if (!coin.chain.tx(txid)) await task.news(seen, LOOK_AGAIN_MS, signal);
  }
}
