import { ed25519KeyPeerIdBytes, peerIdText } from "../core/gossip/peerId.ts";
import { openHealthcheck, signHealthcheck } from "../core/message/healthcheck.ts";
import type { Secret } from "../core/util/secret.ts";
import type { Clock } from "../ports/clock.ts";
import type { GossipMessage, GossipVerdict, PeerId } from "../ports/network.ts";
import { TokenBucket } from "./tokenBucket.ts";

/** Health checks looked at per second and at once: each costs an ed25519 verification. */
const PER_SEC = 10;
const BURST = 50;
const LIFE_SEC = 10;
const PREFIX = "hcheck/";

/** Answers who asks over the network whether this node is there. */
export class HealthChecks {
  /** Of the questions to this node. */
  readonly topic: string;
  readonly #clock: Clock;
  readonly #identitySeed: Secret<Uint8Array>;
  readonly #publish: (topic: string, data: Uint8Array) => void;
  readonly #bucket: TokenBucket;

  constructor(self: PeerId, identitySeed: Secret<Uint8Array>, clock: Clock, publish: (topic: string, data: Uint8Array) => void) {
    this.topic = PREFIX + self;
    this.#clock = clock;
    this.#identitySeed = identitySeed;
    this.#publish = publish;
    this.#bucket = new TokenBucket(PER_SEC, BURST, clock.nowMs());
  }

  static isOne({ topic }: GossipMessage): boolean {
    return topic.startsWith(PREFIX);
  }

  take({ topic, data }: GossipMessage): GossipVerdict {
    const nowMs = this.#clock.nowMs();
    if (!this.#bucket.take(1, nowMs)) return "ignore";
    const nowSec = Math.floor(nowMs / 1000);
    const check = openHealthcheck(data, nowSec);
    if (!check.ok) return check.error.kind === "BadMessage" || check.error.kind === "BadSignature" ? "reject" : "ignore";
    if (topic === this.topic && !check.value.isReply) {
      const sender = peerIdText(ed25519KeyPeerIdBytes(check.value.senderKey));
      this.#publish(PREFIX + sender, signHealthcheck(this.#identitySeed.reveal(), nowSec + LIFE_SEC, true));
    }
    return "accept";
  }
}
