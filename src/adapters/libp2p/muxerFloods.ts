import { isRoutableIpv4 } from "../../core/gossip/routableAddress.ts";
import { AskCredit } from "../../core/util/askCredit.ts";
import type { Clock } from "../../ports/clock.ts";

/** Frames of the multiplexer at once, and one more each so many milliseconds: more than the busiest relay sends messages. One costs some 15 us, and may have 12 bytes. */
const MOST_FRAMES = 25_000;
const FRAME_MS = 0.04;
/** The same of streams that are opened, each some 100 us however short it lives. A node of ours asks 80 questions at once and 16 a second. */
const MOST_STREAMS = 1_000;
const STREAM_MS = 5;
/** Addresses whose use is remembered; those seen longest ago are forgotten. */
const MAX_HOSTS = 1_000;
/** Flag of the frame that opens a stream. */
const SYN = 1;

type MuxerFactory = ReturnType<ReturnType<typeof import("@libp2p/yamux")["yamux"]>>;
type Use = { readonly frames: AskCredit; readonly streams: AskCredit };
type Header = { readonly flag: number; readonly streamID: number };

const newUse = (): Use => ({ frames: new AskCredit(MOST_FRAMES, FRAME_MS), streams: new AskCredit(MOST_STREAMS, STREAM_MS) });

/**
 * Ends connections that send frames of the multiplexer faster than an honest peer does. The library works off all that has come before
 * anything else has its turn, so that one peer on a home line would stop the node for as long as it likes. Connections from one address that not
 * many nodes share have one budget: with each new one it could do the same again.
 */
export class MuxerFloods {
  readonly #clock: Clock;
  readonly #hosts = new Map<string, Use>();
  /** By what the multiplexer runs on. */
  readonly #uses = new WeakMap<object, Use>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Tells which address is behind a connection before the multiplexer is made on it. */
  isFrom(connection: object, host: string): void {
    if (isRoutableIpv4(host)) this.#uses.set(connection, this.#useOf(host));
  }

  limited(factory: MuxerFactory): MuxerFactory {
    const create = factory.createStreamMuxer.bind(factory);
    factory.createStreamMuxer = (connection) => {
      const muxer = create(connection);
      const use = this.#uses.get(connection) ?? newUse();
      const inner = muxer as unknown as { handleFrame(frame: { readonly header: Header }): void };
      const handle = inner.handleFrame.bind(muxer);
      inner.handleFrame = (frame) => {
        // What is thrown here ends the connection.
        this.#count(use, frame.header);
        handle(frame);
      };
      return muxer;
    };
    return factory;
  }

  #count({ frames, streams }: Use, { flag, streamID }: Header): void {
    const nowMs = this.#clock.nowMs();
    if (!frames.take(nowMs)) throw new Error("too many frames");
    if (streamID !== 0 && (flag & SYN) !== 0 && !streams.take(nowMs)) throw new Error("opens too many streams");
  }

  #useOf(host: string): Use {
    const use = this.#hosts.get(host) ?? newUse();
    this.#hosts.delete(host);
    const [oldest] = this.#hosts.keys();
    if (this.#hosts.size >= MAX_HOSTS && oldest !== undefined) this.#hosts.delete(oldest);
    this.#hosts.set(host, use);
    return use;
  }
}
