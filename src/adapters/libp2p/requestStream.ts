import { FrameDecoder, withLengthPrefix } from "./lengthPrefix.ts";
import type { Stream } from "./libp2pTypes.ts";

/**
 * The first frame that arrives on a stream; what follows is ignored. Rejects when the stream ends before, breaks the
 * framing, or `signal` fires.
 */
function readFrame(stream: Stream, signal: AbortSignal): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const decoder = new FrameDecoder();
    const finish = (settle: () => void): void => {
      stream.removeEventListener("message", onMessage);
      stream.removeEventListener("remoteCloseWrite", onEnd);
      stream.removeEventListener("close", onEnd);
      signal.removeEventListener("abort", onAbort);
      settle();
    };
    const onMessage = ({ data }: { readonly data: Uint8Array | { subarray(): Uint8Array } }): void => {
      try {
        decoder.push(data instanceof Uint8Array ? data : data.subarray(), (frame) => finish(() => resolve(frame)));
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
    const answer = readFrame(stream, signal);
    stream.send(withLengthPrefix([payload]));
    const [frame] = await Promise.all([answer, stream.close({ signal })]);
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
  answer: (payload: Uint8Array) => Promise<Uint8Array | undefined>,
): Promise<void> {
  try {
    const reply = await answer(await readFrame(stream, signal));
    if (reply !== undefined) stream.send(withLengthPrefix([reply]));
    await stream.close({ signal });
  } catch (cause) {
    stream.abort(new Error("request not served", { cause }));
    throw cause;
  }
}
