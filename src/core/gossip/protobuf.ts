/** The small part of protobuf that gossip frames need: varints, length-delimited fields, skipping of the rest. */

const WIRE_VARINT = 0;
const WIRE_BYTES = 2;
const WIRE_FIXED64 = 1;
const WIRE_FIXED32 = 5;

/** Writes an unsigned varint at `at` and returns the next position. `value`: 0 to 2^53. */
function writeVarint(out: Uint8Array, at: number, value: number): number {
  let v = value;
  let i = at;
  while (v >= 0x80) {
    out[i++] = (v % 0x80) | 0x80;
    v = Math.floor(v / 0x80);
  }
  out[i++] = v;
  return i;
}

/** Growing output for one message. Field numbers below 16, as everywhere in gossip. */
export class ProtoWriter {
  #buffer: Uint8Array;
  #length = 0;

  constructor(capacity = 64) {
    this.#buffer = new Uint8Array(capacity);
  }

  varint(field: number, value: number): void {
    this.#reserve(1 + 10);
    this.#buffer[this.#length++] = (field << 3) | WIRE_VARINT;
    this.#length = writeVarint(this.#buffer, this.#length, value);
  }

  bytes(field: number, value: Uint8Array): void {
    this.#reserve(1 + 10 + value.length);
    this.#buffer[this.#length++] = (field << 3) | WIRE_BYTES;
    this.#length = writeVarint(this.#buffer, this.#length, value.length);
    this.#buffer.set(value, this.#length);
    this.#length += value.length;
  }

  finish(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  #reserve(more: number): void {
    const need = this.#length + more;
    if (need <= this.#buffer.length) return;
    const grown = new Uint8Array(Math.max(need, this.#buffer.length * 2));
    grown.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = grown;
  }
}

/**
 * Cursor over one message. After `next()` says true, `field` and `wire` describe the value and exactly one of
 * `varint()`, `bytes()` and `skip()` must follow. Malformed input sets `broken` and ends the message.
 */
export class ProtoReader {
  field = 0;
  wire = 0;
  broken = false;
  readonly #data: Uint8Array;
  #at = 0;

  constructor(data: Uint8Array) {
    this.#data = data;
  }

  next(): boolean {
    if (this.broken || this.#at >= this.#data.length) return false;
    const key = this.#readVarint();
    this.field = Math.floor(key / 8);
    this.wire = key % 8;
    if (this.field === 0 || this.field > 0x1fff_ffff) this.broken = true;
    return !this.broken;
  }

  /** Values above 2^53 lose their low bits; no field read here gets that large in a frame that is not hostile. */
  varint(): number {
    if (this.wire !== WIRE_VARINT) return this.#fail();
    return this.#readVarint();
  }

  /** A view into the input, not a copy. */
  bytes(): Uint8Array {
    if (this.wire !== WIRE_BYTES) {
      this.#fail();
      return this.#data.subarray(0, 0);
    }
    const length = this.#readVarint();
    const start = this.#at;
    if (length > this.#data.length - start) {
      this.#fail();
      return this.#data.subarray(0, 0);
    }
    this.#at = start + length;
    return this.#data.subarray(start, this.#at);
  }

  skip(): void {
    if (this.wire === WIRE_VARINT) this.#readVarint();
    else if (this.wire === WIRE_BYTES) this.bytes();
    else if (this.wire === WIRE_FIXED64) this.#advance(8);
    else if (this.wire === WIRE_FIXED32) this.#advance(4);
    else this.#fail();
  }

  #advance(count: number): void {
    if (count > this.#data.length - this.#at) this.#fail();
    else this.#at += count;
  }

  #readVarint(): number {
    let value = 0;
    let scale = 1;
    for (let i = 0; i < 10; i++) {
      const byte = this.#data[this.#at];
      if (byte === undefined) return this.#fail();
      this.#at++;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 0x80;
    }
    return this.#fail();
  }

  #fail(): number {
    this.broken = true;
    return 0;
  }
}
