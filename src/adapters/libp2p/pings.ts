import { AskCredit } from "../../core/util/askCredit.ts";
import { equalBytes } from "../../core/util/bytes.ts";
import { type Clock, withDeadline } from "../../ports/clock.ts";
import type { Rng } from "../../ports/rng.ts";
import type { Connection, Stream } from "./libp2pTypes.ts";
import { readNoMore } from "./requestStream.ts";

export const PING_PROTOCOL = "/ipfs/ping/1.0.0";
const PING_BYTES = 32;
/** Pings answered at once on a connection, and one more each second. The reference sends one in 15 s, all on one stream. */
const MOST_AT_ONCE = 32;
const ONE_MORE_MS = 1_000;
const CLOSE_DEADLINE_MS = 10_000;

/** What a stream delivers: one piece of memory, or several. */
type Chunk = Uint8Array | { subarray(): Uint8Array };
const bytesOf = (chunk: Chunk): Uint8Array => (chunk instanceof Uint8Array ? chunk : chunk.subarray());

/**
 * Answers pings. Not the library's service: it keeps whatever a peer sends that reads no answers, and all that one answers to a ping, and either
 * fills the memory of the process.
 */
export class PingAnswers {
  readonly #clock: Clock;
  readonly #credits = new WeakMap<Connection, AskCredit>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes a stream that a peer has opened. */
  answer(stream: Stream, connection: Connection): void {
    const credit = this.#credits.get(connection) ?? new AskCredit(MOST_AT_ONCE, ONE_MORE_MS);
    this.#credits.set(connection, credit);
    let paidBytes = 0;
    stream.addEventListener("message", ({ data }) => {
      for (paidBytes -= data.byteLength; paidBytes < 0; paidBytes += PING_BYTES) {
        if (credit.take(this.#clock.nowMs())) continue;
        stream.abort(new Error("too many pings"));
        return;
      }
      try {
        if (!stream.send(data)) stream.abort(new Error("reads no answers to its pings"));
      } catch (cause) {
        stream.abort(new Error("ping not answered", { cause }));
      }
    });
    stream.addEventListener("remoteCloseWrite", () => {
      withDeadline(this.#clock, CLOSE_DEADLINE_MS, undefined, (signal) => stream.close({ signal })).catch((cause: unknown) =>
        stream.abort(new Error("ping stream not closed", { cause })),
      );
    });
  }
}

/** One ping on a fresh stream, which is gone afterwards in any case. Resolves when the answer is there. */
export async function ping(stream: Stream, rng: Rng, signal: AbortSignal): Promise<void> {
  try {
    // Nobody who does not read what is sent can answer it.
    const sent = rng.bytes(PING_BYTES);
    // Together, so that both failures are looked after: a peer may reset the stream before anything could be sent.
    const ask = async (): Promise<void> => {
      stream.send(sent);
      await stream.close({ signal });
    };
    const [answer] = await Promise.all([readAnswer(stream, signal), ask()]);
    if (!equalBytes(answer, sent)) throw new Error("the answer to a ping differs from it");
  } catch (cause) {
    stream.abort(new Error("ping failed", { cause }));
    throw cause;
  }
}

function readAnswer(stream: Stream, signal: AbortSignal): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const answer = new Uint8Array(PING_BYTES);
    let have = 0;
    const onMessage = ({ data }: { readonly data: Chunk }): void => {
      const bytes = bytesOf(data);
      if (have + bytes.length > PING_BYTES) {
        fail("the answer to a ping is longer than it");
        return;
      }
      answer.set(bytes, have);
      have += bytes.length;
      if (have < PING_BYTES) return;
      finish(() => resolve(answer));
      readNoMore(stream);
    };
    const finish = (settle: () => void): void => {
      stream.removeEventListener("message", onMessage);
      stream.removeEventListener("close", onEnd);
      stream.removeEventListener("remoteCloseWrite", onEnd);
      signal.removeEventListener("abort", onEnd);
      settle();
    };
    const fail = (why: string): void => finish(() => reject(new Error(why)));
    const onEnd = (): void => fail("a ping was not answered");
    if (signal.aborted) return onEnd();
    signal.addEventListener("abort", onEnd);
    stream.addEventListener("close", onEnd);
    stream.addEventListener("remoteCloseWrite", onEnd);
    stream.addEventListener("message", onMessage);
  });
}
