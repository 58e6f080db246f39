const NEWLINE = 10;

/** Cuts a server's bytes into lines, whatever pieces they come in. */
export class LineReader {
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #bytes = 0;

  /** @param maxBytes longest line */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** @returns the lines that are whole now, without newline; null: one is longer than allowed, nothing more is to be read */
  push(chunk: Uint8Array): readonly string[] | null {
    const lines: string[] = [];
    let rest = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
      if (this.#bytes + end > this.#maxBytes) return null;
      this.#parts.push(rest.subarray(0, end));
      lines.push((this.#parts.length === 1 ? (this.#parts[0] ?? rest) : Buffer.concat(this.#parts)).toString("utf8"));
      this.#parts = [];
      this.#bytes = 0;
      rest = rest.subarray(end + 1);
    }
    this.#bytes += rest.length;
    if (this.#bytes > this.#maxBytes) return null;
    // A copy: sockets use their buffers again.
    if (rest.length > 0) this.#parts.push(Buffer.from(rest));
    return lines;
  }
}
