import { isValidPubkey } from "../../../core/keys/keyPair.ts";
import type { NegotiationData } from "../../../core/message/types.ts";
import { checkNegotiation, echoesSecretHash, negotiationErrorText, ownNegotiation } from "../../../core/swap/negotiation.ts";
import type { Negotiated } from "../../../core/swap/events.ts";
import { toHex } from "../../../core/util/bytes.ts";
import { err, ok, type Result } from "../../../core/util/result.ts";
import { Repeater } from "../repeater.ts";
import type { SwapTask } from "../swapTask.ts";

/** How long a side waits for the next negotiation message: 90 s and 90 s of grace (reference swap-protocol.md 1.8). */
const WAIT_SEC = 180;
const RESEND_MS = 15_000;
/** The first offers follow each other faster: the taker may join the topic a moment after the maker. */
const FIRST_RESENDS_MS = [1_000, 2_000, 4_000, 8_000];
/**
 * An offer that does not fit or a `Negotiated(false)` may be an old message of the same peer, put on this topic by anybody:
 * a good one within this time still counts. Peers repeat theirs every 15 s.
 */
const DOUBT_MS = 20_000;
const DOUBT_RESEND_MS = 5_000;

const failed = (task: SwapTask, reason: string): Promise<void> =>
  task.emit({ type: "abandoned", failure: { event: "NegotiateFailed", reason } });

/** Agrees on times, keys and the secret hash, in either role (reference swap-protocol.md 1.5). */
export function negotiate(task: SwapTask, signal: AbortSignal): Promise<void> {
  return task.state.terms.role === "maker" ? negotiateAsMaker(task, signal) : negotiateAsTaker(task, signal);
}

async function negotiateAsMaker(task: SwapTask, signal: AbortSignal): Promise<void> {
  const { terms } = task.state;
  const offer = { type: "Negotiation", data: ownNegotiation(terms, terms.secretHash ?? "") } as const;
  const until = terms.startedAt + WAIT_SEC;
  const waits = [...FIRST_RESENDS_MS];
  let everyMs = 0;
  const resend = new Repeater(task.deps.clock);
  for (;;) {
    const seen = task.version;
    const reply = task.mailbox.take("NegotiationReply");
    if (reply && echoesSecretHash(terms, reply.data)) {
      const checked = checkNegotiation(terms, reply.data, isValidPubkey);
      if (checked.ok) return task.emit({ type: "negotiated", with: checked.value });
      task.deps.send({ type: "Negotiated", accepted: false });
      return failed(task, negotiationErrorText(checked.error));
    }
    if (task.nowSec() > until) {
      task.deps.send({ type: "Negotiated", accepted: false });
      return failed(task, `no answer to the negotiation within ${WAIT_SEC} s`);
    }
    if (resend.isDue(everyMs)) {
      task.deps.send(offer);
      everyMs = waits.shift() ?? RESEND_MS;
    }
    await task.news(seen, resend.leftMs(everyMs), signal);
  }
}

async function negotiateAsTaker(task: SwapTask, signal: AbortSignal): Promise<void> {
  const offer = await awaitOffer(task, signal);
  if (!offer.ok) return failed(task, offer.error);
  const { data, agreed } = offer.value;
  // One secret opens every payment locked by it: a maker that names a hash twice could pay once and be paid twice.
  const mark = { kind: "secret_hash", value: agreed.secretHash } as const;
  if (await task.deps.store.isMarked(mark)) return failed(task, `the secret hash ${agreed.secretHash} belongs to another swap of this node`);
  const reply = { type: "NegotiationReply", data: ownNegotiation(task.state.terms, toHex(data.secretHash)) } as const;
  const until = task.nowSec() + WAIT_SEC;
  let refusedAtMs: number | null = null;
  const resend = new Repeater(task.deps.clock);
  for (;;) {
    const seen = task.version;
    const answer = task.mailbox.take("Negotiated");
    const nowMs = task.deps.clock.nowMs();
    if (answer?.accepted) return task.emit({ type: "negotiated", with: agreed }, [mark]);
    if (answer && refusedAtMs === null) refusedAtMs = nowMs;
    if (refusedAtMs !== null && Math.abs(nowMs - refusedAtMs) >= DOUBT_MS) return failed(task, "the maker refused the negotiation");
    if (task.nowSec() > until) return failed(task, `the maker did not accept within ${WAIT_SEC} s`);
    const everyMs = refusedAtMs === null ? RESEND_MS : DOUBT_RESEND_MS;
    if (resend.isDue(everyMs)) task.deps.send(reply);
    await task.news(seen, resend.leftMs(everyMs), signal);
  }
}

/** The maker's offer and what it comes to; or, when none came that fits, why the last one did not. */
async function awaitOffer(
  task: SwapTask,
  signal: AbortSignal,
): Promise<Result<{ readonly data: NegotiationData; readonly agreed: Negotiated }, string>> {
  const { terms } = task.state;
  const until = terms.startedAt + WAIT_SEC;
  let unfit = null as { readonly reason: string; readonly sinceMs: number } | null;
  for (;;) {
    const seen = task.version;
    const nowMs = task.deps.clock.nowMs();
    const offer = task.mailbox.take("Negotiation");
    if (offer) {
      const checked = checkNegotiation(terms, offer.data, isValidPubkey);
      if (checked.ok) return ok({ data: offer.data, agreed: checked.value });
      unfit = { reason: negotiationErrorText(checked.error), sinceMs: unfit?.sinceMs ?? nowMs };
    }
    if (unfit && Math.abs(nowMs - unfit.sinceMs) >= DOUBT_MS) return err(unfit.reason);
    const leftSec = until - task.nowSec();
    if (leftSec < 0) return err(unfit?.reason ?? `the maker sent no negotiation within ${WAIT_SEC} s`);
    await task.news(seen, Math.min((leftSec + 1) * 1_000, DOUBT_MS), signal);
  }
}
