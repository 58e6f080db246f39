import { type BadAnswer, parseAmount } from "../../chainIndex/coinAmount.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import { MAX_TX_BYTES } from "../../core/utxo/txCodec.ts";
import { MAX_BLOCK_BYTES } from "./parseBlock.ts";

export type AnswerParser<T> = (value: unknown) => Result<T, BadAnswer>;

/** Greatest height accepted: below BIP-65's border between heights and times. */
const MAX_HEIGHT = 500_000_000;
/** Transactions a mempool list may name; Bitcoin's default mempool of 300 MB holds fewer. */
const MAX_MEMPOOL_TXS = 400_000;
/** Unspent outputs one scan may find. */
const MAX_UNSPENTS = 100_000;
const ZERO_HASH = "0".repeat(64);

const bad = (detail: string): Result<never, BadAnswer> => err({ detail });

type Fields = { readonly [key: string]: unknown };
const fieldsOf = (value: unknown): Fields | null =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : null;

const isHash = (value: unknown): value is string => typeof value === "string" && /^[0-9a-f]{64}$/.test(value);
const isHeight = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MAX_HEIGHT;

/** A block or transaction hash, display order. */
export const parseHash: AnswerParser<string> = (value) => (isHash(value) ? ok(value) : bad("not a hash"));

export type HeaderAnswer = { readonly hash: string; readonly height: number; readonly prevHash: string; readonly timeSec: number };

/** `getblockheader <hash>` or `getblock <hash>`; the first block has no `previousblockhash`. */
export const parseHeader: AnswerParser<HeaderAnswer> = (value) => {
  const f = fieldsOf(value);
  if (f === null) return bad("not an object");
  if (!isHash(f.hash) || !isHeight(f.height)) return bad("no hash or height");
  if (typeof f.time !== "number" || !Number.isInteger(f.time) || f.time < 0 || f.time > 0xffffffff) return bad("no time");
  const prevHash = f.previousblockhash ?? (f.height === 0 ? ZERO_HASH : undefined);
  if (!isHash(prevHash)) return bad("no previous hash");
  return ok({ hash: f.hash, height: f.height, prevHash, timeSec: f.time });
};

/** Peers of a daemon looked at. */
const MAX_PEERS = 1_000;

/** `getpeerinfo`: numbers of the peers that keep all blocks (service bit `NODE_NETWORK`; by name since Bitcoin Core 0.19). */
export const parseFullPeers: AnswerParser<readonly number[]> = (value) => {
  if (!Array.isArray(value)) return bad("not a list");
  return ok(
    value.slice(0, MAX_PEERS).flatMap((peer: unknown) => {
      const f = fieldsOf(peer);
      const isFull = Array.isArray(f?.servicesnames) && f.servicesnames.includes("NETWORK");
      return isFull && Number.isSafeInteger(f?.id) ? [Number(f?.id)] : [];
    }),
  );
};

function parseHexBytes(value: unknown, maxBytes: number): Result<Uint8Array, BadAnswer> {
  if (typeof value !== "string" || value.length === 0 || value.length % 2 !== 0) return bad("not hex");
  if (value.length > 2 * maxBytes) return bad("too large");
  const bytes = Buffer.from(value, "hex");
  return bytes.length * 2 === value.length ? ok(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)) : bad("not hex");
}

export const parseRawBlock: AnswerParser<Uint8Array> = (value) => parseHexBytes(value, MAX_BLOCK_BYTES);
export const parseRawTx: AnswerParser<Uint8Array> = (value) => parseHexBytes(value, MAX_TX_BYTES);

/** `getrawmempool`: txids. What `isKnown` was one in an earlier answer. */
export const parseMempool = (value: unknown, isKnown: (id: string) => boolean = () => false): Result<readonly string[], BadAnswer> => {
  if (!Array.isArray(value)) return bad("not a list");
  if (value.length > MAX_MEMPOOL_TXS) return bad(`more than ${MAX_MEMPOOL_TXS} transactions`);
  const txids: string[] = [];
  for (const id of value) {
    if (typeof id !== "string" || !(isKnown(id) || isHash(id))) return bad("not a list of txids");
    txids.push(id);
  }
  return ok(txids);
};

/** `estimatesmartfee` (`feerate`) or `estimatefee` (a bare number); null when there is no estimate. */
export function parseFeeRate(value: unknown, decimals: number): Result<bigint | null, BadAnswer> {
  const f = fieldsOf(value);
  const rate = f === null ? value : f.feerate;
  if (rate === undefined || rate === null) return ok(null);
  if ((typeof rate === "number" || typeof rate === "string") && Number(rate) <= 0) return ok(null);
  return parseAmount(rate, decimals, "up");
}

/** One fee field of an info answer; null where the daemon does not have it. */
export function parseFeeField(field: string, decimals: number): AnswerParser<bigint | null> {
  return (value) => {
    const f = fieldsOf(value);
    if (f === null) return bad("not an object");
    return f[field] === undefined ? ok(null) : parseAmount(f[field], decimals, "up");
  };
}

/** The last notarized block. `hash`: null where the daemon names none. */
export type Notarized = { readonly height: number; readonly hash: string | null };

const NO_HASH = "0".repeat(64);

/** `getinfo` of the KMD family; null on other chains. */
export const parseNotarized: AnswerParser<Notarized | null> = (value) => {
  const f = fieldsOf(value);
  if (f === null) return bad("not an object");
  if (f.notarized === undefined) return ok(null);
  if (!isHeight(f.notarized)) return bad("no notarized height");
  const hash = isHash(f.notarizedhash) && f.notarizedhash !== NO_HASH ? f.notarizedhash : null;
  return ok({ height: f.notarized, hash });
};

export type Unspent = {
  readonly txid: string;
  readonly vout: number;
  readonly script: string;
  readonly value: bigint;
  readonly height: number;
  /** Undefined where the daemon does not say. */
  readonly coinbase: boolean | undefined;
};
export type UtxoScan = { readonly height: number; readonly bestBlock: string; readonly unspents: readonly Unspent[] };

function parseUnspent(value: unknown, decimals: number): Result<Unspent, BadAnswer> {
  const f = fieldsOf(value);
  if (f === null || !isHash(f.txid) || !isHeight(f.vout) || !isHeight(f.height)) return bad("not an unspent output");
  if (typeof f.scriptPubKey !== "string" || !/^([0-9a-f]{2})+$/.test(f.scriptPubKey)) return bad("no script");
  const value_ = parseAmount(f.amount, decimals, "exact");
  if (!value_.ok) return value_;
  const coinbase = typeof f.coinbase === "boolean" ? f.coinbase : undefined;
  return ok({ txid: f.txid, vout: f.vout, script: f.scriptPubKey, value: value_.value, height: f.height, coinbase });
}

/** `scantxoutset start …`. Daemons that do not name the block they scanned at (before 0.18) are refused. */
export function parseUtxoScan(decimals: number): AnswerParser<UtxoScan> {
  return (value) => {
    const f = fieldsOf(value);
    if (f === null || f.success !== true || !Array.isArray(f.unspents)) return bad("no finished scan");
    if (!isHeight(f.height) || !isHash(f.bestblock)) return bad("the scan does not name its block");
    if (f.unspents.length > MAX_UNSPENTS) return bad(`more than ${MAX_UNSPENTS} outputs`);
    const unspents: Unspent[] = [];
    for (const u of f.unspents) {
      const parsed = parseUnspent(u, decimals);
      if (!parsed.ok) return parsed;
      unspents.push(parsed.value);
    }
    return ok({ height: f.height, bestBlock: f.bestblock, unspents });
  };
}

/** `gettxout`: null when the output is spent or unknown. */
export const parseTxOut: AnswerParser<{ readonly coinbase: boolean } | null> = (value) => {
  if (value === null) return ok(null);
  const f = fieldsOf(value);
  return f !== null && typeof f.coinbase === "boolean" ? ok({ coinbase: f.coinbase }) : bad("not an output");
};

/** `decodescript`: the address of a script with one. */
export const parseScriptAddress: AnswerParser<string> = (value) => {
  const f = fieldsOf(value);
  const list = Array.isArray(f?.addresses) ? f.addresses : [f?.address];
  const address: unknown = list[0];
  return list.length === 1 && typeof address === "string" && address.length <= 128 ? ok(address) : bad("no single address");
};

/** Entries of one `searchrawtransactions … 1` page: transaction and block (null = mempool). */
export type FoundTx = { readonly raw: Uint8Array; readonly blockHash: string | null };
/** Entries asked for per page. */
export const SEARCH_PAGE = 100;

export const parseFoundTxs: AnswerParser<readonly FoundTx[]> = (value) => {
  if (!Array.isArray(value) || value.length > SEARCH_PAGE) return bad("not a page of transactions");
  const found: FoundTx[] = [];
  for (const entry of value) {
    const f = fieldsOf(entry);
    const raw = parseRawTx(f?.hex);
    if (!raw.ok) return raw;
    const blockHash = f?.blockhash;
    if (blockHash !== undefined && blockHash !== "" && !isHash(blockHash)) return bad("no block hash");
    found.push({ raw: raw.value, blockHash: isHash(blockHash) ? blockHash : null });
  }
  return ok(found);
};
