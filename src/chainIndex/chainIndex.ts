import { toHex } from "../core/util/bytes.ts";
import type { ChainChange, ChainTip, SeenOutput, SeenTx } from "../ports/chain.ts";
import {
  type ChainDelta,
  type ChainSnapshot,
  type StoredHeader,
  type StoredOutput,
  type StoredSpend,
  type StoredTx,
  type StoredWatch,
  unreadWatch,
  type WatchKey,
} from "../ports/chainStore.ts";
import { MEDIAN_SPAN, medianTime } from "./medianTime.ts";
import { outKey } from "./outKey.ts";

/** Deeper than this a spend counts as settled for good, and the spent output may leave memory. */
const SETTLED_DEPTH = 200;
/** Spent, settled outputs kept in memory per script; a swap's script never has that many. Older ones stay on disk. */
const SPENT_KEPT_PER_SCRIPT = 100;

type OutputEntry = {
  readonly output: StoredOutput;
  readonly scriptHex: string;
  readonly spenders: string[];
  /** The last answer about it: a wallet has hundreds of outputs, and a block changes few of them. */
  seen: SeenOutput | null;
};

const hasBytes = (tx: StoredTx): tx is StoredTx & SeenTx => tx.raw !== null;

function addTo<K, V>(map: Map<K, Set<V>>, key: K, value: V): void {
  const set = map.get(key);
  if (set === undefined) map.set(key, new Set([value]));
  else set.add(value);
}

/**
 * The mirror in memory of one coin's store: the same deltas, applied after the store has them. Reads are
 * synchronous. Bounded by what is watched: unspent outputs, spent ones as stated above, their transactions.
 */
export class ChainIndex {
  readonly #scripts = new Map<string, StoredWatch>();
  readonly #txWatches = new Map<string, StoredWatch>();
  readonly #txs = new Map<string, StoredTx>();
  readonly #outputs = new Map<string, OutputEntry>();
  readonly #byScript = new Map<string, Set<string>>();
  readonly #created = new Map<string, Set<string>>();
  readonly #spent = new Map<string, Set<string>>();
  readonly #unconfirmed = new Set<string>();
  /** Watches still to be covered by reading blocks. */
  readonly #pending = new Map<string, StoredWatch>();
  /** The same as a list, until it changes. */
  #pendingList: readonly StoredWatch[] | null = null;
  /** Answers of `outputsOf` until something of the script changes. */
  readonly #answers = new Map<string, readonly SeenOutput[]>();
  /** Scripts and transactions of which the delta being applied took something away. */
  readonly #taken = new Set<string>();
  #headers: StoredHeader[] = [];
  #tip: ChainTip | null = null;
  #isTold = false;

  constructor(snapshot: ChainSnapshot) {
    this.apply({
      isTold: snapshot.isTold,
      headers: snapshot.headers,
      txs: snapshot.txs,
      outputs: snapshot.outputs,
      spends: snapshot.spends,
      watches: snapshot.watches,
    });
  }

  /** Whether what is covered rests on what servers told of it. */
  get isTold(): boolean {
    return this.#isTold;
  }

  get tipHeader(): StoredHeader | undefined {
    return this.#headers.at(-1);
  }

  /** Lowest height whose header is still known. */
  get windowBottom(): number {
    return this.#headers[0]?.height ?? 0;
  }

  headerAt(height: number): StoredHeader | undefined {
    return this.#headers[height - this.windowBottom];
  }

  /** Height of a block of the chain that is followed, as far back as headers are kept. */
  heightOf(hash: string): number | undefined {
    return this.#headers.findLast((h) => h.hash === hash)?.height;
  }

  tip(): ChainTip | null {
    const last = this.tipHeader;
    if (last === undefined) return null;
    if (this.#tip?.hash !== last.hash) {
      const medianTimePastSec = medianTime(this.#headers.slice(-MEDIAN_SPAN).map((h) => h.timeSec));
      this.#tip = { height: last.height, hash: last.hash, timeSec: last.timeSec, medianTimePastSec };
    }
    return this.#tip;
  }

  watch(key: WatchKey): StoredWatch | undefined {
    return (key.kind === "script" ? this.#scripts : this.#txWatches).get(key.key);
  }

  watches(): StoredWatch[] {
    return [...this.#scripts.values(), ...this.#txWatches.values()];
  }

  /** The same list until one of them changes. */
  pendingWatches(): readonly StoredWatch[] {
    this.#pendingList ??= [...this.#pending.values()];
    return this.#pendingList;
  }

  hasScript(scriptHex: string): boolean {
    return this.#scripts.has(scriptHex);
  }

  hasOutput(key: string): boolean {
    return this.#outputs.has(key);
  }

  /** The script of a known output, hex. @param key of the output */
  scriptOf(key: string): string | undefined {
    return this.#outputs.get(key)?.scriptHex;
  }

  /** @param key of an output */
  hasSpend(key: string, spender: string): boolean {
    return this.#outputs.get(key)?.spenders.includes(spender) ?? false;
  }

  isTxWatched(txid: string): boolean {
    return this.#txWatches.has(txid);
  }

  txEntry(txid: string): StoredTx | undefined {
    return this.#txs.get(txid);
  }

  /** Ids of known transactions that are in no block. */
  unconfirmed(): readonly string[] {
    return [...this.#unconfirmed];
  }

  /** Known transactions in blocks above `height`. */
  txsAbove(height: number): { readonly txid: string; readonly height: number }[] {
    return [...this.#txs.values()].flatMap(({ txid, block }) => (block && block.height > height ? [{ txid, height: block.height }] : []));
  }

  /** Coinbase transactions above `height`: a reorg ends them for good. */
  coinbasesAbove(height: number): string[] {
    const found: string[] = [];
    for (const { output } of this.#outputs.values()) {
      const block = this.#txs.get(output.txid)?.block;
      if (output.coinbase && block && block.height > height && !found.includes(output.txid)) found.push(output.txid);
    }
    return found;
  }

  tx(txid: string): SeenTx | undefined {
    const entry = this.#txs.get(txid);
    return entry && hasBytes(entry) ? entry : undefined;
  }

  outputsOf(scriptHex: string): readonly SeenOutput[] {
    const known = this.#answers.get(scriptHex);
    if (known) return known;
    const keys = this.#byScript.get(scriptHex);
    if (!keys) return [];
    const seen: SeenOutput[] = [];
    for (const key of keys) {
      const entry = this.#outputs.get(key);
      const made = entry && this.#txs.get(entry.output.txid);
      if (entry && made) seen.push(this.#seen(entry, made));
    }
    this.#answers.set(scriptHex, seen);
    return seen;
  }

  #seen(entry: OutputEntry, made: StoredTx): SeenOutput {
    const { seen } = entry;
    const spender = this.#spender(entry);
    if (seen?.block === made.block && seen.spentBy?.txid === spender?.txid && seen.spentBy?.block === spender?.block) return seen;
    const spentBy = spender ? { txid: spender.txid, block: spender.block } : null;
    entry.seen = { ...entry.output, block: made.block, spentBy };
    return entry.seen;
  }

  /** The one in a block, else the first seen in the mempool. */
  #spender(entry: OutputEntry): StoredTx | undefined {
    let first: StoredTx | undefined;
    for (const txid of entry.spenders) {
      const spender = this.#txs.get(txid);
      if (spender?.block) return spender;
      first ??= spender;
    }
    return first;
  }

  /** @returns what the reads may answer otherwise now */
  apply(delta: ChainDelta): ChainChange {
    const keys = new Set<string>();
    this.#taken.clear();
    for (const txid of delta.gone ?? []) this.#nameTx(txid, keys);
    if (delta.reset) this.#reset();
    if (delta.rollbackTo !== undefined) this.#rollback(delta.rollbackTo);
    for (const txid of delta.gone ?? []) this.#dropTx(txid);
    if (delta.headers) this.#headers.push(...delta.headers);
    const bottom = delta.dropHeadersBelow;
    if (bottom !== undefined) this.#headers.splice(0, Math.max(0, bottom - this.windowBottom));
    for (const tx of delta.txs ?? []) this.#putTx(tx);
    const touched = new Set<string>();
    for (const output of delta.outputs ?? []) touched.add(this.#putOutput(output));
    for (const spend of delta.spends ?? []) this.#putSpend(spend, touched);
    for (const w of delta.watches ?? []) this.#putWatch(w);
    for (const key of delta.unwatch ?? []) this.#unwatch(key);
    this.#isTold = delta.isTold ?? this.#isTold;
    if (this.#settles(delta)) for (const scriptHex of touched) this.#dropSettled(scriptHex);
    for (const { txid } of delta.txs ?? []) this.#nameTx(txid, keys);
    for (const key of [...touched, ...this.#taken, ...(delta.watches ?? []).map((w) => w.key), ...(delta.unwatch ?? []).map((w) => w.key)])
      keys.add(key);
    const all = delta.reset === true || delta.rollbackTo !== undefined || (delta.headers?.length ?? 0) > 0;
    if (delta.reset === true || delta.rollbackTo !== undefined) this.#answers.clear();
    else for (const key of keys) this.#answers.delete(key);
    return { all, keys };
  }

  /** Adds a transaction and the scripts it pays and spends. */
  #nameTx(txid: string, keys: Set<string>): void {
    keys.add(txid);
    for (const outs of [this.#created.get(txid), this.#spent.get(txid)]) {
      for (const key of outs ?? []) {
        const entry = this.#outputs.get(key);
        if (entry) keys.add(entry.scriptHex);
      }
    }
  }

  #putWatch(w: StoredWatch): void {
    (w.kind === "script" ? this.#scripts : this.#txWatches).set(w.key, w);
    const id = `${w.kind}:${w.key}`;
    this.#pendingList = null;
    if (w.nextHeight === null) this.#pending.delete(id);
    else this.#pending.set(id, w);
  }

  #reset(): void {
    this.#headers = [];
    for (const map of [this.#txs, this.#outputs, this.#byScript, this.#created, this.#spent, this.#unconfirmed]) map.clear();
    for (const w of this.watches()) this.#putWatch(unreadWatch(w));
  }

  #rollback(height: number): void {
    this.#headers = this.#headers.filter((h) => h.height <= height);
    for (const tx of this.#txs.values()) if (tx.block && tx.block.height > height) this.#putTx({ ...tx, block: null });
  }

  #putTx(tx: StoredTx): void {
    const known = this.#txs.get(tx.txid);
    this.#txs.set(tx.txid, known ? { ...tx, raw: tx.raw ?? known.raw, seenAtMs: known.seenAtMs } : tx);
    if (tx.block) this.#unconfirmed.delete(tx.txid);
    else this.#unconfirmed.add(tx.txid);
  }

  #putOutput(output: StoredOutput): string {
    const key = outKey(output);
    const { scriptHex, script } = this.#shared(output.script);
    if (!this.#outputs.has(key)) {
      this.#outputs.set(key, { output: { ...output, script }, scriptHex, spenders: [], seen: null });
      addTo(this.#byScript, scriptHex, key);
      addTo(this.#created, output.txid, key);
    }
    return scriptHex;
  }

  /** A script as another output of it has it: a wallet has thousands that pay the same, and bytes of one's own cost five times their length. */
  #shared(script: Uint8Array): { readonly scriptHex: string; readonly script: Uint8Array } {
    const scriptHex = toHex(script);
    const [key] = this.#byScript.get(scriptHex) ?? [];
    const entry = key === undefined ? undefined : this.#outputs.get(key);
    return entry ? { scriptHex: entry.scriptHex, script: entry.output.script } : { scriptHex, script };
  }

  #putSpend(spend: StoredSpend, touched: Set<string>): void {
    const key = outKey(spend);
    const entry = this.#outputs.get(key);
    if (entry === undefined || entry.spenders.includes(spend.spender)) return;
    entry.spenders.push(spend.spender);
    addTo(this.#spent, spend.spender, key);
    touched.add(entry.scriptHex);
  }

  #dropOutput(key: string): void {
    const entry = this.#outputs.get(key);
    if (entry === undefined) return;
    this.#outputs.delete(key);
    this.#taken.add(entry.scriptHex);
    this.#byScript.get(entry.scriptHex)?.delete(key);
    this.#created.get(entry.output.txid)?.delete(key);
    for (const spender of entry.spenders) {
      this.#spent.get(spender)?.delete(key);
      this.#dropIfOrphan(spender);
    }
    this.#dropIfOrphan(entry.output.txid);
  }

  #dropTx(txid: string): void {
    for (const key of this.#spent.get(txid) ?? []) {
      const entry = this.#outputs.get(key);
      if (entry) entry.spenders.splice(entry.spenders.indexOf(txid), 1);
    }
    this.#spent.delete(txid);
    for (const key of [...(this.#created.get(txid) ?? [])]) this.#dropOutput(key);
    this.#forgetTx(txid);
  }

  #dropIfOrphan(txid: string): void {
    const inUse = this.#txWatches.has(txid) || this.#created.get(txid)?.size || this.#spent.get(txid)?.size;
    if (!inUse) this.#forgetTx(txid);
  }

  #forgetTx(txid: string): void {
    this.#txs.delete(txid);
    this.#taken.add(txid);
    this.#created.delete(txid);
    this.#spent.delete(txid);
    this.#unconfirmed.delete(txid);
  }

  #unwatch({ kind, key }: WatchKey): void {
    this.#pendingList = null;
    this.#pending.delete(`${kind}:${key}`);
    if (kind === "tx") {
      this.#txWatches.delete(key);
      this.#dropIfOrphan(key);
      return;
    }
    this.#scripts.delete(key);
    for (const out of [...(this.#byScript.get(key) ?? [])]) this.#dropOutput(out);
    this.#byScript.delete(key);
  }

  /** Spends at this height or below are settled. */
  get settledHeight(): number {
    return (this.tipHeader?.height ?? 0) - SETTLED_DEPTH;
  }

  /** Whether spends may be settled with a delta that were not before: at a new block, or where old ones are read. */
  #settles({ headers = [], txs = [] }: ChainDelta): boolean {
    return headers.length > 0 || txs.some(({ block }) => block !== null && block.height <= this.settledHeight);
  }

  #dropSettled(scriptHex: string): void {
    const keys = this.#byScript.get(scriptHex);
    const settled = this.settledHeight;
    if (keys === undefined || keys.size <= SPENT_KEPT_PER_SCRIPT) return;
    const spent: { readonly key: string; readonly height: number }[] = [];
    for (const key of keys) {
      const entry = this.#outputs.get(key);
      const height = entry && this.#spender(entry)?.block?.height;
      if (height !== undefined && height <= settled) spent.push({ key, height });
    }
    spent.sort((a, b) => a.height - b.height);
    for (const { key } of spent.slice(0, Math.max(0, spent.length - SPENT_KEPT_PER_SCRIPT))) this.#dropOutput(key);
  }
}
