import { reversed, toHex } from "../util/bytes.ts";
import { err, ok, type Result } from "../util/result.ts";
import { ByteReader } from "../utxo/byteReader.ts";
import { hash256 } from "../utxo/hash.ts";
import type { HeaderFault } from "./headerFault.ts";
import type { HeaderLayout, HeaderRules } from "./headerRules.ts";
import { type ParentProof, readParentProof } from "./parentProof.ts";

/** Most headers read at once: what one Electrum answer may hold (protocol 1.4, `blockchain.block.headers`). */
export const MAX_HEADERS = 2_016;
/** Most bytes read at once: 2016 headers with an Equihash(200,9) solution are 3 MB. */
export const MAX_HEADERS_BYTES = 4_000_000;
/** Longest Equihash solution in use, that of (200,9). */
const MAX_SOLUTION_BYTES = 1_344;
/** Version bit of a header that a parent chain's block proves. */
export const AUXPOW_BIT = 0x100;

/** One header of a block. Hashes in display order. */
export type BlockHeader = {
  /** The bytes the hash is made of: for a merge-mined block without the proof of its parent. Nobody may change them. */
  readonly raw: Uint8Array;
  readonly hash: string;
  readonly prevHash: string;
  readonly merkleRoot: string;
  /** Unix seconds. */
  readonly timeSec: number;
  /** Compact target, as the header has it. */
  readonly bits: number;
  /** Of a merge-mined block; null where there is none, or a server left it out. */
  readonly parentProof: ParentProof | null;
};

/**
 * A header to be kept, once its work was checked: the proof of its parent may be a megabyte, and where nothing checks that, whoever gives the
 * header makes it up.
 */
export const withoutProof = (header: BlockHeader): BlockHeader => (header.parentProof === null ? header : { ...header, parentProof: null });

const bad = (detail: string): Result<never, HeaderFault> => err({ kind: "BadHeader", detail });

/** What the bytes of a header say, but for the proof of a parent chain, which follows where there is one. */
type HeaderFields = Pick<BlockHeader, "prevHash" | "merkleRoot" | "timeSec" | "bits"> & {
  readonly solutionBytes: number;
  readonly isMergeMined: boolean;
};

/** Reads a header up to the proof of its parent, and leaves a problem in the reader. */
export function readHeaderFields(r: ByteReader, layout: HeaderLayout): HeaderFields {
  const version = r.u32();
  const prevHash = toHex(reversed(r.slice(32)));
  const merkleRoot = toHex(reversed(r.slice(32)));
  if (layout === "equihash") r.slice(32);
  const timeSec = r.u32();
  const bits = r.u32();
  // The nonce.
  r.slice(layout === "equihash" ? 32 : 4);
  const solutionBytes = layout === "equihash" ? r.varBytes().length : 0;
  if (layout === "progpow") r.slice(8 + 32);
  if (layout === "accumulator") r.slice(32);
  const isMergeMined = layout === "auxpow" && r.problem === null && (version & AUXPOW_BIT) !== 0;
  return { prevHash, merkleRoot, timeSec, bits, solutionBytes, isMergeMined };
}

function readHeader(r: ByteReader, bytes: Uint8Array, layout: HeaderLayout): BlockHeader {
  const start = r.offset;
  const { solutionBytes, isMergeMined, ...fields } = readHeaderFields(r, layout);
  if (solutionBytes > MAX_SOLUTION_BYTES) r.fail("solution too long");
  // A copy: a view would keep the whole answer in memory for as long as one header is kept.
  const raw = bytes.slice(start, r.offset);
  const parentProof = isMergeMined ? readParentProof(r, bytes) : null;
  return { raw, hash: toHex(reversed(hash256(raw))), ...fields, parentProof };
}

function readAll(bytes: Uint8Array, layout: HeaderLayout): Result<readonly BlockHeader[], HeaderFault> {
  const r = new ByteReader(bytes);
  const headers: BlockHeader[] = [];
  while (r.remaining > 0 && r.problem === null) {
    if (headers.length === MAX_HEADERS) return bad(`more than ${MAX_HEADERS} headers`);
    const header = readHeader(r, bytes, layout);
    if (r.problem !== null) break;
    const before = headers.at(-1);
    if (before && before.hash !== header.prevHash) {
      return err({ kind: "NotLinked", at: headers.length, hash: header.hash, prevHash: header.prevHash });
    }
    headers.push(header);
  }
  return r.problem === null ? ok(headers) : bad(r.problem);
}

/**
 * Reads headers that stand one after another, oldest first, and checks that each names the one before. Nothing else is
 * checked: `extend` does that. The first layout of the coin that fits all bytes is taken.
 *
 * @param raw 0 to `MAX_HEADERS` headers; more than `MAX_HEADERS_BYTES` are refused unread
 * @returns the fault of the coin's own layout where none fits; `at` counts from 0 within `raw`
 */
export function parseHeaders(raw: Uint8Array, rules: HeaderRules): Result<readonly BlockHeader[], HeaderFault> {
  if (raw.length > MAX_HEADERS_BYTES) return bad("too many bytes");
  let failure: Result<never, HeaderFault> | null = null;
  for (const layout of rules.layouts) {
    const headers = readAll(raw, layout);
    if (headers.ok) return headers;
    // That headers of the right length do not link says more than that they are no headers of another length.
    if (failure === null || headers.error.kind === "NotLinked") failure = headers;
  }
  return failure ?? bad("no layout");
}

/** Reads exactly one header. */
export function parseHeader(raw: Uint8Array, rules: HeaderRules): Result<BlockHeader, HeaderFault> {
  const headers = parseHeaders(raw, rules);
  if (!headers.ok) return headers;
  const [header, ...more] = headers.value;
  return header && more.length === 0 ? ok(header) : bad("not one header");
}
