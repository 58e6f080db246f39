import { isValidPubkey } from "../../../core/keys/keyPair.ts";
import type { NegotiationData } from "../../../core/message/types.ts";
import { checkNegotiation, echoesSecretHash, negotiationErrorText, ownNegotiation } from "../../../core/swap/negotiation.ts";
import { toHex } from "../../../core/util/bytes.ts";
import type { SwapTask } from "../swapTask.ts";

/** How long a side waits for the next negotiation message: 90 s and 90 s of grace (reference swap-protocol.md 1.8). */
const WAIT_SEC = 180;
const RESEND_MS = 15_000;
/** The first offers follow each other faster: the taker may join the topic a moment after the maker. */
const FIRST_RESENDS_MS = [1_000, 2_000, 4_000, 8_000];
/** A `Negotiated(false)` may be a replay of another swap: a true one arriving within this still counts. */
const DOUBT_MS = 5_000;

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
  let nextSendMs = task.deps.clock.nowMs();
  for (;;) {
    const seen = task.version;
    const nowMs = task.deps.clock.nowMs();
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
    if (nowMs >= nextSendMs) {
      task.deps.send(offer);
      nextSendMs = nowMs + (waits.shift() ?? RESEND_MS);
    }
    await task.news(seen, nextSendMs - nowMs, signal);
  }
}

async function negotiateAsTaker(task: SwapTask, signal: AbortSignal): Promise<void> {
  const { terms } = task.state;
  const offer = await awaitNegotiation(task, terms.startedAt + WAIT_SEC, signal);
  if (!offer) return failed(task, `the maker sent no negotiation within ${WAIT_SEC} s`);
  const checked = checkNegotiation(terms, offer, isValidPubkey);
  if (!checked.ok) return failed(task, negotiationErrorText(checked.error));
  const reply = { type: "NegotiationReply", data: ownNegotiation(terms, toHex(offer.secretHash)) } as const;
  const until = task.nowSec() + WAIT_SEC;
  let refusedAtMs: number | null = null;
  let nextSendMs = task.deps.clock.nowMs();
  for (;;) {
    const seen = task.version;
    const answer = task.mailbox.take("Negotiated");
    const nowMs = task.deps.clock.nowMs();
    if (answer?.accepted) return task.emit({ type: "negotiated", with: checked.value });
    if (answer && refusedAtMs === null) refusedAtMs = nowMs;
    if (refusedAtMs !== null && nowMs - refusedAtMs >= DOUBT_MS) return failed(task, "the maker refused the negotiation");
    if (task.nowSec() > until) return failed(task, `the maker did not accept within ${WAIT_SEC} s`);
    if (nowMs >= nextSendMs) {
      task.deps.send(reply);
      nextSendMs = nowMs + RESEND_MS;
    }
    await task.news(seen, refusedAtMs === null ? nextSendMs - nowMs : DOUBT_MS, signal);
  }
}

async function awaitNegotiation(task: SwapTask, until: number, signal: AbortSignal): Promise<NegotiationData | null> {
  for (;;) {
    const seen = task.version;
    const offer = task.mailbox.take("Negotiation");
    if (offer) return offer.data;
    const leftSec = until - task.nowSec();
    if (leftSec < 0) return null;
    await task.news(seen, (leftSec + 1) * 1_000, signal);
  }
}
