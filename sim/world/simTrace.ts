import { createHash } from "node:crypto";
import { messageId, messageIdBytes } from "../../src/core/gossip/messageId.ts";
import { parseFrame } from "../../src/core/gossip/parseFrame.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import type { Clock } from "../../src/ports/clock.ts";
import type { PeerId, PeerTransport } from "../../src/ports/network.ts";

/** What goes over the lines: a frame without its length prefix, or a request and its answer. */
export type LineTap = {
  frame(from: string, to: PeerId, frame: Uint8Array): void;
  request(from: string, to: PeerId, protocol: string, payload: Uint8Array, answer: Uint8Array): void;
};

const SWAP_TOPIC = "swap/";
const HASHED_AT_ONCE = 65_536;

/** A gossip message in a frame. */
type Carried = { readonly topic: string; readonly data: Uint8Array; readonly id: string };

/** Everything that happened, as one hash: two runs with the same one did the same things at the same virtual times. */
export class SimTrace {
  readonly #clock: Clock;
  readonly #hash = createHash("sha256");
  #count = 0;
  /** Lines that are still to be hashed: many at once are cheaper. */
  #unhashed = "";
  /** What the last frame carried: one frame goes to several peers. */
  #last: { readonly frame: Uint8Array; readonly messages: readonly Carried[] } | null = null;
  /** Hears the data of each message on a swap's topic, with the swap's uuid and who hands it on. */
  onSwapMessage: (from: string, uuid: string, data: Uint8Array) => void = () => undefined;
  /** Hears every frame and request on its way out. */
  tap: LineTap = { frame: () => undefined, request: () => undefined };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get count(): number {
    return this.#count;
  }

  note(who: string, what: string): void {
    this.#count++;
    this.#unhashed += `${this.#clock.nowMs()} ${who} ${what}\n`;
    if (this.#unhashed.length >= HASHED_AT_ONCE) this.#hashLines();
  }

  #hashLines(): void {
    this.#hash.update(this.#unhashed);
    this.#unhashed = "";
  }

  digest(): string {
    this.#hashLines();
    return this.#hash.copy().digest("hex");
  }

  #carriedBy(frame: Uint8Array): readonly Carried[] {
    if (this.#last?.frame !== frame) {
      const parsed = parseFrame(frame);
      const messages = (parsed.ok ? (parsed.value.publish ?? []) : []).map(({ topic, data, seqno }) => ({
        topic,
        data,
        id: toHex(messageIdBytes(messageId(data, seqno))),
      }));
      this.#last = { frame, messages };
    }
    return this.#last.messages;
  }

  /**
   * Notes the id of every gossip message the transport hands to a peer.
   * @param isLost drawn once for each frame with a message: true loses it, as a full queue does. Control frames are never lost.
   */
  transport(who: string, inner: PeerTransport, isLost: () => boolean): PeerTransport {
    return {
      self: inner.self,
      start: (handlers) => inner.start(handlers),
      stop: () => inner.stop(),
      dial: (address, signal) => inner.dial(address, signal),
      disconnect: (peer, reason) => inner.disconnect(peer, reason),
      request: async (peer, protocol, payload, signal) => {
        const answer = await inner.request(peer, protocol, payload, signal);
        this.tap.request(who, peer, protocol, payload, answer);
        return answer;
      },
      sendFrame: (peer, frame) => {
        this.tap.frame(who, peer, frame);
        const messages = this.#carriedBy(frame);
        for (const { topic, data } of messages) {
          if (topic.startsWith(SWAP_TOPIC)) this.onSwapMessage(who, topic.slice(SWAP_TOPIC.length), data);
        }
        for (const { id } of messages) this.note(who, `gossip ${peer} ${id}`);
        if (messages.length > 0 && isLost()) return true;
        return inner.sendFrame(peer, frame);
      },
    };
  }
}
