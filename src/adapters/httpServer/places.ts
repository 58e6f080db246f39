import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

/** A connection: whose it is, and what came on it. */
type Place = { readonly socket: Socket; readonly address: string; readonly requests: ReadonlySet<IncomingMessage> };

const NOTHING: ReadonlySet<IncomingMessage> = new Set();

/**
 * The connections there are, so many at most. When one more comes, the address that holds most gives one up on which no answer is owed, the
 * one that waited longest: connections that only stand there, or whose request never becomes whole, keep nobody out.
 */
export class Places {
  readonly #limit: number;
  /** By far end, which is the same on both sides of TLS; who waits longest comes first. */
  readonly #taken = new Map<string, Place>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** A connection that was accepted just now. It goes again when an answer is owed on all others. */
  admit(socket: Socket): void {
    const key = farEnd(socket);
    const place = { socket, address: socket.remoteAddress ?? "", requests: NOTHING };
    this.#taken.set(key, place);
    socket.once("close", () => {
      if (this.#taken.get(key)?.socket === socket) this.#taken.delete(key);
    });
    if (this.#taken.size <= this.#limit) return;
    const [leaving, { socket: unwanted }] = this.#longestWaiting() ?? [key, place];
    this.#taken.delete(leaving);
    unwanted.destroy();
  }

  /** What came on a connection and is not answered yet has changed: from now on it waits the shortest. */
  touch(socket: Socket, requests: ReadonlySet<IncomingMessage>): void {
    const key = farEnd(socket);
    const place = this.#taken.get(key);
    if (!place) return;
    this.#taken.delete(key);
    this.#taken.set(key, { ...place, requests });
  }

  #longestWaiting(): readonly [string, Place] | undefined {
    const waiting = [...this.#taken].filter(([, { requests }]) => !isOwed(requests));
    const held = new Map<string, number>();
    for (const [, { address }] of waiting) held.set(address, (held.get(address) ?? 0) + 1);
    const most = Math.max(...held.values());
    return waiting.find(([, { address }]) => held.get(address) === most);
  }
}

/** A request of which only a part arrived is owed nothing. */
export function isOwed(requests: ReadonlySet<IncomingMessage>): boolean {
  for (const request of requests) if (request.complete) return true;
  return false;
}

const farEnd = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
