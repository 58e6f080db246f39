import type { Clock } from "../../ports/clock.ts";

/** Does a piece of work. True: there is more. */
export type Piece = () => boolean;

/**
 * Work for many peers, one piece in each turn of the event loop and the peers in rotation. In between sockets, timers and
 * RPC have their turn, so that no flood of frames delays them longer than a piece takes.
 */
export class TurnQueue {
  readonly #clock: Clock;
  readonly #pieces = new Set<Piece>();
  #isScheduled = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A piece that is queued already keeps its place. */
  add(piece: Piece): void {
    this.#pieces.add(piece);
    this.#schedule();
  }

  delete(piece: Piece): void {
    this.#pieces.delete(piece);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#clock.after(0, () => this.#turn());
  }

  #turn(): void {
    this.#isScheduled = false;
    const [piece] = this.#pieces;
    if (piece === undefined) return;
    this.#pieces.delete(piece);
    if (this.#pieces.size > 0) this.#schedule();
    if (piece()) this.add(piece);
  }
}
