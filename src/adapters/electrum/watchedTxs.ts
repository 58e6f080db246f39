import type { ChainIndex } from "../../chainIndex/chainIndex.ts";
import { FactsBuilder } from "../../chainIndex/factsBuilder.ts";
import { toHex } from "../../core/util/bytes.ts";
import type { Tx } from "../../core/utxo/tx.ts";
import type { ChainDelta, StoredWatch } from "../../ports/chainStore.ts";
import { parseRawTx } from "./answers.ts";
import type { RemoteServer } from "./remoteServer.ts";
import type { ScriptViews } from "./scriptViews.ts";
import { majorityOf, witnessesOf } from "./serverPool.ts";
import type { TxProver } from "./txProver.ts";

/** Outputs whose history may lead to the block of a transaction that is watched by its id. */
const MAX_HELPERS = 3;
const OP_RETURN = 0x6a;

/**
 * Follows transactions by their ids. Servers find the block of a transaction only through the history of a script, so one that it
 * pays is followed until it is in a block: the last first, which is the change of most transactions and has a short history.
 */
export class WatchedTxs {
  readonly #index: ChainIndex;
  readonly #views: ScriptViews;
  readonly #prover: TxProver;
  /** The scripts that may be followed for a transaction, and which one is. */
  readonly #helpers = new Map<string, { readonly scripts: readonly string[]; readonly at: number }>();
  /** Those of which most servers said lately what they know. */
  readonly #answered = new Set<string>();

  constructor(index: ChainIndex, views: ScriptViews, prover: TxProver) {
    this.#index = index;
    this.#views = views;
    this.#prover = prover;
  }

  /** Whether most servers said what they know of it since it was looked for last. */
  isAnswered(txid: string): boolean {
    return this.#answered.has(txid);
  }

  /**
   * Looks for the watched transactions that are in no block of ours and begins to follow scripts for them.
   * @returns what is to be written: those that came up in the mempool
   */
  async look(watches: readonly StoredWatch[], servers: readonly RemoteServer[], nowMs: number): Promise<ChainDelta> {
    const builder = new FactsBuilder(this.#index, nowMs);
    // All at once: one server that answers late must not make each wait for the one before.
    await Promise.all(watches.map((watch) => this.#lookFor(watch, servers, builder)));
    return builder.facts();
  }

  async #lookFor(watch: StoredWatch, servers: readonly RemoteServer[], builder: FactsBuilder): Promise<void> {
    const entry = this.#index.txEntry(watch.key);
    if (entry?.raw && entry.block !== null) {
      this.#answered.add(watch.key);
      this.#drop(watch.key, servers);
      return;
    }
    const own = entry?.raw ? this.#prover.read(entry.raw) : null;
    const tx = own ?? (await this.#fetch(watch.key, servers, builder));
    if (own !== null) this.#answered.add(watch.key);
    if (tx !== null) this.#follow(watch, tx.tx, servers);
  }

  /** No longer watched. */
  forget(txid: string, servers: readonly RemoteServer[]): void {
    this.#answered.delete(txid);
    this.#drop(txid, servers);
  }

  async #fetch(txid: string, servers: readonly RemoteServer[], builder: FactsBuilder): Promise<ReturnType<TxProver["read"]>> {
    const answers = await Promise.all(servers.map((s) => s.ask("blockchain.transaction.get", [txid], parseRawTx)));
    const having = answers.filter((a) => a.ok).length;
    const without = answers.filter((a) => !a.ok && a.error.kind === "rpc").length;
    if (having + without >= majorityOf(servers.length)) this.#answered.add(txid);
    else this.#answered.delete(txid);
    const reads = answers.map((a) => (a.ok ? this.#prover.read(a.value) : null));
    for (const [i, read] of reads.entries())
      if (read !== null && read.txid !== txid)
        servers[i]?.contradicted(`the bytes it gives for transaction ${txid} are not that transaction's`);
    const good = reads.filter((r) => r?.txid === txid);
    const [tx = null] = good;
    if (tx !== null && good.length >= witnessesOf(servers.length)) builder.add([tx], null);
    return tx;
  }

  /** One script at a time; the next where servers refuse to tell of this one: popular ones have histories beyond their limits. */
  #follow(watch: StoredWatch, tx: Tx, servers: readonly RemoteServer[]): void {
    const known = this.#helpers.get(watch.key);
    const scripts = known?.scripts ?? helpersOf(tx);
    const views = [...(this.#views.get(scripts[known?.at ?? 0] ?? "")?.views.values() ?? [])];
    const isRefused = views.length > 0 && views.every((v) => v.refusal !== null);
    const at = (known?.at ?? 0) + (isRefused && scripts.length > 1 ? 1 : 0);
    const scriptHex = scripts[at % Math.max(1, scripts.length)];
    if (scriptHex === undefined) return;
    const before = known && scripts[known.at];
    if (before !== undefined && before !== scriptHex) this.#views.removeFor(watch.key, before, servers);
    this.#views.addFor(watch.key, scriptHex, watch.fromHeight);
    this.#helpers.set(watch.key, { scripts, at: at % scripts.length });
  }

  #drop(txid: string, servers: readonly RemoteServer[]): void {
    const known = this.#helpers.get(txid);
    this.#helpers.delete(txid);
    const scriptHex = known?.scripts[known.at];
    if (scriptHex !== undefined) this.#views.removeFor(txid, scriptHex, servers);
  }
}

function helpersOf(tx: Tx): readonly string[] {
  const scripts = tx.outputs.map((o) => o.script).filter((script) => script.length > 0 && script[0] !== OP_RETURN);
  return [...new Set(scripts.map(toHex).reverse())].slice(0, MAX_HELPERS);
}
