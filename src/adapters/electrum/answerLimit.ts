import { MAX_HEADERS_BYTES } from "../../core/proof/blockHeader.ts";
import { MAX_TX_BYTES } from "./answers.ts";

/** What stands around a result, and any answer of a few hashes and numbers. */
const PLAIN = 100_000;
/** One header: that of a merge-mined block brings a transaction and two branches. A message nobody asked for may hold one. */
const ONE_HEADER = 2_000_000;
/** One of several: twice what the longest without such a proof takes (Equihash (200,9), core/proof/blockHeader.ts). */
const EACH_HEADER = 6_000;
/** A list that whoever likes can make longer, and a transaction with all that a daemon says of it. */
const LONGEST = 10_000_000;

/** A line of a history, several times over: a height, an id and a fee. */
const EACH_LINE = 1_000;

/** Longest line read, whatever was asked: room for the longest answer there is. */
export const MAX_LINE = LONGEST;
/** Longest line read while nothing is asked. */
export const MAX_NOTICE = ONE_HEADER;

/**
 * Longest answer to a call, characters of the whole line: a server must not make this node hold megabytes where some bytes are asked
 * for. Refusals count like results, and ElectrumX's to a broadcast repeats the transaction.
 */
export function answerLimit(method: string, params: readonly unknown[]): number {
  switch (method) {
    case "blockchain.block.header":
    case "blockchain.headers.subscribe":
      return ONE_HEADER;
    case "blockchain.block.headers":
      return Math.min(ONE_HEADER + Number(params[1] ?? 0) * EACH_HEADER, PLAIN + 2 * MAX_HEADERS_BYTES);
    case "blockchain.transaction.get":
      return params[1] === true ? LONGEST : PLAIN + 2 * MAX_TX_BYTES;
    case "blockchain.scripthash.get_history":
    case "blockchain.scripthash.listunspent":
    case "blockchain.scripthash.get_mempool":
      return LONGEST;
    default:
      return PLAIN + params.reduce((sum: number, p) => sum + (typeof p === "string" ? p.length : 0), 0);
  }
}

/**
 * Whether a history is longer than its lines make it: how often it is asked for again goes by these, and megabytes around a few of them, asked for
 * at each change, keep this node busy.
 */
export function isPadded(method: string, result: unknown, chars: number): boolean {
  const isHistory = method === "blockchain.scripthash.get_history" || method === "blockchain.scripthash.get_mempool";
  return isHistory && Array.isArray(result) && chars > PLAIN + result.length * EACH_LINE;
}
