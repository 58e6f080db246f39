import { fromUnits, type Rational, ZERO } from "../../core/money/rational.ts";
import { equalBytes } from "../../core/util/bytes.ts";
import { type AddressRules, scriptToAddress } from "../../core/utxo/address.ts";
import { spentScript } from "../../core/utxo/spentScript.ts";
import type { Tx } from "../../core/utxo/tx.ts";
import { parseTx, type TxFormat } from "../../core/utxo/txCodec.ts";
import type { BlockRef, UtxoChainWithHistory } from "../../ports/chain.ts";
import type { StoredOutput, StoredTx } from "../../ports/chainStore.ts";
import { type Clock, mapInTurns } from "../../ports/clock.ts";

/** A transaction of the wallet. Amounts in whole coins. */
export type HistoryTx = {
  readonly txid: string;
  readonly raw: Uint8Array;
  readonly from: readonly string[];
  readonly to: readonly string[];
  /** Sum of the inputs; of the outputs where an input is not the wallet's, whose value its bytes do not tell. */
  readonly total: Rational;
  readonly spentByMe: Rational;
  readonly receivedByMe: Rational;
  /** Null: others paid it, and how much their bytes do not tell. */
  readonly fee: Rational | null;
  readonly block: BlockRef | null;
  /** Of its block; when the node first saw it, where there is none or the backend does not say. Unix seconds. */
  readonly timeSec: number;
  readonly confirmations: number;
};

export type HistoryPage = {
  /** Unconfirmed first, then newest block first. */
  readonly txs: readonly HistoryTx[];
  /** Before the page, and of all. */
  readonly skipped: number;
  readonly total: number;
};

/** Where a page begins: behind a transaction, or at a number, from 1 on. */
export type PageStart = { readonly kind: "after"; readonly txid: string } | { readonly kind: "page"; readonly number: number };

/** Null: there is no such transaction to begin behind. */
export type ReadHistory = (start: PageStart, limit: number, signal: AbortSignal) => Promise<HistoryPage | null>;

export type HistoryOf = {
  readonly chain: UtxoChainWithHistory;
  readonly clock: Clock;
  readonly scripts: readonly Uint8Array[];
  readonly format: TxFormat;
  readonly rules: AddressRules;
  readonly decimals: number;
};

type ShownTx = StoredTx & { readonly raw: Uint8Array };

/** Transactions read from the store at a time, and most of a history. */
const ROWS = 1_000;
const MAX_TXS = 100_000;
/** Blocks whose times are asked for at once: the backend may be far away, and what swaps ask it must not wait behind thousands. */
const TIMES_AT_ONCE = 20;
/** Transactions whose inputs are read at a time: a transaction of a megabyte has some 7,000, and the store gives 200,000 rows at most. */
const SPENDERS = 25;
/** Transactions described in one turn of the event loop: most take some 25 microseconds, one of hundreds of inputs milliseconds. */
const DESCRIBED_IN_TURN = 20;

/** Reads a page of the history of a coin's own scripts from its index. See `ReadHistory`. */
export async function readHistory(of: HistoryOf, start: PageStart, limit: number, signal: AbortSignal): Promise<HistoryPage | null> {
  const all = await of.chain.history(of.scripts, MAX_TXS);
  const skipped = start.kind === "page" ? Math.min(all.length, (start.number - 1) * limit) : all.indexOf(start.txid) + 1;
  if (start.kind === "after" && skipped === 0) return null;
  const page = await storedTxs(of, all.slice(skipped, skipped + limit));
  const own = await ownInputs(of, page);
  const times = await timesOf(of, page, signal);
  const describe = (stored: ShownTx): HistoryTx => {
    const time = stored.block && times.get(stored.block.hash);
    return described(of, own, stored, time ?? Math.floor(stored.seenAtMs / 1_000));
  };
  const txs = await mapInTurns(of.clock, page, DESCRIBED_IN_TURN, describe, signal);
  return { txs, skipped, total: all.length };
}

/** Times of the blocks of transactions, as far as the backend says them, unix seconds by hash. */
async function timesOf({ chain }: HistoryOf, txs: readonly StoredTx[], signal: AbortSignal): Promise<ReadonlyMap<string, number>> {
  const blocks = [...new Map(txs.flatMap(({ block }) => (block === null ? [] : [[block.hash, block] as const]))).values()];
  const times = new Map<string, number>();
  const work = async (): Promise<void> => {
    for (let block = blocks.pop(); block !== undefined && !signal.aborted; block = blocks.pop()) {
      const time = await chain.blockTimeSec(block, signal);
      if (time !== null) times.set(block.hash, time);
    }
  };
  await Promise.all(Array.from({ length: TIMES_AT_ONCE }, work));
  return times;
}

/** In the order of their ids. One that has left the chain meanwhile is left out. */
async function storedTxs({ chain }: HistoryOf, txids: readonly string[]): Promise<readonly ShownTx[]> {
  const found = new Map<string, ShownTx>();
  for (let from = 0; from < txids.length; from += ROWS) {
    for (const tx of await chain.storedTxs(txids.slice(from, from + ROWS))) if (tx.raw !== null) found.set(tx.txid, { ...tx, raw: tx.raw });
  }
  return txids.flatMap((id) => found.get(id) ?? []);
}

/** The own outputs that these transactions spend, by `txid:vout`. */
async function ownInputs({ chain, scripts }: HistoryOf, txs: readonly StoredTx[]): Promise<ReadonlyMap<string, StoredOutput>> {
  const own = new Map<string, StoredOutput>();
  for (let from = 0; from < txs.length; from += SPENDERS) {
    const spenders = txs.slice(from, from + SPENDERS).map((t) => t.txid);
    for (const output of await chain.spentOutputs(scripts, spenders)) own.set(`${output.txid}:${output.vout}`, output);
  }
  return own;
}

function described(of: HistoryOf, own: ReadonlyMap<string, StoredOutput>, stored: ShownTx, timeSec: number): HistoryTx {
  const { chain, scripts, format, rules, decimals } = of;
  const parsed = parseTx(stored.raw, format);
  if (!parsed.ok) throw new Error(`${chain.ticker}: a stored transaction does not parse: ${parsed.error.detail}`);
  const tx: Tx = parsed.value;
  const whole = (units: bigint): Rational => fromUnits(units, decimals);
  const spent = tx.inputs.map((i) => own.get(`${i.txid}:${i.vout}`));
  const spentByMe = spent.reduce((n, o) => n + (o?.value ?? 0n), 0n);
  const paid = tx.outputs.reduce((n, o) => n + o.value, 0n);
  const isOwn = (script: Uint8Array): boolean => scripts.some((s) => equalBytes(s, script));
  const received = tx.outputs.reduce((n, o) => n + (isOwn(o.script) ? o.value : 0n), 0n);
  const isAllOwn = spent.every((o) => o !== undefined);
  const from = tx.inputs.map((input, i) => spent[i]?.script ?? spentScript(input));
  return {
    txid: stored.txid,
    raw: stored.raw,
    from: addresses(from, rules),
    to: addresses(
      tx.outputs.map((o) => o.script),
      rules,
    ),
    total: whole(isAllOwn ? spentByMe : paid),
    spentByMe: whole(spentByMe),
    receivedByMe: whole(received),
    fee: isAllOwn && spentByMe >= paid ? whole(spentByMe - paid) : isAllOwn ? ZERO : null,
    block: stored.block,
    timeSec,
    confirmations: chain.confirmations(stored.block),
  };
}

function addresses(scripts: readonly (Uint8Array | null)[], rules: AddressRules): readonly string[] {
  return [...new Set(scripts.flatMap((script) => (script && scriptToAddress(script, rules)) ?? []))];
}
