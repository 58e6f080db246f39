/** Largest frame, request and answer (p2p-wire.md 3). */
export const MAX_FRAME_BYTES = 1024 * 1024 - 100;
/** Bytes of the length: 1,048,476 needs three. */
const MAX_PREFIX_BYTES = 3;
/** Memory taken at first for a frame whose bytes are still to come. */
const FIRST_ALLOCATION = 16 * 1024;

/** What a peer sent breaks the framing: the stream cannot go on. */
export class FramingError extends Error {
  override readonly name = "FramingError";
}

/** `uvarint(length) || bytes` for each frame, in one piece of memory. */
export function withLengthPrefix(frames: readonly Uint8Array[]): Uint8Array {
  let total = 0;
  for (const { length } of frames) total += (length < 0x80 ? 1 : length < 0x4000 ? 2 : 3) + length;
  const out = new Uint8Array(total);
  let at = 0;
  for (const frame of frames) {
    let rest = frame.length;
    for (; rest >= 0x80; rest >>>= 7) out[at++] = (rest & 0x7f) | 0x80;
    out[at++] = rest;
    out.set(frame, at);
    at += frame.length;
  }
  return out;
}

/** Takes chunks as they come off a stream, gives whole frames that share no memory with the chunks. */
export class FrameDecoder {
  #prefixBytes = 0;
  #length = 0;
  /** The frame being read, as far as its memory has been taken; undefined while in the prefix. */
  #frame: Uint8Array | undefined;
  #have = 0;

  /** Calls `onFrame` for each frame that `chunk` completes. Throws `FramingError` for a length above the limit. */
  push(chunk: Uint8Array, onFrame: (frame: Uint8Array) => void): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#frame === undefined) {
        at = this.#readPrefix(chunk, at);
        if (this.#frame === undefined) continue;
      }
      const count = Math.min(this.#length - this.#have, chunk.length - at);
      const frame = this.#room(this.#have + count);
      frame.set(chunk.subarray(at, at + count), this.#have);
      this.#have += count;
      at += count;
      if (this.#have === this.#length) this.#finish(frame, onFrame);
    }
    // A length of zero is complete without a further byte.
    if (this.#frame !== undefined && this.#length === 0) this.#finish(this.#frame, onFrame);
  }

  #readPrefix(chunk: Uint8Array, start: number): number {
    let at = start;
    while (at < chunk.length) {
      const byte = chunk[at++] ?? 0;
      this.#length += (byte & 0x7f) * 2 ** (7 * this.#prefixBytes);
      this.#prefixBytes++;
      if (this.#length > MAX_FRAME_BYTES || (byte >= 0x80 && this.#prefixBytes === MAX_PREFIX_BYTES)) {
        throw new FramingError(`a frame of more than ${MAX_FRAME_BYTES} bytes`);
      }
      if (byte < 0x80) {
        this.#frame = new Uint8Array(Math.min(this.#length, FIRST_ALLOCATION));
        break;
      }
    }
    return at;
  }

  /** Memory grows with what has arrived, not with what a peer promises. */
  #room(bytes: number): Uint8Array {
    const frame = this.#frame ?? new Uint8Array(0);
    if (bytes <= frame.length) return frame;
    const grown = new Uint8Array(Math.min(this.#length, Math.max(bytes, frame.length * 2)));
    grown.set(frame.subarray(0, this.#have));
    this.#frame = grown;
    return grown;
  }

  #finish(frame: Uint8Array, onFrame: (frame: Uint8Array) => void): void {
    this.#frame = undefined;
    this.#prefixBytes = 0;
    this.#length = 0;
    this.#have = 0;
    onFrame(frame);
  }
}
