import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../../ports/clock.ts";
import { isOwed, type Places } from "./places.ts";

/**
 * What is owed on each connection. A client may send requests behind one another; what goes wrong behind one that is being answered must
 * not stand in the place of its answer, and whoever was told that the connection ends is asked nothing more.
 */
export class Connections {
  readonly #places: Places;
  readonly #clock: Clock;
  readonly #lingerMs: number;
  /** Requests whose answer has not left. */
  readonly #open = new WeakMap<Socket, Set<IncomingMessage>>();
  readonly #ending = new WeakSet<Socket>();
  #isClosing = false;

  constructor(places: Places, clock: Clock, lingerMs: number) {
    this.#places = places;
    this.#clock = clock;
    this.#lingerMs = lingerMs;
  }

  /** Notes a request until its answer has left. False: the connection ends, and nothing is to be done for it. */
  begin(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request;
    if (this.#ending.has(socket)) return false;
    const open = this.#open.get(socket) ?? new Set();
    this.#open.set(socket, open.add(request));
    this.#places.touch(socket, open);
    response.once("close", () => {
      open.delete(request);
      this.#places.touch(socket, open);
      if ((this.#isClosing || this.#ending.has(socket)) && !this.#isOwed(socket)) this.#leave(socket, "");
    });
    return true;
  }

  /** Every connection ends once nothing is owed on it. */
  close(): void {
    this.#isClosing = true;
  }

  /** The connection ends with the answer under way: what else comes on it is not read. */
  endWithAnswer(socket: Socket): void {
    this.#ending.add(socket);
  }

  /** The connection ends, with `last` unless that would be taken for an answer that is still owed: then when that has left. */
  end(socket: Socket, last: string): void {
    this.#ending.add(socket);
    if (!this.#isOwed(socket)) this.#leave(socket, last);
  }

  #isOwed(socket: Socket): boolean {
    return isOwed(this.#open.get(socket) ?? new Set());
  }

  /** A client that does not close its own side would hold the connection, and the part of a body that it sent, for ever. */
  #leave(socket: Socket, last: string): void {
    if (socket.destroyed) return;
    if (socket.writable) socket.end(last);
    const cancel = this.#clock.after(this.#lingerMs, () => socket.destroy());
    socket.once("close", cancel);
  }
}
