import { FrameDecoder, withLengthPrefix } from "./lengthPrefix.ts";
import type { Stream } from "./libp2pTypes.ts";

/** Of each request this much counts for nothing, so that peers with large ones cannot keep out the rest, which are small. */
const FREE_BYTES = 4096;

/** Bytes of large half-read requests, of all peers together: each stream may bring a megabyte, and takes its time. */
export class RequestMemory {
  readonly #limit: number;
  #taken = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** False when there is no room; then nothing was taken. */
  take(bytes: number): boolean {
    if (this.#taken + bytes > this.#limit) return false;
    this.#taken += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#taken -= bytes;
  }
}

/** What still comes is thrown away: for as long as the other end keeps the stream open the library would keep it, megabytes of each. */
export function readNoMore(stream: Pick<Stream, "closeRead" | "abort">): void {
  stream.closeRead().catch((cause: unknown) => stream.abort(new Error("not closed for reading", { cause })));
}

/**
 * The first frame that arrives on a stream; what follows is ignored. Rejects when the stream ends before, breaks the
 * framing, has no room in `memory`, or `signal` fires.
 */
function readFrame(stream: Stream, signal: AbortSignal, memory?: RequestMemory): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const decoder = new FrameDecoder();
    let read = 0;
    let taken = 0;
    const finish = (settle: () => void): void => {
      stream.removeEventListener("message", onMessage);
      stream.removeEventListener("remoteCloseWrite", onEnd);
      stream.removeEventListener("close", onEnd);
      signal.removeEventListener("abort", onAbort);
      memory?.give(taken);
      taken = 0;
      settle();
    };
    const onMessage = ({ data }: { readonly data: Uint8Array | { subarray(): Uint8Array } }): void => {
      try {
        const chunk = data instanceof Uint8Array ? data : data.subarray();
        read += chunk.length;
        const more = Math.max(0, read - FREE_BYTES) - taken;
        if (memory?.take(more) === false) throw new Error("too many large requests are being read");
        taken += more;
        decoder.push(chunk, (frame) => {
          finish(() => resolve(frame));
          readNoMore(stream);
        });
      } catch (cause) {
        finish(() => reject(cause));
      }
    };
    const onEnd = (): void => finish(() => reject(new Error("the peer closed the stream without an answer")));
    const onAbort = (): void => finish(() => reject(new Error("aborted")));
    if (signal.aborted) {
      onAbort();
      return;
    }
    signal.addEventListener("abort", onAbort, { once: true });
    stream.addEventListener("close", onEnd);
    stream.addEventListener("remoteCloseWrite", onEnd);
    // Last: data that is waiting already is delivered from here on.
    stream.addEventListener("message", onMessage);
    if (stream.remoteWriteStatus === "closed" && stream.readBufferLength === 0) onEnd();
  });
}

/** Asks on a fresh stream: one frame, write side closed, one frame back. The stream is gone afterwards in any case. */
export async function exchange(stream: Stream, payload: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
  try {
    // Together, so that both failures are looked after: a peer may reset the stream before anything could be sent.
    const ask = async (): Promise<void> => {
      stream.send(withLengthPrefix([payload]));
      await stream.close({ signal });
    };
    const [frame] = await Promise.all([readFrame(stream, signal), ask()]);
    return frame;
  } catch (cause) {
    stream.abort(new Error("request failed", { cause }));
    throw cause;
  }
}

/** Answers on a stream a peer has opened; without an answer the stream just ends. */
export async function serve(
  stream: Stream,
  signal: AbortSignal,
  memory: RequestMemory,
  answer: (payload: Uint8Array) => Promise<Uint8Array | undefined>,
): Promise<void> {
  try {
    const reply = await answer(await readFrame(stream, signal, memory));
    if (reply !== undefined) stream.send(withLengthPrefix([reply]));
    await stream.close({ signal });
  } catch (cause) {
    stream.abort(new Error("request not served", { cause }));
    throw cause;
  }
}
