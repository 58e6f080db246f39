import { HeldBytes } from "../../wire/heldBytes.ts";

const NEWLINE = 10;

/** Cuts a server's bytes into lines, whatever pieces they come in. */
export class LineReader {
  readonly #maxBytes: number;
  readonly #held = new HeldBytes();

  /** @param maxBytes longest line */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes of a line that has not ended yet. */
  get heldBytes(): number {
    return this.#held.length;
  }

  /** @returns the lines that are whole now, without newline; null: one is longer than allowed, nothing more is to be read */
  push(chunk: Uint8Array): readonly string[] | null {
    const lines: string[] = [];
    let rest = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
      if (this.#held.length + end > this.#maxBytes) return null;
      lines.push(this.#lineWith(rest.subarray(0, end)));
      rest = rest.subarray(end + 1);
    }
    this.#held.append(rest);
    return this.#held.length > this.#maxBytes ? null : lines;
  }

  /** The line that ends with these bytes. */
  #lineWith(last: Buffer): string {
    if (this.#held.length === 0) return last.toString("utf8");
    this.#held.append(last);
    const line = this.#held.view.toString("utf8");
    this.#held.drop(this.#held.length);
    return line;
  }
}
