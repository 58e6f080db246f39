import { err, ok, type Result } from "../util/result.ts";
import { parseUtf8 } from "../util/utf8.ts";

/** Input that is not the message it should be. `detail` is for logs and error replies, never matched on. */
export type BadMessage = { readonly kind: "BadMessage"; readonly detail: string };

/** Largest frame of gossip and of the request protocols (reference p2p-wire.md section 3). Longer input is not looked at. */
export const MAX_MESSAGE_BYTES = 1024 * 1024 - 100;

/** Carries a refusal from deep inside a shape out to `decode`; never leaves this module otherwise. */
class MalformedInput extends Error {
  override readonly name = "MalformedInput";
}

/** Ends the running `decode` with a refusal. Only for readers called below `decode`. */
export function refuse(detail: string): never {
  throw new MalformedInput(detail);
}

/**
 * Runs `read` over untrusted bytes. What follows the last value `read` asks for is ignored, as KDF's decoder does
 * (reference p2p-wire.md section 6). The shapes fix the depth: nothing here recurses on what the input says.
 */
export function decode<T>(bytes: Uint8Array, read: (reader: MsgpackReader) => T): Result<T, BadMessage> {
  if (bytes.length > MAX_MESSAGE_BYTES) return err({ kind: "BadMessage", detail: `longer than ${MAX_MESSAGE_BYTES} bytes` });
  try {
    return ok(read(new MsgpackReader(bytes)));
  } catch (cause) {
    if (cause instanceof MalformedInput) return err({ kind: "BadMessage", detail: cause.message });
    throw cause;
  }
}

/**
 * Cursor over MessagePack from a peer. Accepts every length and integer form (also longer than needed); a container
 * header that promises more elements than bytes are left is refused, so memory stays proportional to the input.
 */
export class MsgpackReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Elements of the array that starts here. */
  array(max = MAX_MESSAGE_BYTES): number {
    return this.#checkCount(this.#arrayLength(), max, 1);
  }

  /** An array of exactly `length` elements: every nested struct. */
  struct(length: number): void {
    const found = this.array();
    if (found !== length) refuse(`array of ${length} expected, found ${found}`);
  }

  /** The outermost body: at least `least` elements, the rest are ignored. Its header may promise more than is there. */
  body(least: number): number {
    const length = this.#arrayLength();
    if (length < least) refuse(`at least ${least} elements expected, found ${length}`);
    return length;
  }

  /** Entries of the map that starts here. */
  map(max: number): number {
    const marker = this.#byte();
    let length: number;
    if (marker >= 0x80 && marker <= 0x8f) length = marker & 0x0f;
    else if (marker === 0xde) length = this.#unsigned(2);
    else if (marker === 0xdf) length = this.#unsigned(4);
    else refuse("map expected");
    return this.#checkCount(length, max, 2);
  }

  /** Head of an enum value, by index or by name (KDF reads both). Returns the index. */
  variant(names: readonly string[]): number {
    if (this.map(1) !== 1) refuse("enum with one entry expected");
    const next = this.#peek();
    if ((next >= 0xa0 && next <= 0xbf) || (next >= 0xd9 && next <= 0xdb)) {
      const index = names.indexOf(this.str(64));
      if (index < 0) refuse("unknown variant name");
      return index;
    }
    const index = this.uint();
    if (index >= names.length) refuse(`unknown variant ${index}`);
    return index;
  }

  unitVariant(names: readonly string[]): number {
    const index = this.variant(names);
    if (!this.nil()) refuse("nil expected in a unit variant");
    return index;
  }

  /** Consumes a nil if one is next. */
  nil(): boolean {
    if (this.#peek() !== 0xc0) return false;
    this.#at++;
    return true;
  }

  bool(): boolean {
    const marker = this.#byte();
    if (marker === 0xc3) return true;
    if (marker === 0xc2) return false;
    return refuse("bool expected");
  }

  /** Unsigned integer of any encoding, 0 to 2^53 - 1. */
  uint(max = Number.MAX_SAFE_INTEGER): number {
    const value = this.int();
    if (value < 0 || value > max) refuse("integer out of range");
    return value;
  }

  /** Integer of any encoding within ±(2^53 - 1). */
  int(): number {
    const marker = this.#byte();
    if (marker < 0x80) return marker;
    if (marker >= 0xe0) return marker - 0x100;
    switch (marker) {
      case 0xcc:
        return this.#unsigned(1);
      case 0xcd:
        return this.#unsigned(2);
      case 0xce:
        return this.#unsigned(4);
      case 0xcf:
        return this.#safe(this.#unsigned(4), this.#unsigned(4));
      case 0xd0:
        return (this.#unsigned(1) << 24) >> 24;
      case 0xd1:
        return (this.#unsigned(2) << 16) >> 16;
      case 0xd2:
        return this.#unsigned(4) | 0;
      case 0xd3:
        return this.#safe(this.#unsigned(4) | 0, this.#unsigned(4));
      default:
        return refuse("integer expected");
    }
  }

  /** UTF-8 text of at most `maxBytes`. Ill-formed UTF-8 is refused. */
  str(maxBytes: number): string {
    const marker = this.#byte();
    let length: number;
    if (marker >= 0xa0 && marker <= 0xbf) length = marker & 0x1f;
    else if (marker === 0xd9) length = this.#unsigned(1);
    else if (marker === 0xda) length = this.#unsigned(2);
    else if (marker === 0xdb) length = this.#unsigned(4);
    else refuse("string expected");
    return parseUtf8(this.#take(length, maxBytes)) ?? refuse("ill-formed UTF-8");
  }

  /** `bin` of at most `max` bytes. */
  bin(max: number): Uint8Array {
    return this.binView(max).slice();
  }

  /** The same as a view into the input, for content that is looked at and let go. */
  binView(max: number): Uint8Array {
    const marker = this.#byte();
    let length: number;
    if (marker === 0xc4) length = this.#unsigned(1);
    else if (marker === 0xc5) length = this.#unsigned(2);
    else if (marker === 0xc6) length = this.#unsigned(4);
    else refuse("bin expected");
    return this.#take(length, max);
  }

  binOf(length: number): Uint8Array {
    const bytes = this.bin(length);
    if (bytes.length !== length) refuse(`bin of ${length} bytes expected`);
    return bytes;
  }

  /** Bytes written as an array of integers, at most `max`. */
  ints(max: number): Uint8Array {
    const length = this.array(max);
    const out = new Uint8Array(length);
    for (let i = 0; i < length; i++) out[i] = this.uint(0xff);
    return out;
  }

  intsOf(length: number): Uint8Array {
    const bytes = this.ints(length);
    if (bytes.length !== length) refuse(`${length} bytes expected`);
    return bytes;
  }

  /** Keys that KDF also reads from a `bin` (negotiation data, envelope). */
  intsOrBinOf(length: number): Uint8Array {
    return this.atBin() ? this.binOf(length) : this.intsOf(length);
  }

  atArray(): boolean {
    const next = this.#peek();
    return (next >= 0x90 && next <= 0x9f) || next === 0xdc || next === 0xdd;
  }

  atBin(): boolean {
    const next = this.#peek();
    return next >= 0xc4 && next <= 0xc6;
  }

  /** Reads without moving on; for telling untagged forms apart. */
  lookAhead<T>(read: (reader: MsgpackReader) => T): T {
    const start = this.#at;
    const value = read(this);
    this.#at = start;
    return value;
  }

  /** Passes over one value of any shape without recursion. */
  skip(): void {
    for (let pending = 1; pending > 0; pending--) pending += this.#skipOne();
  }

  /**
   * One value of a list in which a single bad entry must not spoil the rest: `undefined` when `read` refuses it or
   * does not take all of it.
   */
  orSkip<T>(read: (reader: MsgpackReader) => T): T | undefined {
    const start = this.#at;
    this.skip();
    const end = this.#at;
    this.#at = start;
    try {
      const value = read(this);
      return this.#at === end ? value : undefined;
    } catch (cause) {
      if (cause instanceof MalformedInput) return undefined;
      throw cause;
    } finally {
      this.#at = end;
    }
  }

  /** Skips head and plain content of one value; returns how many values are inside it. */
  #skipOne(): number {
    const marker = this.#byte();
    if (marker < 0x80 || marker >= 0xe0 || marker === 0xc0 || marker === 0xc2 || marker === 0xc3) return 0;
    if (marker <= 0x8f) return this.#checkCount(marker & 0x0f, MAX_MESSAGE_BYTES, 2) * 2;
    if (marker <= 0x9f) return this.#checkCount(marker & 0x0f, MAX_MESSAGE_BYTES, 1);
    if (marker <= 0xbf) return this.#pass(marker & 0x1f);
    switch (marker) {
      case 0xc4:
      case 0xd9:
        return this.#pass(this.#unsigned(1));
      case 0xc5:
      case 0xda:
        return this.#pass(this.#unsigned(2));
      case 0xc6:
      case 0xdb:
        return this.#pass(this.#unsigned(4));
      case 0xcc:
      case 0xd0:
        return this.#pass(1);
      case 0xcd:
      case 0xd1:
        return this.#pass(2);
      case 0xce:
      case 0xd2:
      case 0xca:
        return this.#pass(4);
      case 0xcf:
      case 0xd3:
      case 0xcb:
        return this.#pass(8);
      case 0xdc:
        return this.#checkCount(this.#unsigned(2), MAX_MESSAGE_BYTES, 1);
      case 0xdd:
        return this.#checkCount(this.#unsigned(4), MAX_MESSAGE_BYTES, 1);
      case 0xde:
        return this.#checkCount(this.#unsigned(2), MAX_MESSAGE_BYTES, 2) * 2;
      case 0xdf:
        return this.#checkCount(this.#unsigned(4), MAX_MESSAGE_BYTES, 2) * 2;
      default:
        return refuse("extension types are not used here");
    }
  }

  #arrayLength(): number {
    const marker = this.#byte();
    if (marker >= 0x90 && marker <= 0x9f) return marker & 0x0f;
    if (marker === 0xdc) return this.#unsigned(2);
    if (marker === 0xdd) return this.#unsigned(4);
    return refuse("array expected");
  }

  #pass(length: number): 0 {
    this.#take(length, MAX_MESSAGE_BYTES);
    return 0;
  }

  #checkCount(count: number, max: number, leastBytesEach: number): number {
    if (count > max) refuse(`at most ${max} elements allowed, found ${count}`);
    if (count * leastBytesEach > this.#bytes.length - this.#at) refuse("more elements promised than bytes left");
    return count;
  }

  #take(length: number, max: number): Uint8Array {
    if (length > max) refuse(`at most ${max} bytes allowed, found ${length}`);
    if (length > this.#bytes.length - this.#at) refuse("cut off");
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  #peek(): number {
    return this.#bytes[this.#at] ?? refuse("cut off");
  }

  #byte(): number {
    return this.#bytes[this.#at++] ?? refuse("cut off");
  }

  #unsigned(size: 1 | 2 | 4): number {
    let value = 0;
    for (let i = 0; i < size; i++) value = value * 256 + this.#byte();
    return value;
  }

  #safe(high: number, low: number): number {
    const value = high * 0x1_0000_0000 + low;
    return Number.isSafeInteger(value) ? value : refuse("integer out of range");
  }
}
