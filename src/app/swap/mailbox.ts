import type { SwapMessage } from "../../core/message/types.ts";
import { equalBytes } from "../../core/util/bytes.ts";
import { hash256 } from "../../core/utxo/hash.ts";

type MessageOf<T extends SwapMessage["type"]> = Extract<SwapMessage, { type: T }>;

/**
 * The other side's latest message of each kind that the swap reads. Bounded by the number of kinds; a newer message replaces an older one,
 * as in KDF (reference swap-protocol.md 1.4).
 */
export class Mailbox {
  readonly #slots = new Map<SwapMessage["type"], SwapMessage>();
  /** Hash of the fee that was taken out last. */
  #fee: Uint8Array | null = null;
  readonly #arrivals = new Map<SwapMessage["type"], number>();

  /** @param isAwaited see the function of that name; of others is only counted that they came */
  put(message: SwapMessage, isAwaited: boolean): void {
    this.#arrivals.set(message.type, this.arrivals(message.type) + 1);
    if (!isAwaited) return;
    const unread = this.#slots.get(message.type);
    // A consent not read yet is not undone by a refusal, which names no swap and may be a replay.
    const isUndone = unread?.type === "Negotiated" && unread.accepted && message.type === "Negotiated" && !message.accepted;
    // Nor does a fee that was read before push out one that was not: whoever has an old one could repeat it for ever.
    const isOldFee = unread !== undefined && message.type === "TakerFee" && this.#isFeeTaken(message.tx.data);
    if (!isUndone && !isOldFee) this.#slots.set(message.type, message);
  }

  /** Removes and returns the message, so that the same one is judged once. */
  take<T extends SwapMessage["type"]>(type: T): MessageOf<T> | undefined {
    const message = this.#slots.get(type);
    this.#slots.delete(type);
    if (message?.type === "TakerFee") this.#fee = hash256(message.tx.data);
    return message as MessageOf<T> | undefined;
  }

  /** Whether another fee waits than the one that was taken out last. */
  get hasOtherFee(): boolean {
    const unread = this.#slots.get("TakerFee");
    return unread?.type === "TakerFee" && !this.#isFeeTaken(unread.tx.data);
  }

  #isFeeTaken(data: Uint8Array): boolean {
    return this.#fee !== null && equalBytes(hash256(data), this.#fee);
  }

  /** How often a message of this kind has arrived: tells a repetition from silence. */
  arrivals(type: SwapMessage["type"]): number {
    return this.#arrivals.get(type) ?? 0;
  }
}
