import type { SqlValue } from "../../../ports/sql.ts";
import type { PageFile } from "./pageFile.ts";

/** Bytes of one record. The longest of ours are events with a transaction in hex. */
const MAX_RECORD_BYTES = 16 * 1024 * 1024;
const MAX_COLUMNS = 64;
/** Page types, https://sqlite.org/fileformat2.html#b_tree_pages */
const INDEX_INTERIOR = 0x02;
const INDEX_LEAF = 0x0a;
const TABLE_LEAF = 0x0d;

/** A record found on a page. `rowid` is null for tables WITHOUT ROWID, which are stored as indexes are. */
export type FoundRecord = { readonly page: number; readonly rowid: bigint | null; readonly values: readonly SqlValue[] };

/** Big-endian, 7 bits a byte, the ninth whole. Null: runs out of the bytes. */
function varint(bytes: Uint8Array, at: number): { readonly value: bigint; readonly next: number } | null {
  let value = 0n;
  for (let i = 0; i < 9; i++) {
    const byte = bytes[at + i];
    if (byte === undefined) return null;
    if (i === 8) return { value: BigInt.asIntN(64, (value << 8n) | BigInt(byte)), next: at + 9 };
    value = (value << 7n) | BigInt(byte & 0x7f);
    if (byte < 0x80) return { value, next: at + i + 1 };
  }
  return null;
}

const integer = (bytes: Uint8Array): bigint => {
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  return BigInt.asIntN(8 * bytes.length, value);
};
const fromInteger = (value: bigint): SqlValue => (Number.isSafeInteger(Number(value)) ? Number(value) : value);

const INTEGER_BYTES: readonly number[] = [0, 1, 2, 3, 4, 6, 8];

/** One column by its serial type. Undefined: no such type, or not enough bytes. */
function column(type: number, body: Uint8Array, at: number): { readonly value: SqlValue; readonly next: number } | undefined {
  if (type === 8 || type === 9) return { value: type - 8, next: at };
  const size = type === 7 ? 8 : type >= 12 ? (type - (type % 2 === 0 ? 12 : 13)) / 2 : INTEGER_BYTES[type];
  if (size === undefined || at + size > body.length) return undefined;
  const bytes = body.subarray(at, at + size);
  const next = at + size;
  if (type === 0) return { value: null, next };
  if (type === 7) return { value: new DataView(bytes.buffer, bytes.byteOffset, 8).getFloat64(0), next };
  if (type < 12) return { value: fromInteger(integer(bytes)), next };
  return { value: type % 2 === 0 ? bytes.slice() : new TextDecoder().decode(bytes), next };
}

function parseRecord(body: Uint8Array): SqlValue[] | null {
  const header = varint(body, 0);
  if (header === null || header.value > BigInt(body.length) || header.value < 1n) return null;
  const values: SqlValue[] = [];
  let at = header.next;
  let from = Number(header.value);
  while (at < Number(header.value)) {
    const type = varint(body, at);
    if (type === null || values.length >= MAX_COLUMNS) return null;
    const found = column(Number(type.value), body, from);
    if (found === undefined) return null;
    values.push(found.value);
    from = found.next;
    at = type.next;
  }
  return values;
}

/** The content of one cell, with what overflowed to other pages. Null: the chain is broken. */
function payload(file: PageFile, page: Uint8Array, at: number, size: number, isTable: boolean): Uint8Array | null {
  const usable = file.pageSize;
  const max = isTable ? usable - 35 : Math.floor(((usable - 12) * 64) / 255) - 23;
  if (size <= max) return at + size <= page.length ? page.subarray(at, at + size) : null;
  const min = Math.floor(((usable - 12) * 32) / 255) - 23;
  const wanted = min + ((size - min) % (usable - 4));
  const local = wanted <= max ? wanted : min;
  if (at + local + 4 > page.length) return null;
  const out = new Uint8Array(size);
  out.set(page.subarray(at, at + local));
  let filled = local;
  let next = new DataView(page.buffer, page.byteOffset).getUint32(at + local);
  while (filled < size) {
    const overflow = file.page(next);
    if (overflow === null) return null;
    const part = overflow.subarray(4, 4 + Math.min(usable - 4, size - filled));
    out.set(part, filled);
    filled += part.length;
    next = new DataView(overflow.buffer, overflow.byteOffset).getUint32(0);
  }
  return out;
}

/**
 * Every record on every page that looks like one that holds rows, whether the tree above it can still be walked or not. Pages
 * that are free hold rows of the past: only for tables of which nothing is ever changed or deleted.
 */
export function* leafRecords(file: PageFile): Generator<FoundRecord> {
  for (let number = 1; number <= file.pages; number++) {
    const page = file.page(number);
    if (page === null) continue;
    const start = number === 1 ? 100 : 0;
    const type = page[start];
    if (type !== TABLE_LEAF && type !== INDEX_LEAF && type !== INDEX_INTERIOR) continue;
    const view = new DataView(page.buffer, page.byteOffset, page.byteLength);
    const cells = view.getUint16(start + 3);
    const pointers = start + (type === INDEX_INTERIOR ? 12 : 8);
    if (pointers + 2 * cells > page.length) continue;
    for (let i = 0; i < cells; i++) {
      const at = view.getUint16(pointers + 2 * i) + (type === INDEX_INTERIOR ? 4 : 0);
      const size = varint(page, at);
      const rowid = size !== null && type === TABLE_LEAF ? varint(page, size.next) : null;
      if (size === null || size.value < 1n || size.value > BigInt(MAX_RECORD_BYTES) || (type === TABLE_LEAF && rowid === null)) continue;
      const body = payload(file, page, (rowid ?? size).next, Number(size.value), type === TABLE_LEAF);
      const values = body === null ? null : parseRecord(body);
      if (values !== null) yield { page: number, rowid: rowid?.value ?? null, values };
    }
  }
}
