import { utf8ToBytes } from "@noble/hashes/utils.js";

/** Bytes a new writer holds before it has to grow; most order messages fit. */
const INITIAL_CAPACITY = 256;

/**
 * Writes MessagePack exactly as rmp-serde 0.14.4 `to_vec` does (reference p2p-wire.md section 6): structs are arrays,
 * enums one-entry maps keyed by the variant's index, `Vec<u8>` an array of integers, every number in its shortest form.
 * Callers hand in values our own code made, so a wrong one throws `RangeError`.
 */
export class MsgpackWriter {
  #buffer = new Uint8Array(INITIAL_CAPACITY);
  #at = 0;

  /** The bytes written so far, as a copy. */
  finish(): Uint8Array {
    return this.#buffer.slice(0, this.#at);
  }

  array(length: number): this {
    return this.#header(length, 0x90, 15, undefined, 0xdc);
  }

  map(entries: number): this {
    return this.#header(entries, 0x80, 15, undefined, 0xde);
  }

  nil(): this {
    return this.#byte(0xc0);
  }

  bool(value: boolean): this {
    return this.#byte(value ? 0xc3 : 0xc2);
  }

  /** 0 to 2^53 - 1. */
  uint(value: number): this {
    if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`msgpack: not an unsigned integer: ${value}`);
    if (value < 0x80) return this.#byte(value);
    if (value <= 0xff) return this.#byte(0xcc).#bigEndian(value, 1);
    if (value <= 0xffff) return this.#byte(0xcd).#bigEndian(value, 2);
    if (value <= 0xffff_ffff) return this.#byte(0xce).#bigEndian(value, 4);
    return this.#byte(0xcf)
      .#bigEndian(Math.floor(value / 0x1_0000_0000), 4)
      .#bigEndian(value % 0x1_0000_0000, 4);
  }

  /** Sign of a big integer: -1, 0 or 1. */
  sign(value: -1 | 0 | 1): this {
    return this.#byte(value & 0xff);
  }

  str(text: string): this {
    const bytes = utf8ToBytes(text);
    return this.#header(bytes.length, 0xa0, 31, 0xd9, 0xda).raw(bytes);
  }

  /** `bin`: only where the reference says so (CompactUuid, envelope). */
  bin(bytes: Uint8Array): this {
    return this.#header(bytes.length, undefined, -1, 0xc4, 0xc5).raw(bytes);
  }

  /** `Vec<u8>` and `[u8; N]`: an array of integers. */
  ints(bytes: Uint8Array): this {
    this.array(bytes.length);
    this.#reserve(bytes.length * 2);
    for (const b of bytes) {
      if (b >= 0x80) this.#buffer[this.#at++] = 0xcc;
      this.#buffer[this.#at++] = b;
    }
    return this;
  }

  /** Opens an enum value: the caller writes the payload next. */
  variant(index: number): this {
    return this.#byte(0x81).uint(index);
  }

  unitVariant(index: number): this {
    return this.variant(index).nil();
  }

  /** Bytes that are MessagePack already. */
  raw(bytes: Uint8Array): this {
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.#at);
    this.#at += bytes.length;
    return this;
  }

  /** Length header: one byte up to `fixMax`, else 8 bits if the family has that form, else 16, else 32 (marker + 1). */
  #header(length: number, fixBase: number | undefined, fixMax: number, marker8: number | undefined, marker16: number): this {
    if (fixBase !== undefined && length <= fixMax) return this.#byte(fixBase | length);
    if (marker8 !== undefined && length <= 0xff) return this.#byte(marker8).#bigEndian(length, 1);
    if (length <= 0xffff) return this.#byte(marker16).#bigEndian(length, 2);
    return this.#byte(marker16 + 1).#bigEndian(length, 4);
  }

  #byte(value: number): this {
    this.#reserve(1);
    this.#buffer[this.#at++] = value;
    return this;
  }

  #bigEndian(value: number, size: number): this {
    this.#reserve(size);
    for (let shift = (size - 1) * 8; shift >= 0; shift -= 8) this.#buffer[this.#at++] = value >>> shift;
    return this;
  }

  #reserve(more: number): void {
    const needed = this.#at + more;
    if (needed <= this.#buffer.length) return;
    const grown = new Uint8Array(Math.max(needed, this.#buffer.length * 2));
    grown.set(this.#buffer);
    this.#buffer = grown;
  }
}
