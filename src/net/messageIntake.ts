import { asciiToBytes } from "../core/gossip/asciiText.ts";
import type { WireMessage } from "../core/gossip/frame.ts";
import { hashKey, messageId } from "../core/gossip/messageId.ts";
import { type Hash64, type SipKey, sipHash13 } from "../core/gossip/sipHash.ts";
import type { Log } from "../ports/log.ts";
import type { GossipMessage, GossipVerdict, PeerId } from "../ports/network.ts";
import type { Rng } from "../ports/rng.ts";
import { PendingVerdicts } from "./pendingVerdicts.ts";
import { SeenCache } from "./seenCache.ts";

const MAX_TOPIC_TAGS = 4096;

export type MessageHandler = (message: GossipMessage) => GossipVerdict | Promise<GossipVerdict>;

/** A message the application has judged. */
export type JudgedMessage = {
  readonly message: WireMessage;
  readonly id: Hash64;
  readonly source: PeerId;
  /** Whether a peer has delivered it too, while the application was thinking. */
  readonly isHeldBy: (peer: PeerId) => boolean;
};

type Deps = {
  readonly rng: Rng;
  readonly log: Log;
  readonly onVerdict: (verdict: GossipVerdict, judged: JudgedMessage) => void;
  /** Too many messages of a peer wait for a verdict (true), or no longer. */
  readonly onCrowded: (peer: PeerId, isCrowded: boolean) => void;
};

const NOBODY = (): boolean => false;

/** The way of a message from arrival to verdict: known ones out, the rest to the application, within bounds. */
export class MessageIntake {
  readonly #deps: Deps;
  readonly #seen = new SeenCache();
  readonly #pending: PendingVerdicts;
  /** Random key for topics in the seen-cache, so that nobody can make two topics look the same. */
  readonly #topicKey: SipKey;
  /** Tags worked out already. */
  readonly #topicTags = new Map<string, string>();
  #handler: MessageHandler = () => "accept";

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#pending = new PendingVerdicts(deps.onCrowded);
    const random = deps.rng.bytes(16);
    const word = (i: number): number => new DataView(random.buffer, random.byteOffset).getInt32(i * 4);
    this.#topicKey = [word(0), word(1), word(2), word(3)];
  }

  setHandler(handler: MessageHandler): void {
    this.#handler = handler;
  }

  /** Remembers an own message, so that it is not taken when it comes back. */
  noteOwn(id: Hash64, topic: string, nowMs: number): void {
    this.#seen.add(this.#seenKey(hashKey(id), topic), nowMs);
  }

  /** @param idKey `hashKey` of the message id */
  isSeen(idKey: string, topic: string, nowMs: number): boolean {
    return this.#seen.has(this.#seenKey(idKey, topic), nowMs);
  }

  take(source: PeerId, message: WireMessage, nowMs: number): void {
    const { topic, data } = message;
    const id = messageId(data, message.seqno);
    const key = this.#seenKey(hashKey(id), topic);
    if (!this.#seen.add(key, nowMs)) {
      this.#pending.addHolder(key, source);
      return;
    }
    if (!this.#pending.hasRoom(source, data.length)) {
      // Another copy may come when there is room again.
      this.#seen.forget(key);
      return;
    }
    let verdict: GossipVerdict | Promise<GossipVerdict>;
    try {
      verdict = this.#handler({ topic, data, from: source });
    } catch (cause) {
      this.#logFailure(topic, cause);
      return;
    }
    if (typeof verdict === "string") {
      this.#judged(verdict, key, { message, id, source, isHeldBy: NOBODY });
      return;
    }
    const pending = this.#pending.enter(key, source, data.length, nowMs);
    const isHeldBy = (peer: PeerId): boolean => pending.holders.has(peer);
    verdict.then(
      (late) => {
        if (this.#pending.leave(pending)) this.#judged(late, key, { message, id, source, isHeldBy });
      },
      (cause: unknown) => {
        this.#pending.leave(pending);
        this.#logFailure(topic, cause);
      },
    );
  }

  /** Gives up on messages the application has not judged in time. */
  expire(nowMs: number): void {
    const count = this.#pending.expire(nowMs);
    if (count > 0) this.#deps.log.warn("gossip_verdicts_missing", { count });
  }

  #judged(verdict: GossipVerdict, key: string, judged: JudgedMessage): void {
    if (verdict === "busy") this.#seen.forget(key);
    else this.#deps.onVerdict(verdict, judged);
  }

  #logFailure(topic: string, cause: unknown): void {
    this.#deps.log.error("gossip_handler_failed", { topic, cause: String(cause) });
  }

  /** The id of the network does not cover the topic; without it a copy under another topic would hide the real one. */
  #seenKey(idKey: string, topic: string): string {
    let tag = this.#topicTags.get(topic);
    if (tag === undefined) {
      tag = hashKey(sipHash13(asciiToBytes(topic), this.#topicKey));
      if (this.#topicTags.size >= MAX_TOPIC_TAGS) this.#topicTags.clear();
      this.#topicTags.set(topic, tag);
    }
    return idKey + tag;
  }
}
