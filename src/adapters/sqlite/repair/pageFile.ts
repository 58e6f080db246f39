import { existsSync, readFileSync, statSync } from "node:fs";

/** Largest file read whole into memory. A larger one is repaired from what SQLite itself can read of it. */
const MAX_FILE_BYTES = 1024 * 1024 * 1024;
const WAL_HEADER = 32;
const FRAME_HEADER = 24;
/** https://sqlite.org/fileformat2.html#the_write_ahead_log; the lowest bit says in which byte order the sums are. */
const WAL_MAGIC = 0x377f0682;
const PAGE_SIZES: readonly number[] = [512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536];
/** What our files have when the header cannot be read. */
const DEFAULT_PAGE_SIZE = 4096;

/** The pages of a database as the last whole transaction left them, without asking SQLite, which stops at the first bad one. */
export type PageFile = { readonly pageSize: number; readonly pages: number; page(number: number): Uint8Array | null };

const read = (path: string): Buffer => (existsSync(path) ? readFileSync(path) : Buffer.alloc(0));

/** The running sum of the log (file format, 4.2). */
function sumOf(bytes: Buffer, [a, b]: readonly [number, number], bigEndian: boolean): [number, number] {
  let [s0, s1] = [a, b];
  for (let at = 0; at + 8 <= bytes.length; at += 8) {
    s0 = (s0 + (bigEndian ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at)) + s1) >>> 0;
    s1 = (s1 + (bigEndian ? bytes.readUInt32BE(at + 4) : bytes.readUInt32LE(at + 4)) + s0) >>> 0;
  }
  return [s0, s1];
}

/** Newest content of each page in the log up to its last whole transaction. Frames after a torn one are not believed. */
function committedFrames(wal: Buffer): { readonly pageSize: number; readonly pages: ReadonlyMap<number, Buffer> } {
  const pages = new Map<number, Buffer>();
  const magic = wal.length >= WAL_HEADER ? wal.readUInt32BE(0) : 0;
  if ((magic & ~1) !== WAL_MAGIC) return { pageSize: 0, pages };
  const bigEndian = (magic & 1) === 1;
  const pageSize = wal.readUInt32BE(8);
  const salts = wal.subarray(16, 24);
  let sum = sumOf(wal.subarray(0, 24), [0, 0], bigEndian);
  let open = new Map<number, Buffer>();
  if (!PAGE_SIZES.includes(pageSize)) return { pageSize: 0, pages };
  for (let at = WAL_HEADER; at + FRAME_HEADER + pageSize <= wal.length; at += FRAME_HEADER + pageSize) {
    const header = wal.subarray(at, at + FRAME_HEADER);
    const content = wal.subarray(at + FRAME_HEADER, at + FRAME_HEADER + pageSize);
    sum = sumOf(content, sumOf(header.subarray(0, 8), sum, bigEndian), bigEndian);
    if (!header.subarray(8, 16).equals(salts) || header.readUInt32BE(16) !== sum[0] || header.readUInt32BE(20) !== sum[1]) break;
    open.set(header.readUInt32BE(0), content);
    if (header.readUInt32BE(4) === 0) continue;
    for (const [number, bytes] of open) pages.set(number, bytes);
    open = new Map();
  }
  return { pageSize, pages };
}

/** @returns null for a file too large to be read whole */
export function readPageFile(path: string): PageFile | null {
  if (statSync(path).size > MAX_FILE_BYTES) return null;
  const file = read(path);
  const wal = committedFrames(read(`${path}-wal`));
  const stated = file.length >= 18 ? file.readUInt16BE(16) : 0;
  const ofHeader = stated === 1 ? 65_536 : stated;
  const pageSize = wal.pageSize || (PAGE_SIZES.includes(ofHeader) ? ofHeader : DEFAULT_PAGE_SIZE);
  const inLog = [...wal.pages.keys()].reduce((most, number) => Math.max(most, number), 0);
  return {
    pageSize,
    pages: Math.max(Math.ceil(file.length / pageSize), inLog),
    page(number) {
      const start = (number - 1) * pageSize;
      const bytes = wal.pages.get(number) ?? file.subarray(start, start + pageSize);
      return number >= 1 && bytes.length === pageSize ? bytes : null;
    },
  };
}
