/** Smallest room that is made, and the largest that is kept while nothing is in it. */
const LEAST_ROOM = 1_024;
const IDLE_ROOM = 65_536;

/**
 * Bytes that came and are not read yet, in one piece however many pieces they came in: whoever sends one at a time must not cost the
 * hundreds of bytes that each piece takes by itself.
 */
export class HeldBytes {
  #room = Buffer.alloc(0);
  #start = 0;
  #end = 0;

  get length(): number {
    return this.#end - this.#start;
  }

  append(bytes: Uint8Array): void {
    if (this.#end + bytes.length > this.#room.length) this.#grow(this.length + bytes.length);
    this.#room.set(bytes, this.#end);
    this.#end += bytes.length;
  }

  #grow(needed: number): void {
    const room = Buffer.allocUnsafe(Math.max(LEAST_ROOM, 2 * needed));
    this.#room.copy(room, 0, this.#start, this.#end);
    this.#end = this.length;
    this.#start = 0;
    this.#room = room;
  }

  /** All of them, good until the next `append`. */
  get view(): Buffer {
    return this.#room.subarray(this.#start, this.#end);
  }

  /** Forgets the first so many. */
  drop(count: number): void {
    this.#start += count;
    if (this.#start < this.#end) return;
    this.#start = 0;
    this.#end = 0;
    if (this.#room.length > IDLE_ROOM) this.#room = Buffer.alloc(0);
  }
}
