import { type BadAnswer, parseAmount } from "../../chainIndex/coinAmount.ts";
import { type BlockHeader, MAX_HEADERS_BYTES, parseHeader, parseHeaders } from "../../core/proof/blockHeader.ts";
import type { HeaderRules } from "../../core/proof/headerRules.ts";
import { reasonOf } from "../../core/util/reasonOf.ts";
import { err, ok, type Result } from "../../core/util/result.ts";

// Answers of the Electrum protocol, version 1.4.

export type AnswerParser<T> = (value: unknown) => Result<T, BadAnswer>;

/** Servers say what they like: what a parser does not foresee must end their connection and not the look that asked. */
export function tryToParse<T>(parse: AnswerParser<T>, value: unknown): ReturnType<AnswerParser<T>> {
  try {
    return parse(value);
  } catch (cause) {
    // TypeError: nothing can be made of it. RangeError: nested beyond the stack.
    return bad(reasonOf(cause));
  }
}

/** Greatest height accepted: below BIP-65's border between heights and times. */
const MAX_HEIGHT = 500_000_000;
/** Transactions one script's history may have. ElectrumX's own limit at its usual settings is lower. */
export const MAX_HISTORY = 20_000;
/** Largest transaction read of a server, bytes: its own limit of what it sends is lower. */
export const MAX_TX_BYTES = 4_000_000;
/** Deepest branch of a block's Merkle tree (core/proof/merkleBranch.ts). */
const MAX_BRANCH = 32;
/** Steps of a fee histogram. */
const MAX_STEPS = 1_000;

const bad = (detail: string): Result<never, BadAnswer> => err({ detail });

type Fields = { readonly [key: string]: unknown };
const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);
const isHash = (value: unknown): value is string => typeof value === "string" && /^[0-9a-f]{64}$/.test(value);
const isHeight = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MAX_HEIGHT;

function hexBytes(value: unknown, maxBytes: number): Uint8Array | null {
  if (typeof value !== "string" || value.length === 0 || value.length % 2 !== 0 || value.length > 2 * maxBytes) return null;
  const bytes = Buffer.from(value, "hex");
  return bytes.length * 2 === value.length ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length) : null;
}

/** `server.version`: the protocol agreed on. */
export const parseVersion: AnswerParser<string> = (value) => {
  if (!Array.isArray(value) || value.length !== 2) return bad("not a pair of versions");
  const protocol: unknown = value[1];
  if (typeof protocol !== "string" || !/^1\.4(\.\d{1,3}){0,2}$/.test(protocol)) return bad("not protocol 1.4");
  return ok(protocol);
};

export type TipAnswer = { readonly height: number; readonly header: BlockHeader };

function headerOf(value: unknown, rules: HeaderRules): Result<BlockHeader, BadAnswer> {
  const raw = hexBytes(value, MAX_HEADERS_BYTES);
  if (raw === null) return bad("not the hex of a header");
  const header = parseHeader(raw, rules);
  return header.ok ? header : bad("not a header of this coin");
}

/** `blockchain.headers.subscribe`, and what it tells later. */
export function parseTip(value: unknown, rules: HeaderRules): Result<TipAnswer, BadAnswer> {
  if (!isFields(value) || !isHeight(value.height)) return bad("no height");
  const header = headerOf(value.hex, rules);
  return header.ok ? ok({ height: value.height, header: header.value }) : header;
}

/** `blockchain.block.header` without a checkpoint. */
export const parseOneHeader = (value: unknown, rules: HeaderRules): Result<BlockHeader, BadAnswer> => headerOf(value, rules);

/** `blockchain.block.headers`: linked to each other, at most `asked`. */
export function parseHeaderRun(value: unknown, rules: HeaderRules, asked: number): Result<readonly BlockHeader[], BadAnswer> {
  if (!isFields(value)) return bad("not an object");
  if (value.hex === "") return ok([]);
  const raw = hexBytes(value.hex, MAX_HEADERS_BYTES);
  if (raw === null) return bad("not the hex of headers");
  const headers = parseHeaders(raw, rules);
  if (!headers.ok) return bad("not headers of this coin, one after another");
  return headers.value.length <= asked ? headers : bad("more headers than were asked for");
}

/** `blockchain.scripthash.subscribe`: null where the script has no history. */
export const parseStatus: AnswerParser<string | null> = (value) => (value === null || isHash(value) ? ok(value) : bad("not a status"));

/** A line of a history. `height`: of its block; in the mempool 0, or -1 where a parent is there too. */
export type HistoryLine = { readonly txid: string; readonly height: number };

/**
 * `blockchain.scripthash.get_history`. One that is too long is nobody's fault: whoever likes can pay a script. Nor is a transaction that stands in a block and
 * in the mempool: for seconds after each block servers have it in both (ElectrumX and electrs put the two lists behind each other). The block counts.
 */
export const parseHistory: AnswerParser<readonly HistoryLine[] | "too_long"> = (value) => {
  if (!Array.isArray(value)) return bad("not a list");
  if (value.length > MAX_HISTORY) return ok("too_long");
  const lines = new Map<string, HistoryLine>();
  for (const line of value) {
    if (!isFields(line) || !isHash(line.tx_hash)) return bad("a line without a transaction id");
    const { tx_hash: txid, height } = line;
    if (height !== -1 && !isHeight(height)) return bad("a line without a height");
    const before = lines.get(txid)?.height ?? -1;
    if (before > 0 && height > 0) return bad("a transaction in two blocks");
    lines.set(txid, { txid, height: Math.max(before, height) });
  }
  return ok([...lines.values()]);
};

/** `blockchain.transaction.get` without details. */
export const parseRawTx: AnswerParser<Uint8Array> = (value) => {
  const raw = hexBytes(value, MAX_TX_BYTES);
  return raw === null ? bad("not the hex of a transaction") : ok(raw);
};

/** `blockchain.transaction.get` with details: the hash of the block it is in; null: in none. */
export const parseBlockHash: AnswerParser<string | null> = (value) => {
  if (!isFields(value)) return bad("not an object");
  const { blockhash = null } = value;
  return blockhash === null || isHash(blockhash) ? ok(blockhash) : bad("not the hash of a block");
};

/** A transaction id, display order. */
export const parseTxid: AnswerParser<string> = (value) => (isHash(value) ? ok(value) : bad("not a transaction id"));

export type BranchAnswer = { readonly branch: readonly string[]; readonly pos: number };

const branchOf = (value: unknown): readonly string[] | null =>
  Array.isArray(value) && value.length <= MAX_BRANCH && value.every(isHash) ? value : null;

/** `blockchain.transaction.get_merkle`. */
export const parseBranch: AnswerParser<BranchAnswer> = (value) => {
  const branch = isFields(value) ? branchOf(value.merkle) : null;
  if (!isFields(value) || branch === null || !isHeight(value.pos)) return bad("not a branch");
  return ok({ branch, pos: value.pos });
};

/** The id of a transaction by its place. electrs (0.9 to 0.10) has the id under a name of its own, and an object without a branch, too. */
const placedId = (value: unknown): unknown => (isFields(value) ? (value.tx_hash ?? value.tx_id) : value);

/** `blockchain.transaction.id_from_pos` with a branch. */
export const parsePlacedTx: AnswerParser<{ readonly txid: string; readonly branch: readonly string[] }> = (value) => {
  const branch = isFields(value) ? branchOf(value.merkle) : null;
  const txid = placedId(value);
  return branch !== null && isHash(txid) ? ok({ txid, branch }) : bad("not a place in a block");
};

/** The same without a branch. */
export const parsePlacedId: AnswerParser<string> = (value) => parseTxid(placedId(value));

/** `blockchain.estimatefee` and `blockchain.relayfee`: coins per 1000 bytes to base units, rounded up; null: no estimate (-1). */
export function parseFeePerKb(value: unknown, decimals: number): Result<bigint | null, BadAnswer> {
  if (value === null || Number(value) <= 0) return ok(null);
  return parseAmount(value, decimals, "up");
}

/** `mempool.get_fee_histogram`: base units per virtual byte, and the virtual bytes that pay this much and less than the step before. */
export const parseHistogram: AnswerParser<readonly (readonly [number, number])[]> = (value) => {
  if (!Array.isArray(value) || value.length > MAX_STEPS) return bad("not a histogram");
  const steps: (readonly [number, number])[] = [];
  for (const step of value) {
    const [rate, size] = Array.isArray(step) ? (step as readonly unknown[]) : [];
    if (typeof rate !== "number" || typeof size !== "number" || !(rate >= 0 && rate < 1e9) || !(size >= 0 && size < 1e12))
      return bad("not a step of a histogram");
    steps.push([rate, size]);
  }
  return ok(steps);
};

/** `block`: hash of the block it is in by this server; null: it names none. */
export type Depth = { readonly counted: number; readonly blocks: number; readonly block: string | null };

/**
 * `blockchain.transaction.get` with details, of a KMD-family daemon: the confirmations it counts, which stay at one until the block
 * is notarized, and the blocks apart from that. Null: not of that family.
 */
export const parseDepth: AnswerParser<Depth | null> = (value) => {
  if (!isFields(value)) return bad("not an object");
  const { confirmations, rawconfirmations, blockhash } = value;
  if (rawconfirmations === undefined) return ok(null);
  return isHeight(confirmations) && isHeight(rawconfirmations)
    ? ok({ counted: confirmations, blocks: rawconfirmations, block: typeof blockhash === "string" ? blockhash : null })
    : bad("no confirmations");
};
