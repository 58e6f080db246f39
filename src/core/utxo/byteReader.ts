/**
 * Reads little-endian fields from untrusted bytes. The first bad read sets `problem` and every later read gives
 * zero or an empty slice, so a parser may read on and look once at the end (and must look inside loops).
 * Slices are views into the input.
 */
export class ByteReader {
  problem: string | null = null;
  offset: number;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;

  constructor(bytes: Uint8Array, offset = 0) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.offset = offset;
    if (offset < 0 || offset > bytes.length) {
      this.offset = bytes.length;
      this.problem = "offset outside the data";
    }
  }

  get remaining(): number {
    return this.#bytes.length - this.offset;
  }

  fail(detail: string): void {
    this.problem ??= detail;
  }

  #take(length: number): number {
    if (this.problem !== null) return -1;
    if (length > this.remaining) {
      this.problem = "unexpected end of data";
      return -1;
    }
    const at = this.offset;
    this.offset += length;
    return at;
  }

  u8(): number {
    const at = this.#take(1);
    return at < 0 ? 0 : this.#view.getUint8(at);
  }

  u16(): number {
    const at = this.#take(2);
    return at < 0 ? 0 : this.#view.getUint16(at, true);
  }

  u32(): number {
    const at = this.#take(4);
    return at < 0 ? 0 : this.#view.getUint32(at, true);
  }

  u64(): bigint {
    const at = this.#take(8);
    return at < 0 ? 0n : this.#view.getBigUint64(at, true);
  }

  i64(): bigint {
    const at = this.#take(8);
    return at < 0 ? 0n : this.#view.getBigInt64(at, true);
  }

  slice(length: number): Uint8Array {
    const at = this.#take(length);
    return at < 0 ? new Uint8Array(0) : this.#bytes.subarray(at, at + length);
  }

  /** Next byte without taking it; -1 at the end. */
  peek(ahead = 0): number {
    return this.#bytes[this.offset + ahead] ?? -1;
  }

  /** Bitcoin's variable-length count. A longer form than needed is refused, as every consensus implementation does. */
  compactSize(): number {
    const first = this.u8();
    if (first < 0xfd) return first;
    if (first === 0xfd) {
      const n = this.u16();
      if (n < 0xfd) this.fail("count not in its shortest form");
      return this.problem === null ? n : 0;
    }
    if (first === 0xfe) {
      const n = this.u32();
      if (n <= 0xffff) this.fail("count not in its shortest form");
      return this.problem === null ? n : 0;
    }
    this.fail("count too large");
    return 0;
  }

  /** Number of items that follow; refused when the rest of the data cannot hold them at `minBytes` each. */
  count(minBytes: number): number {
    const n = this.compactSize();
    if (this.problem === null && n * minBytes > this.remaining) this.fail("count larger than the data");
    return this.problem === null ? n : 0;
  }

  /** Bytes with their length in front. */
  varBytes(): Uint8Array {
    return this.slice(this.compactSize());
  }
}
