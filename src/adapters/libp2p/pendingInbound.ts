/** Inbound connections that are being made at the same time. A handshake takes some hundred milliseconds. */
const MAX_PENDING = 64;

type Pending = { readonly host: string; readonly turnAway: () => void };

/**
 * Inbound connections whose other end has not shown yet who it is. When there are too many, the address with most of them loses its
 * oldest: sockets that say nothing cost whoever opens them next to nothing, and must keep nobody else out.
 */
export class PendingInbound {
  /** By host and port, the oldest first. */
  readonly #pending = new Map<string, Pending>();
  #isClosed = false;

  /** Until `ended`. One that has begun already, as a socket below another protocol, is not counted twice. */
  began(host: string, port: string, turnAway: () => void): void {
    if (this.#isClosed) {
      turnAway();
      return;
    }
    const name = nameOf(host, port);
    if (this.#pending.has(name)) return;
    if (this.#pending.size >= MAX_PENDING) this.#makeRoom();
    this.#pending.set(name, { host, turnAway });
  }

  ended(host: string, port: string): void {
    this.#pending.delete(nameOf(host, port));
  }

  /** Turns away all, and whoever comes from now on. */
  close(): void {
    this.#isClosed = true;
    for (const name of [...this.#pending.keys()]) this.#turnAway(name);
  }

  #makeRoom(): void {
    const counts = new Map<string, number>();
    for (const { host } of this.#pending.values()) counts.set(host, (counts.get(host) ?? 0) + 1);
    const most = Math.max(...counts.values());
    for (const [name, { host }] of this.#pending) {
      if (counts.get(host) !== most) continue;
      this.#turnAway(name);
      return;
    }
  }

  #turnAway(name: string): void {
    const pending = this.#pending.get(name);
    this.#pending.delete(name);
    pending?.turnAway();
  }
}

const nameOf = (host: string, port: string): string => `${host} ${port}`;
