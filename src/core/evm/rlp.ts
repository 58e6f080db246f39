import { concatBytes } from "../util/bytes.ts";
import { err, ok, type Result } from "../util/result.ts";

/** A text of bytes, or a list of items (Ethereum yellow paper, appendix B). */
export type RlpItem = Uint8Array | readonly RlpItem[];

export type RlpFault = { readonly kind: "BadRlp"; readonly detail: string };

/** Longest text or list whose length fits into its first byte. */
const SHORT = 55;
const TEXT = 0x80;
const LIST = 0xc0;
/** A signed transaction, its access list, an entry of it, the keys of that entry. */
const MAX_DEPTH = 4;
/** Items of one transaction: eleven fields and an access list. 128 KB of one-byte items would be ten times as many. */
const MAX_ITEMS = 10_000;

function lengthBytes(length: number): Uint8Array {
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return Uint8Array.from(bytes);
}

function head(base: number, length: number): Uint8Array {
  if (length <= SHORT) return Uint8Array.of(base + length);
  const bytes = lengthBytes(length);
  return concatBytes(Uint8Array.of(base + SHORT + bytes.length), bytes);
}

export function encodeRlp(item: RlpItem): Uint8Array {
  if (!(item instanceof Uint8Array)) {
    const body = concatBytes(...item.map(encodeRlp));
    return concatBytes(head(LIST, body.length), body);
  }
  const [first] = item;
  return item.length === 1 && first !== undefined && first < TEXT ? item : concatBytes(head(TEXT, item.length), item);
}

/** Shortest big-endian bytes of a number; none for zero. */
export function rlpUint(value: bigint): Uint8Array {
  const bytes: number[] = [];
  for (let rest = value; rest > 0n; rest >>= 8n) bytes.push(Number(rest & 0xffn));
  return Uint8Array.from(bytes.reverse());
}

class Reader {
  problem: string | null = null;
  readonly #bytes: Uint8Array;
  #items = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  fail(detail: string): never[] {
    this.problem ??= detail;
    return [];
  }

  /** Length that stands in `count` bytes at `at`; 0 and a problem when it is not in its shortest form. */
  #longLength(at: number, count: number, end: number): number {
    if (count > 4 || at + count > end) {
      this.fail("a length beyond the data");
      return 0;
    }
    let length = 0;
    for (let i = 0; i < count; i++) length = length * 256 + (this.#bytes[at + i] ?? 0);
    if (length <= SHORT || this.#bytes[at] === 0) this.fail("a length not in its shortest form");
    return length;
  }

  /** The item at `at`, and where it ends. */
  item(at: number, end: number, depth: number): { readonly item: RlpItem; readonly next: number } {
    const first = this.#bytes[at];
    if (this.problem !== null || first === undefined || at >= end) {
      this.fail("unexpected end of data");
      return { item: [], next: end };
    }
    if (++this.#items > MAX_ITEMS) {
      this.fail("too many items");
      return { item: [], next: end };
    }
    if (first < TEXT) return { item: this.#bytes.subarray(at, at + 1), next: at + 1 };
    const base = first < LIST ? TEXT : LIST;
    const long = Math.max(0, first - base - SHORT);
    const length = long > 0 ? this.#longLength(at + 1, long, end) : first - base;
    const start = at + 1 + long;
    const next = start + length;
    if (this.problem !== null || next > end) {
      this.fail("a length beyond the data");
      return { item: [], next: end };
    }
    if (base === LIST) return { item: this.#list(start, next, depth), next };
    const text = this.#bytes.subarray(start, next);
    if (length === 1 && (text[0] ?? 0) < TEXT) this.fail("a byte not in its shortest form");
    return { item: text, next };
  }

  #list(start: number, end: number, depth: number): readonly RlpItem[] {
    if (depth === 0) return this.fail("lists nested too deep");
    const items: RlpItem[] = [];
    for (let at = start; at < end && this.problem === null; ) {
      const read = this.item(at, end, depth - 1);
      items.push(read.item);
      at = read.next;
    }
    return items;
  }
}

/** Reads exactly one item, every part in its only canonical form, nested at most four deep. Texts are views into `bytes`. */
export function parseRlp(bytes: Uint8Array): Result<RlpItem, RlpFault> {
  const reader = new Reader(bytes);
  const { item, next } = reader.item(0, bytes.length, MAX_DEPTH);
  if (next !== bytes.length) reader.fail("data after the end");
  return reader.problem === null ? ok(item) : err({ kind: "BadRlp", detail: reader.problem });
}
