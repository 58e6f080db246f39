import type { Clock } from "../../ports/clock.ts";
import type { GossipMessage } from "../../ports/network.ts";

/** Starts waited for at once, how long each, and how many messages are kept for it, which anybody may have sent: an offer has a few hundred bytes. */
const MAX_EXPECTED = 100;
const EXPECT_MS = 60_000;
const MAX_EARLY_MESSAGES = 8;
const MAX_EARLY_BYTES = 10_000;

/** Topics of swaps that may start in a moment, joined ahead so that their first message is not missed. */
export class ExpectedTopics {
  readonly #clock: Clock;
  readonly #join: (uuid: string) => void;
  readonly #leave: (uuid: string) => void;
  readonly #expected = new Map<string, { readonly messages: GossipMessage[]; readonly cancel: () => void }>();

  constructor(clock: Clock, join: (uuid: string) => void, leave: (uuid: string) => void) {
    this.#clock = clock;
    this.#join = join;
    this.#leave = leave;
  }

  add(uuid: string): void {
    if (this.#expected.has(uuid) || this.#expected.size >= MAX_EXPECTED) return;
    const cancel = this.#clock.after(EXPECT_MS, () => void this.take(uuid));
    this.#expected.set(uuid, { messages: [], cancel });
    this.#join(uuid);
  }

  put(uuid: string, message: GossipMessage): void {
    const early = this.#expected.get(uuid);
    if (early && early.messages.length < MAX_EARLY_MESSAGES && message.data.length <= MAX_EARLY_BYTES) early.messages.push(message);
  }

  /** Ends the wait. @returns what came meanwhile, oldest first */
  take(uuid: string): readonly GossipMessage[] {
    const early = this.#expected.get(uuid);
    if (!early) return [];
    early.cancel();
    this.#expected.delete(uuid);
    this.#leave(uuid);
    return early.messages;
  }

  close(): void {
    for (const uuid of [...this.#expected.keys()]) this.take(uuid);
  }
}
