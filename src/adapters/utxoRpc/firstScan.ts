import { type Facts, FactsBuilder } from "../../chainIndex/factsBuilder.ts";
import { type RawTx, rawTxid } from "../../chainIndex/rawTx.ts";
import { fromHex } from "../../core/util/bytes.ts";
import { err, ok } from "../../core/util/result.ts";
import { PEG_OUT_CONFS } from "../../core/utxo/tx.ts";
import { parseTx, type TxFormat } from "../../core/utxo/txCodec.ts";
import type { BlockRef } from "../../ports/chain.ts";
import type { StoredOutput, StoredTx, StoredWatch } from "../../ports/chainStore.ts";
import {
  type FoundTx,
  parseFoundTxs,
  parseHash,
  parseScriptAddress,
  parseUtxoScan,
  SEARCH_PAGE,
  type Unspent,
  type UtxoScan,
} from "./answers.ts";
import type { Answer, DaemonCalls } from "./daemonCalls.ts";
import type { SyncContext } from "./syncContext.ts";

/** Reading the whole UTXO set of a large chain takes minutes. */
const SCAN_TIMEOUT_MS = 30 * 60_000;
/** Transactions of one script taken from an address index; with more, blocks are read instead. */
const MAX_SEARCH_PAGES = 500;

/** RPC_INVALID_PARAMETER: the daemon runs one scan at a time, and another client has it. */
const SCAN_IN_PROGRESS = -8;
/** RPC_INVALID_ADDRESS_OR_KEY: an address without transactions, or the end of its list. */
const NO_TRANSACTIONS = -5;

/** What a first scan found: everything up to and with block `at`. `read` builds the facts once the index has reached that block. */
export type FirstScan = { readonly at: BlockRef; readonly read: (ctx: SyncContext) => Facts };

/**
 * Finds what old blocks hold for scripts without a birthday, without reading those blocks. Null: this daemon cannot.
 * First the UTXO set (`scantxoutset`, Bitcoin Core 0.18 and later: present outputs only), then the address index
 * (`searchrawtransactions`, btcd and some forks: the whole history).
 */
export async function firstScan(
  ctx: SyncContext,
  watches: readonly StoredWatch[],
  format: TxFormat,
  decimals: number,
): Promise<Answer<FirstScan | null>> {
  const scripts = watches.map((w) => w.key);
  const fromSet = await scanUtxoSet(ctx.calls, scripts, format, decimals);
  if (!fromSet.ok || fromSet.value !== null) return fromSet;
  return searchTransactions(ctx, scripts, format);
}

/** A refusal or a strange answer means "cannot", only a lost connection is a failure. */
const cannot = (answer: { readonly error: { readonly kind: string } }): boolean =>
  answer.error.kind === "rpc" || answer.error.kind === "bad_answer";

async function scanUtxoSet(
  calls: DaemonCalls,
  scripts: readonly string[],
  format: TxFormat,
  decimals: number,
): Promise<Answer<FirstScan | null>> {
  const wanted = scripts.map((hex) => `raw(${hex})`);
  const scan = await calls.ask("scantxoutset", ["start", wanted], parseUtxoScan(decimals), { timeoutMs: SCAN_TIMEOUT_MS });
  if (!scan.ok && scan.error.kind === "rpc" && scan.error.code === SCAN_IN_PROGRESS)
    return err({ kind: "busy", message: scan.error.message });
  if (!scan.ok) return cannot(scan) ? ok(null) : scan;
  const { unspents, height, bestBlock } = scan.value;
  const heights = [...new Set(unspents.map((u) => u.height))];
  const hashes = new Map<number, string>();
  const answers = await calls.askMany(
    "getblockhash",
    heights.map((h) => [h]),
    parseHash,
  );
  for (const [i, h] of heights.entries()) {
    const hash = answers[i];
    if (!hash?.ok) return hash ?? err({ kind: "moved" });
    hashes.set(h, hash.value);
  }
  const pegOuts = await findPegOuts(calls, scan.value, hashes, format);
  if (!pegOuts.ok) return pegOuts;
  const outputs: StoredOutput[] = [];
  for (const u of unspents) {
    const isKnown = pegOuts.value.has(u.txid) ? true : u.coinbase;
    const coinbase = isKnown === undefined ? await coinbaseOf(calls, u) : ok(isKnown);
    if (!coinbase.ok) return coinbase;
    outputs.push({ txid: u.txid, vout: u.vout, value: u.value, script: fromHex(u.script), coinbase: coinbase.value });
  }
  const read = (ctx: SyncContext): Facts => {
    const seenAtMs = ctx.clock.nowMs();
    const txs = unspents.map(
      (u): StoredTx => ({
        txid: u.txid,
        raw: pegOuts.value.get(u.txid) ?? null,
        block: { height: u.height, hash: hashes.get(u.height) ?? "" },
        seenAtMs,
      }),
    );
    const fresh = outputs.filter((o) => ctx.index.hasScript(Buffer.from(o.script).toString("hex")));
    return { txs: txs.filter((t) => fresh.some((o) => o.txid === t.txid)), outputs: fresh, spends: [] };
  };
  return ok({ at: { height, hash: bestBlock }, read });
}

/**
 * What Litecoin's extension block paid so lately that it cannot be spent yet: a daemon's set of unspent outputs does not tell it from what others paid.
 * @returns the bytes of these transactions by their ids
 */
async function findPegOuts(
  calls: DaemonCalls,
  { unspents, height }: UtxoScan,
  hashes: ReadonlyMap<number, string>,
  format: TxFormat,
): Promise<Answer<ReadonlyMap<string, Uint8Array>>> {
  const found = new Map<string, Uint8Array>();
  if (format.kind !== "bitcoin" || !format.mweb) return ok(found);
  const young = new Map(unspents.filter((u) => height - u.height + 1 < PEG_OUT_CONFS).map((u) => [u.txid, u.height]));
  for (const [txid, at] of young) {
    const raw = await calls.rawTxIn(txid, hashes.get(at) ?? "");
    if (!raw.ok) return raw;
    // Its block is gone, or it is: the next scan tells.
    const tx = raw.value && parseTx(raw.value, format);
    if (!tx?.ok || !raw.value) return err({ kind: "moved" });
    if (tx.value.hogEx) found.set(txid, raw.value);
  }
  return ok(found);
}

/** An output spent meanwhile counts as plain: the blocks after the scan tell the rest. */
async function coinbaseOf(calls: DaemonCalls, u: Unspent): Promise<Answer<boolean>> {
  const out = await calls.txOut(u.txid, u.vout);
  return out.ok ? ok(out.value?.coinbase ?? false) : out;
}

async function searchTransactions(ctx: SyncContext, scripts: readonly string[], format: TxFormat): Promise<Answer<FirstScan | null>> {
  const { calls, index } = ctx;
  const at = index.tipHeader;
  if (at === undefined) return err({ kind: "moved" });
  const found: FoundTx[] = [];
  for (const script of scripts) {
    const answer = await searchScript(calls, script);
    if (!answer.ok || answer.value === null) return cannotOr(answer);
    found.push(...answer.value);
  }
  const blocks = new Map<string, { readonly ref: BlockRef; readonly txs: Map<string, RawTx> }>();
  for (const { raw, blockHash } of found) {
    if (blockHash === null) continue;
    let block = blocks.get(blockHash);
    if (block === undefined) {
      const header = await calls.header(blockHash);
      if (!header.ok) return header;
      block = { ref: { height: header.value.height, hash: blockHash }, txs: new Map() };
      blocks.set(blockHash, block);
    }
    const parsed = parseTx(raw, format);
    if (!parsed.ok) return err({ kind: "bad_answer", method: "searchrawtransactions", detail: parsed.error.detail });
    const txid = rawTxid(parsed.value, raw);
    block.txs.set(txid, { txid, tx: parsed.value, raw });
  }
  const ascending = [...blocks.values()].filter((b) => b.ref.height <= at.height).sort((a, b) => a.ref.height - b.ref.height);
  const read = (later: SyncContext): Facts => {
    const facts = new FactsBuilder(later.index, later.clock.nowMs());
    for (const { ref, txs } of ascending) facts.add([...txs.values()], ref);
    return facts.facts();
  };
  return ok({ at: { height: at.height, hash: at.hash }, read });
}

const cannotOr = <T>(answer: Answer<T | null>): Answer<null> => (answer.ok ? ok(null) : cannot(answer) ? ok(null) : answer);

/** All transactions of one script's address, or null without an address index (or beyond its bound). */
async function searchScript(calls: DaemonCalls, script: string): Promise<Answer<readonly FoundTx[] | null>> {
  const address = await calls.ask("decodescript", [script], parseScriptAddress);
  if (!address.ok) return cannotOr(address);
  const found: FoundTx[] = [];
  for (let page = 0; page < MAX_SEARCH_PAGES; page++) {
    const params = [address.value, 1, page * SEARCH_PAGE, SEARCH_PAGE];
    const answer = await calls.ask("searchrawtransactions", params, parseFoundTxs);
    if (!answer.ok && answer.error.kind === "rpc" && answer.error.code === NO_TRANSACTIONS) return ok(found);
    if (!answer.ok) return cannotOr(answer);
    found.push(...answer.value);
    if (answer.value.length < SEARCH_PAGE) return ok(found);
  }
  return ok(null);
}
