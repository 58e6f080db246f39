import { FrameDecoder } from "./lengthPrefix.ts";
import type { Stream } from "./libp2pTypes.ts";
import type { TurnQueue } from "./turnQueue.ts";

/** Bytes looked at in one piece: some fifty order messages, a few milliseconds of work with their signatures. */
const PIECE_BYTES = 16 * 1024;
/** Bytes waiting to be looked at above which the peer is told to wait, and below which it may go on. */
const PAUSE_ABOVE = 256 * 1024;
const RESUME_BELOW = 128 * 1024;

type Deps = {
  readonly turns: TurnQueue;
  readonly onFrame: (frame: Uint8Array) => void;
  /** The framing is broken: nothing more can be read. */
  readonly onBroken: (cause: unknown) => void;
};

/** Frames off one inbound gossip stream, in order and piece by piece. What has no place here waits at the peer. */
export class FrameReader {
  readonly #stream: Stream;
  readonly #deps: Deps;
  readonly #decoder = new FrameDecoder();
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #isHeld: boolean;
  #isClosed = false;
  #isResuming = false;

  constructor(stream: Stream, isHeld: boolean, deps: Deps) {
    this.#stream = stream;
    this.#isHeld = isHeld;
    this.#deps = deps;
    stream.addEventListener("message", ({ data }) => this.#push(data instanceof Uint8Array ? data : data.subarray()));
  }

  /** Stops handing over frames, or goes on. */
  hold(on: boolean): void {
    this.#isHeld = on;
    if (on) this.#deps.turns.delete(this.#piece);
    else this.#wake();
  }

  /** Hands over at most one more piece, so that the last words of a peer that leaves are heard, then nothing. */
  finish(): void {
    if (!this.#isHeld && this.#bytes > 0) this.#piece();
    this.close();
  }

  close(): void {
    this.#isClosed = true;
    this.#deps.turns.delete(this.#piece);
    this.#chunks = [];
    this.#bytes = 0;
  }

  #push(chunk: Uint8Array): void {
    if (this.#isClosed) return;
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    this.#pauseIfFull();
    this.#wake();
  }

  #wake(): void {
    if (!this.#isHeld && !this.#isClosed && this.#bytes > 0) this.#deps.turns.add(this.#piece);
  }

  readonly #piece = (): boolean => {
    try {
      for (let left = PIECE_BYTES; left > 0 && this.#bytes > 0; ) {
        const chunk = this.#takeUpTo(left);
        left -= chunk.length;
        this.#decoder.push(chunk, this.#deps.onFrame);
      }
    } catch (cause) {
      this.close();
      this.#deps.onBroken(cause);
      return false;
    }
    if (this.#bytes < RESUME_BELOW && !this.#isClosed && this.#stream.readStatus === "paused") this.#resume();
    return !this.#isHeld && this.#bytes > 0;
  };

  #pauseIfFull(): void {
    if (this.#bytes > PAUSE_ABOVE && !this.#isResuming && this.#stream.readStatus === "readable") this.#stream.pause();
  }

  /**
   * Resuming delivers at once what the library has kept and so comes back to `#push`. A pause in there would be half
   * undone when the resuming ends: the library would keep data and still ask the peer for more.
   */
  #resume(): void {
    this.#isResuming = true;
    this.#stream.resume();
    this.#isResuming = false;
    this.#pauseIfFull();
  }

  #takeUpTo(count: number): Uint8Array {
    const first = this.#chunks[0] ?? new Uint8Array(0);
    const taken = first.subarray(0, count);
    if (taken.length === first.length) this.#chunks.shift();
    else this.#chunks[0] = first.subarray(count);
    this.#bytes -= taken.length;
    return taken;
  }
}
