import { type Clock, withDeadline } from "../../ports/clock.ts";
import { MAX_FRAME_BYTES, withLengthPrefix } from "./lengthPrefix.ts";
import type { Stream } from "./libp2pTypes.ts";
import { readNoMore } from "./requestStream.ts";

/** Frames and bytes waiting for one peer. */
const MAX_QUEUED_FRAMES = 4096;
const MAX_QUEUED_BYTES = 4 * 1024 * 1024;
/** Small frames go out together up to this many bytes: one encryption and one system call for many. */
const BATCH_BYTES = 48 * 1024;
/** Opening the stream, and the longest a peer may leave its receive window shut. */
const OPEN_DEADLINE_MS = 10_000;
const DRAIN_DEADLINE_MS = 60_000;

type Deps = {
  readonly clock: Clock;
  readonly open: (signal: AbortSignal) => Promise<Stream>;
  /** The stream could not be opened or has broken: what was said before may be lost, so the connection must go. */
  readonly onBroken: (cause: unknown) => void;
};

/** The one outbound gossip stream to a peer: opened with the first frame, fed in order, bounded. */
export class FrameWriter {
  readonly #deps: Deps;
  readonly #closing = new AbortController();
  #queue: Uint8Array[] = [];
  #bytes = 0;
  #stream: Stream | undefined;
  #isPumping = false;
  #isClosed = false;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** False when closed or full. */
  send(frame: Uint8Array): boolean {
    if (frame.length > MAX_FRAME_BYTES) throw new RangeError(`a frame of ${frame.length} bytes, the limit is ${MAX_FRAME_BYTES}`);
    if (this.#isClosed || this.#queue.length >= MAX_QUEUED_FRAMES || this.#bytes + frame.length > MAX_QUEUED_BYTES) return false;
    this.#queue.push(frame);
    this.#bytes += frame.length;
    if (!this.#isPumping) {
      this.#isPumping = true;
      // In a microtask, so that all frames of one turn can share a batch.
      queueMicrotask(() => {
        this.#pump().catch((cause: unknown) => this.#break(cause));
      });
    }
    return true;
  }

  close(): void {
    this.#isClosed = true;
    this.#queue = [];
    this.#bytes = 0;
    this.#closing.abort();
    this.#stream?.abort(new Error("connection closed"));
  }

  async #pump(): Promise<void> {
    const { clock } = this.#deps;
    const { signal } = this.#closing;
    const stream = this.#stream ?? (await this.#openStream());
    while (this.#queue.length > 0) {
      if (stream.send(withLengthPrefix(this.#takeBatch()))) continue;
      await withDeadline(clock, DRAIN_DEADLINE_MS, signal, (inner) => stream.onDrain({ signal: inner }));
    }
    this.#isPumping = false;
  }

  async #openStream(): Promise<Stream> {
    const { clock, open } = this.#deps;
    const stream = await withDeadline(clock, OPEN_DEADLINE_MS, this.#closing.signal, open);
    this.#stream = stream;
    if (this.#isClosed) stream.abort(new Error("connection closed"));
    else {
      readNoMore(stream);
      stream.addEventListener("close", () => this.#break(new Error("the gossip stream was closed")));
    }
    return stream;
  }

  #takeBatch(): Uint8Array[] {
    let count = 0;
    let bytes = 0;
    for (const frame of this.#queue) {
      if (count > 0 && bytes + frame.length > BATCH_BYTES) break;
      bytes += frame.length;
      count++;
    }
    this.#bytes -= bytes;
    return this.#queue.splice(0, count);
  }

  #break(cause: unknown): void {
    if (this.#isClosed) return;
    this.close();
    this.#deps.onBroken(cause);
  }
}
