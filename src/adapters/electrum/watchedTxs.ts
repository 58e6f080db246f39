import type { ChainIndex } from "../../chainIndex/chainIndex.ts";
import { FactsBuilder } from "../../chainIndex/factsBuilder.ts";
import { longSpent } from "../../chainIndex/longSpent.ts";
import type { RawTx } from "../../chainIndex/rawTx.ts";
import { toHex } from "../../core/util/bytes.ts";
import { dropOldest } from "../../core/util/dropOldest.ts";
import type { Tx } from "../../core/utxo/tx.ts";
import type { ChainDelta, ChainStore, StoredWatch } from "../../ports/chainStore.ts";
import type { Clock } from "../../ports/clock.ts";
import { parseRawTx } from "./answers.ts";
import { AskAgain } from "./askAgain.ts";
import { mostOf } from "./mostOf.ts";
import type { RemoteServer } from "./remoteServer.ts";
import type { ScriptViews, Tracked } from "./scriptViews.ts";
import { majorityOf, witnessesOf } from "./serverPool.ts";
import type { TxProver } from "./txProver.ts";

/** Outputs whose history may lead to the block of a transaction that is watched by its id. */
const MAX_HELPERS = 3;
/** Transactions remembered that were sent from here. */
const MAX_SENT = 1_000;
/** Characters of a script of those, in hex: what addresses and multisignature need. Others may have made the transaction. */
const MAX_SENT_SCRIPT = 1_040;
const OP_RETURN = 0x6a;

/**
 * Follows transactions by their ids. Servers find the block of a transaction only through the history of a script, so one that it
 * pays is followed until it is in a block: the last first, which is the change of most transactions and has a short history. The same
 * history tells when it appears. Only where its bytes are not known is it asked for by its id, less and less often.
 */
export class WatchedTxs {
  readonly #index: ChainIndex;
  readonly #store: Pick<ChainStore, "spentIn">;
  readonly #views: ScriptViews;
  readonly #prover: TxProver;
  readonly #clock: Clock;
  /** The scripts that may be followed for a transaction, and which one is. */
  readonly #helpers = new Map<string, { readonly scripts: readonly string[]; readonly at: number }>();
  /** The same of those that were sent from here, watched or not. */
  readonly #sent = new Map<string, readonly string[]>();
  /** Those of which most servers said lately what they know. */
  readonly #answered = new Set<string>();
  readonly #again = new AskAgain();

  constructor(index: ChainIndex, store: Pick<ChainStore, "spentIn">, views: ScriptViews, prover: TxProver, clock: Clock) {
    this.#index = index;
    this.#store = store;
    this.#views = views;
    this.#prover = prover;
    this.#clock = clock;
  }

  /** The bytes of a transaction: whoever watches for it needs to ask nobody for them. */
  sent(txid: string, tx: Tx): void {
    this.#sent.delete(txid);
    const scripts = helpersOf(tx).filter((script) => script.length <= MAX_SENT_SCRIPT);
    if (scripts.length > 0) this.#sent.set(txid, scripts);
    dropOldest(this.#sent, MAX_SENT);
  }

  /** Whether most servers said what they know of it since it was looked for last. */
  isAnswered(txid: string, servers: readonly RemoteServer[]): boolean {
    return this.#answered.has(txid) || this.#toldBy(txid, servers) >= majorityOf(servers.length);
  }

  /**
   * Looks for the watched transactions that are in no block of ours and begins to follow scripts for them.
   * @returns what is to be written: those that came up in the mempool
   */
  async look(watches: readonly StoredWatch[], servers: readonly RemoteServer[], nowMs: number): Promise<ChainDelta> {
    const seen: RawTx[] = [];
    // All at once: one server that answers late must not make each wait for the one before.
    await Promise.all(watches.map((watch) => this.#lookFor(watch, servers, seen, nowMs)));
    const builder = new FactsBuilder(this.#index, nowMs, await longSpent(this.#index, this.#store, seen));
    builder.add(seen, null);
    return builder.facts();
  }

  async #lookFor(watch: StoredWatch, servers: readonly RemoteServer[], seen: RawTx[], nowMs: number): Promise<void> {
    const entry = this.#index.txEntry(watch.key);
    if (entry?.raw && entry.block !== null) {
      this.#answered.add(watch.key);
      this.#again.forget(watch.key);
      this.#drop(watch.key, servers);
      return;
    }
    const own = entry?.raw ? this.#prover.read(entry.raw) : null;
    if (own !== null) this.#answered.add(watch.key);
    const scripts = this.#helpers.get(watch.key)?.scripts ?? (own === null ? this.#sent.get(watch.key) : helpersOf(own.tx));
    if (scripts !== undefined) this.#follow(watch, scripts, servers, nowMs);
    if (own !== null || this.#isFollowed(watch.key, servers) || !this.#again.isDue(watch.key, nowMs)) return;
    const tx = await this.#fetch(watch.key, servers, seen);
    if (tx !== null) this.#follow(watch, helpersOf(tx.tx), servers, nowMs);
    this.#again.refused(watch.key, nowMs);
  }

  /** Whether a history that is followed will tell of it: not where it pays nothing that can be followed, or most refuse to tell. */
  #isFollowed(txid: string, servers: readonly RemoteServer[]): boolean {
    const views = this.#viewsOf(txid);
    return views !== undefined && (views.size < majorityOf(servers.length) || this.#toldBy(txid, servers) >= majorityOf(servers.length));
  }

  /** How many tell the history that is followed for it. */
  #toldBy(txid: string, servers: readonly RemoteServer[]): number {
    return [...(this.#viewsOf(txid) ?? [])].filter(([server, { refusal }]) => refusal === null && servers.includes(server)).length;
  }

  /** The script that is followed for it; undefined: none yet. */
  scriptFor(txid: string): string | undefined {
    const known = this.#helpers.get(txid);
    return known?.scripts[known.at];
  }

  #viewsOf(txid: string): Tracked["views"] | undefined {
    return this.#views.get(this.scriptFor(txid) ?? "")?.views;
  }

  /** No longer watched. */
  forget(txid: string, servers: readonly RemoteServer[]): void {
    this.#answered.delete(txid);
    this.#again.forget(txid);
    this.#sent.delete(txid);
    this.#drop(txid, servers);
  }

  async #fetch(txid: string, servers: readonly RemoteServer[], seen: RawTx[]): Promise<ReturnType<TxProver["read"]>> {
    const asked = servers.map((s) => s.ask("blockchain.transaction.get", [txid], parseRawTx));
    const answers = await mostOf(this.#clock, asked);
    const having = answers.filter((a) => a?.ok).length;
    const without = answers.filter((a) => a?.ok === false && a.error.kind === "rpc").length;
    if (having + without >= majorityOf(servers.length)) this.#answered.add(txid);
    else this.#answered.delete(txid);
    const reads = answers.map((a) => (a?.ok ? this.#prover.read(a.value) : null));
    for (const [i, read] of reads.entries())
      if (read !== null && read.txid !== txid)
        servers[i]?.contradicted(`the bytes it gives for transaction ${txid} are not that transaction's`);
    const good = reads.filter((r) => r?.txid === txid);
    const [tx = null] = good;
    if (tx !== null && good.length >= witnessesOf(servers.length)) seen.push(tx);
    return tx;
  }

  /**
   * One script at a time; the next where servers refuse to tell of this one: popular ones have histories beyond their limits. After the
   * last the first again, some time later.
   */
  #follow(watch: StoredWatch, scripts: readonly string[], servers: readonly RemoteServer[], nowMs: number): void {
    const { key } = watch;
    const before = this.#helpers.get(key)?.at ?? 0;
    const views = [...(this.#viewsOf(key)?.values() ?? [])];
    const isRefused = scripts.length > 1 && views.length > 0 && views.every((v) => v.refusal !== null);
    const isLast = before === scripts.length - 1;
    const goesOn = isRefused && (!isLast || this.#again.isDue(roundOf(key), nowMs));
    if (isRefused && isLast && goesOn) this.#again.refused(roundOf(key), nowMs);
    const at = goesOn ? (before + 1) % scripts.length : before;
    const [scriptHex, last] = [scripts[at], scripts[before]];
    if (scriptHex === undefined) return;
    if (last !== undefined && last !== scriptHex) this.#views.removeFor(key, last, servers);
    this.#views.addFor(key, scriptHex, watch.fromHeight);
    this.#helpers.set(key, { scripts, at });
  }

  #drop(txid: string, servers: readonly RemoteServer[]): void {
    const scriptHex = this.scriptFor(txid);
    this.#helpers.delete(txid);
    this.#again.forget(roundOf(txid));
    if (scriptHex !== undefined) this.#views.removeFor(txid, scriptHex, servers);
  }
}

/** What the pause after the last script of a transaction goes by. */
const roundOf = (txid: string): string => `scripts of ${txid}`;

/** Scripts a transaction pays whose histories may tell of it, the most telling first. */
export function helpersOf(tx: Tx): readonly string[] {
  const scripts = tx.outputs.map((o) => o.script).filter((script) => script.length > 0 && script[0] !== OP_RETURN);
  return [...new Set(scripts.map(toHex).reverse())].slice(0, MAX_HELPERS);
}
