import type { Clock } from "../../ports/clock.ts";

/** What waits for all peers together to read it. Beside the answers that honest light nodes wait for after a start of a relay it is little, for a small machine not too much. */
export const MAX_UNREAD_IN_ALL = 256 * 1024 * 1024;
/** In one second an attacker makes this node answer no more than it can encode. */
const LOOK_MS = 1_000;

type MuxerFactory = ReturnType<ReturnType<typeof import("@libp2p/yamux")["yamux"]>>;
type Muxer = ReturnType<MuxerFactory["createStreamMuxer"]>;
type Below = Parameters<MuxerFactory["createStreamMuxer"]>[0];

/**
 * Leaves the peers for whom most waits while more waits for all of them together than the limit. What one may leave unread is little; of
 * hundreds that ask, each from a connection of its own, and read nothing, it is more than a machine has.
 */
export class UnreadBytes {
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #lines = new Map<Below, Muxer>();
  #cancel: (() => void) | null = null;

  constructor(clock: Clock, limit: number) {
    this.#clock = clock;
    this.#limit = limit;
  }

  limited(factory: MuxerFactory): MuxerFactory {
    const create = factory.createStreamMuxer.bind(factory);
    factory.createStreamMuxer = (connection) => {
      const muxer = create(connection);
      this.#lines.set(connection, muxer);
      connection.addEventListener("close", () => this.#lines.delete(connection));
      this.#lookLater();
      return muxer;
    };
    return factory;
  }

  close(): void {
    this.#lines.clear();
    this.#cancel?.();
  }

  #lookLater(): void {
    this.#cancel ??= this.#clock.after(LOOK_MS, () => {
      this.#cancel = null;
      this.#leaveGreediest();
      if (this.#lines.size > 0) this.#lookLater();
    });
  }

  #leaveGreediest(): void {
    const lines = [...this.#lines].map(([connection, muxer]) => ({ connection, bytes: unread(connection, muxer) }));
    let total = lines.reduce((sum, { bytes }) => sum + bytes, 0);
    if (total <= this.#limit) return;
    for (const { connection, bytes } of lines.sort((a, b) => b.bytes - a.bytes)) {
      if (total <= this.#limit) return;
      total -= bytes;
      connection.abort(new Error("too much waits for peers that read nothing"));
    }
  }
}

const unread = (connection: Below, { streams }: Muxer): number =>
  streams.reduce((sum, { writeBufferLength }) => sum + writeBufferLength, connection.writeBufferLength);
