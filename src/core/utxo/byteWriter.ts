/** Writes little-endian fields into a growing buffer. Ranges are the caller's promise: a number outside throws. */
export class ByteWriter {
  #bytes: Uint8Array;
  #view: DataView;
  #length = 0;

  constructor(capacity = 256) {
    this.#bytes = new Uint8Array(capacity);
    this.#view = new DataView(this.#bytes.buffer);
  }

  /** Makes room and gives the offset to write at. May replace the buffer, so it must run before `#view` is read. */
  #grow(by: number): number {
    const at = this.#length;
    const need = at + by;
    if (need > this.#bytes.length) {
      const bigger = new Uint8Array(Math.max(need, this.#bytes.length * 2));
      bigger.set(this.#bytes);
      this.#bytes = bigger;
      this.#view = new DataView(bigger.buffer);
    }
    this.#length = need;
    return at;
  }

  #check(n: number, limit: number): void {
    if (!Number.isInteger(n) || n < 0 || n > limit) throw new RangeError(`field out of range: ${n}`);
  }

  u8(n: number): this {
    this.#check(n, 0xff);
    const at = this.#grow(1);
    this.#view.setUint8(at, n);
    return this;
  }

  u16(n: number): this {
    this.#check(n, 0xffff);
    const at = this.#grow(2);
    this.#view.setUint16(at, n, true);
    return this;
  }

  u32(n: number): this {
    this.#check(n, 0xffffffff);
    const at = this.#grow(4);
    this.#view.setUint32(at, n, true);
    return this;
  }

  u64(n: bigint): this {
    if (n < 0n || n > 0xffffffffffffffffn) throw new RangeError(`field out of range: ${n}`);
    const at = this.#grow(8);
    this.#view.setBigUint64(at, n, true);
    return this;
  }

  i64(n: bigint): this {
    if (n < -0x8000000000000000n || n > 0x7fffffffffffffffn) throw new RangeError(`field out of range: ${n}`);
    const at = this.#grow(8);
    this.#view.setBigInt64(at, n, true);
    return this;
  }

  bytes(b: Uint8Array): this {
    const at = this.#grow(b.length);
    this.#bytes.set(b, at);
    return this;
  }

  compactSize(n: number): this {
    if (n < 0xfd) return this.u8(n);
    if (n <= 0xffff) return this.u8(0xfd).u16(n);
    return this.u8(0xfe).u32(n);
  }

  varBytes(b: Uint8Array): this {
    return this.compactSize(b.length).bytes(b);
  }

  /** A copy of what was written. */
  done(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }
}

export function compactSizeLength(n: number): number {
  return n < 0xfd ? 1 : n <= 0xffff ? 3 : 5;
}
