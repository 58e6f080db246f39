/** Messages kept while no relay is there, and for how long. */
const MAX_WAITING = 100;
const MAX_WAITING_BYTES = 2 * 1024 * 1024;
const MAX_WAIT_MS = 10_000;

/** Own messages published while the relay mesh was empty. The reference loses them; here the next relay gets them. */
export class WaitingPublishes {
  #frames: { readonly frame: Uint8Array; readonly untilMs: number }[] = [];
  #bytes = 0;

  /** False when the queue is full and the message is lost. */
  add(frame: Uint8Array, nowMs: number): boolean {
    this.#dropOld(nowMs);
    if (this.#frames.length >= MAX_WAITING || this.#bytes + frame.length > MAX_WAITING_BYTES) return false;
    this.#frames.push({ frame, untilMs: nowMs + MAX_WAIT_MS });
    this.#bytes += frame.length;
    return true;
  }

  /** Empties the queue; what is too old is not among the result. */
  takeAll(nowMs: number): Uint8Array[] {
    this.#dropOld(nowMs);
    const frames = this.#frames.map(({ frame }) => frame);
    this.#frames = [];
    this.#bytes = 0;
    return frames;
  }

  #dropOld(nowMs: number): void {
    const kept = this.#frames.filter(({ untilMs }) => untilMs > nowMs);
    if (kept.length === this.#frames.length) return;
    this.#frames = kept;
    this.#bytes = kept.reduce((sum, { frame }) => sum + frame.length, 0);
  }
}
