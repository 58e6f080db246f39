import { isRoutableIpv4 } from "../../core/gossip/routableAddress.ts";
import type { Clock } from "../../ports/clock.ts";

/** What waits for all peers together to read it. Beside the answers that honest light nodes wait for after a start of a relay it is little, for a small machine not too much. */
export const MAX_UNREAD_IN_ALL = 256 * 1024 * 1024;
/** In one second an attacker makes this node answer no more than it can encode. */
const LOOK_MS = 1_000;

type MuxerFactory = ReturnType<ReturnType<typeof import("@libp2p/yamux")["yamux"]>>;
type Muxer = ReturnType<MuxerFactory["createStreamMuxer"]>;
type Below = Parameters<MuxerFactory["createStreamMuxer"]>[0];

type Host = { bytes: number; readonly lines: { readonly connection: Below; readonly bytes: number }[] };

/**
 * Leaves peers while more waits for all of them together than the limit: of the address for which most waits, over all its connections, the
 * one for which most does. What one may leave unread is little; of hundreds that ask, each from a connection of its own, and read nothing, it
 * is more than a machine has. By connections alone those who read slowly would go, while hundreds keep just less each.
 */
export class UnreadBytes {
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #lines = new Map<Below, Muxer>();
  /** Those that can be told apart: behind an address that is not routable may be many peers. */
  readonly #hosts = new WeakMap<object, string>();
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

  /** Tells which address is behind a connection before the multiplexer is made on it. */
  isFrom(connection: object, host: string): void {
    if (isRoutableIpv4(host)) this.#hosts.set(connection, host);
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
    const hosts = this.#byHost();
    let total = hosts.reduce((sum, { bytes }) => sum + bytes, 0);
    while (total > this.#limit) {
      const greediest = hosts.reduce((most, host) => (host.bytes > most.bytes ? host : most));
      const line = greediest.lines.pop();
      if (line === undefined) return;
      greediest.bytes -= line.bytes;
      total -= line.bytes;
      line.connection.abort(new Error("too much waits for peers that read nothing"));
    }
  }

  /** What waits for each address, the connection for which most does last. */
  #byHost(): readonly Host[] {
    const hosts = new Map<unknown, Host>();
    for (const [connection, muxer] of this.#lines) {
      const name = this.#hosts.get(connection) ?? connection;
      const host = hosts.get(name) ?? { bytes: 0, lines: [] };
      const bytes = unread(connection, muxer);
      host.bytes += bytes;
      host.lines.push({ connection, bytes });
      hosts.set(name, host);
    }
    for (const { lines } of hosts.values()) lines.sort((a, b) => a.bytes - b.bytes);
    return [...hosts.values()];
  }
}

const unread = (connection: Below, { streams }: Muxer): number =>
  streams.reduce((sum, { writeBufferLength }) => sum + writeBufferLength, connection.writeBufferLength);
