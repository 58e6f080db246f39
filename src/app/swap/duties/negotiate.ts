import { isValidPubkey } from "../../../core/keys/keyPair.ts";
import type { Negotiated } from "../../../core/swap/events.ts";
import { checkNegotiation, echoesSecretHash, negotiationErrorText, ownNegotiation } from "../../../core/swap/negotiation.ts";
import { toHex } from "../../../core/util/bytes.ts";
import { err, type Result } from "../../../core/util/result.ts";
import type { UniqueMark } from "../../../ports/swapStore.ts";
import { Repeater } from "../repeater.ts";
import type { SwapTask } from "../swapTask.ts";

/** The first offers follow each other faster: the taker may join the topic a moment after the maker. */
const FIRST_RESENDS_MS = [1_000, 2_000, 4_000, 8_000];
/**
 * An offer that does not fit or a `Negotiated(false)` may be an old message of the same peer, put on this topic by anybody:
 * a good one within this time still counts. Peers repeat theirs every 15 s.
 */
const DOUBT_MS = 20_000;
const DOUBT_RESEND_MS = 5_000;
/** Two answers to an offer that comes again after the consent are at least this far apart: below a maker's 15 s. */
const ANSWER_AGAIN_MS = 10_000;
/** Only a message moves this duty. */
const REST_MS = 600_000;

/** How long a side waits for the next negotiation message: 90 s and 90 s of grace (reference swap-protocol.md 1.8). */
const waitSec = ({ deps }: SwapTask): number => deps.timing.negotiationWaitSec + deps.timing.messageGraceSec;
const resendMs = ({ deps }: SwapTask): number => deps.timing.negotiationResendSec * 1_000;

/**
 * Never the other side's proven fault: an offer names neither swap nor pair, so one that does not fit may be meant for another
 * swap of the same key, on coins with contracts, hashes of 32 bytes or keys of another kind.
 */
const failed = (task: SwapTask, reason: string): Promise<void> =>
  task.emit({ type: "abandoned", failure: { event: "NegotiateFailed", reason } });

/** Agrees on times, keys and the secret hash, in either role (reference swap-protocol.md 1.5). */
export function negotiate(task: SwapTask, signal: AbortSignal): Promise<void> {
  return task.state.terms.role === "maker" ? negotiateAsMaker(task, signal) : negotiateAsTaker(task, signal);
}

async function negotiateAsMaker(task: SwapTask, signal: AbortSignal): Promise<void> {
  const { terms } = task.state;
  const offer = { type: "Negotiation", data: ownNegotiation(terms, { secretHash: terms.secretHash ?? "" }) } as const;
  const until = terms.startedAt + waitSec(task);
  const waits = [...FIRST_RESENDS_MS];
  let everyMs = 0;
  const resend = new Repeater(task.deps.clock);
  for (;;) {
    const seen = task.seen("messages");
    const reply = task.mailbox.take("NegotiationReply");
    if (reply && echoesSecretHash(terms, reply.data)) {
      const checked = checkNegotiation(terms, reply.data, isValidPubkey);
      if (checked.ok) return task.emit({ type: "negotiated", with: checked.value });
      task.deps.send({ type: "Negotiated", accepted: false });
      return failed(task, negotiationErrorText(checked.error));
    }
    if (task.nowSec() > until) {
      task.deps.send({ type: "Negotiated", accepted: false });
      return failed(task, `no answer to the negotiation within ${waitSec(task)} s`);
    }
    if (resend.isDue(everyMs)) {
      task.deps.send(offer);
      everyMs = waits.shift() ?? resendMs(task);
    }
    await task.news(seen, resend.leftMs(everyMs), signal);
  }
}

async function negotiateAsTaker(task: SwapTask, signal: AbortSignal): Promise<void> {
  const first = await awaitOffer(task, signal);
  if (!first.ok) return failed(task, first.error.reason);
  let agreed = first.value;
  const until = task.nowSec() + waitSec(task);
  let refusedAtMs: number | null = null;
  let resend = new Repeater(task.deps.clock);
  const reply = (): void => task.deps.send({ type: "NegotiationReply", data: ownNegotiation(task.state.terms, agreed) });
  // Before any consent counts: one that is an old message must not have us pay a fee to a maker that never heard from us.
  if (resend.isDue(0)) reply();
  for (;;) {
    const seen = task.seen("messages");
    const answer = task.mailbox.take("Negotiated");
    const nowMs = task.deps.clock.nowMs();
    if (answer?.accepted) return task.emit({ type: "negotiated", with: agreed }, [markOf(agreed)]);
    // An offer of another hash: one of the two belongs to another swap, and only the maker knows which. It answers to its own.
    const other = await judgeOffer(task);
    if (other?.ok && other.value.secretHash !== agreed.secretHash) {
      agreed = other.value;
      resend = new Repeater(task.deps.clock);
    }
    if (answer && refusedAtMs === null) refusedAtMs = nowMs;
    if (refusedAtMs !== null && Math.abs(nowMs - refusedAtMs) >= DOUBT_MS) return failed(task, "the maker refused the negotiation");
    if (task.nowSec() > until) return failed(task, `the maker did not accept within ${waitSec(task)} s`);
    const everyMs = refusedAtMs === null ? resendMs(task) : DOUBT_RESEND_MS;
    if (resend.isDue(everyMs)) reply();
    await task.news(seen, resend.leftMs(everyMs), signal);
  }
}

/**
 * Taker, once it is agreed and until a payment of the maker is known: answers the offer when it comes again. The consent may be
 * an old message of the maker, and our answer lost: then it still offers, and would have the fee be paid to nobody.
 */
export async function answerOffers(task: SwapTask, signal: AbortSignal): Promise<void> {
  const { terms, negotiated } = task.state;
  if (!negotiated) return;
  // What has come so far was answered before the consent counted.
  task.mailbox.take("Negotiation");
  const again = new Repeater(task.deps.clock);
  again.isDue(0);
  for (;;) {
    const seen = task.seen("messages");
    const offer = task.mailbox.take("Negotiation");
    // A maker that does not compare would take our hash for its own: an offer of another swap is not answered.
    const isAgreed = offer !== undefined && toHex(offer.data.secretHash) === negotiated.secretHash;
    if (isAgreed && again.isDue(ANSWER_AGAIN_MS)) {
      task.deps.send({ type: "NegotiationReply", data: ownNegotiation(terms, negotiated) });
    }
    await task.news(seen, REST_MS, signal);
  }
}

type Unfit = { readonly reason: string };

/** What the maker offers; or, when no offer came that fits, why the last one did not. */
async function awaitOffer(task: SwapTask, signal: AbortSignal): Promise<Result<Negotiated, Unfit>> {
  const until = task.state.terms.startedAt + waitSec(task);
  let unfit = null as (Unfit & { readonly sinceMs: number }) | null;
  for (;;) {
    const seen = task.seen("messages");
    const nowMs = task.deps.clock.nowMs();
    const offer = await judgeOffer(task);
    if (offer?.ok) return offer;
    if (offer) unfit = { ...offer.error, sinceMs: unfit?.sinceMs ?? nowMs };
    if (unfit && Math.abs(nowMs - unfit.sinceMs) >= DOUBT_MS) return err(unfit);
    const leftSec = until - task.nowSec();
    if (leftSec < 0) return err(unfit ?? { reason: `the maker sent no negotiation within ${waitSec(task)} s` });
    await task.news(seen, Math.min((leftSec + 1) * 1_000, DOUBT_MS), signal);
  }
}

/** The offer in the mailbox, if there is one: what it comes to, or why it does not fit. */
async function judgeOffer(task: SwapTask): Promise<Result<Negotiated, Unfit> | null> {
  const offer = task.mailbox.take("Negotiation");
  if (!offer) return null;
  const checked = checkNegotiation(task.state.terms, offer.data, isValidPubkey);
  if (!checked.ok) return err({ reason: negotiationErrorText(checked.error) });
  const { secretHash } = checked.value;
  // One secret opens every payment locked by it: a maker that names a hash twice could pay once and be paid twice.
  if (!(await task.deps.store.isMarked(markOf(checked.value)))) return checked;
  return err({ reason: `the secret hash ${secretHash} belongs to another swap of this node` });
}

const markOf = ({ secretHash }: Negotiated): UniqueMark => ({ kind: "secret_hash", value: secretHash });
