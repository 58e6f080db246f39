import { FactsBuilder } from "../../chainIndex/factsBuilder.ts";
import { outKey } from "../../chainIndex/outKey.ts";
import { type RawTx, rawTxid } from "../../chainIndex/rawTx.ts";
import { toHex } from "../../core/util/bytes.ts";
import { err, ok } from "../../core/util/result.ts";
import { parseTx, type TxFormat } from "../../core/utxo/txCodec.ts";
import type { Answer } from "./daemonCalls.ts";
import type { SyncContext } from "./syncContext.ts";

/** 32-bit FNV-1a of a script or outpoint: a hit by chance only costs one more look. */
function mark(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

function marksOf({ tx }: RawTx): Uint32Array {
  return Uint32Array.from([...tx.inputs.map((i) => mark(outKey(i))), ...tx.outputs.map((o) => mark(toHex(o.script)))]);
}

/**
 * Follows the daemon's mempool by its list of ids. Each transaction is fetched once; of those that concern nobody
 * only marks are kept (four bytes per input and output, for as many as the list may name), so that a script
 * watched or an output found later finds them again.
 */
export class MempoolWatch {
  readonly #ctx: SyncContext;
  readonly #format: TxFormat;
  readonly #perRound: number;
  readonly #examined = new Map<string, Uint32Array>();

  /** @param perRound transactions fetched in one round at most */
  constructor(ctx: SyncContext, format: TxFormat, perRound: number) {
    this.#ctx = ctx;
    this.#format = format;
    this.#perRound = perRound;
  }

  /** Transactions that carry one of `keys` (script hex, outpoint, txid) are looked at again. */
  recheck(keys: readonly string[]): void {
    if (keys.length === 0 || this.#examined.size === 0) return;
    const wanted = new Set(keys.map(mark));
    for (const key of keys) this.#examined.delete(key);
    for (const [txid, marks] of this.#examined) if (marks.some((m) => wanted.has(m))) this.#examined.delete(txid);
  }

  /** One look. `size`: transactions in the mempool; `waiting`: how many of them are left for later rounds. */
  async round(): Promise<Answer<{ readonly size: number; readonly waiting: number }>> {
    const { calls, index, commit, clock } = this.#ctx;
    const list = await calls.mempool((txid) => this.#examined.has(txid));
    if (!list.ok) return list;
    const present = new Set(list.value);
    for (const txid of this.#examined.keys()) if (!present.has(txid)) this.#examined.delete(txid);
    const gone = index.isTold ? [] : index.unconfirmed().filter((txid) => !present.has(txid));
    if (gone.length > 0) {
      // A block that came since the round's look at the tip may hold them: it must be read first.
      const best = await calls.bestHash();
      if (!best.ok) return best;
      if (best.value !== index.tipHeader?.hash) return err({ kind: "moved" });
      await commit({ gone });
    }
    let budget = this.#perRound;
    let queue = this.#queue(list.value);
    while (queue.length > 0 && budget > 0) {
      const batch = queue.slice(0, budget);
      budget -= batch.length;
      const fetched = await this.#fetch(batch);
      if (!fetched.ok) return fetched;
      const facts = new FactsBuilder(index, clock.nowMs());
      facts.add(fetched.value, null);
      const found = facts.newOutputs();
      if (facts.size > 0) await commit(facts.facts());
      // A child may have been looked at before its parent.
      this.recheck(found);
      for (const t of fetched.value) this.#examined.set(t.txid, marksOf(t));
      queue = this.#queue(list.value);
    }
    return ok({ size: present.size, waiting: queue.length });
  }

  /** What is still to be looked at, awaited transactions first. */
  #queue(list: readonly string[]): string[] {
    const unseen = list.filter((txid) => !this.#examined.has(txid));
    const awaited = unseen.filter((txid) => this.#ctx.index.isTxWatched(txid));
    return awaited.length > 0 ? [...new Set([...awaited, ...unseen])] : unseen;
  }

  async #fetch(txids: readonly string[]): Promise<Answer<readonly RawTx[]>> {
    const { calls, index, log } = this.#ctx;
    const missing = txids.filter((txid) => !index.txEntry(txid)?.raw);
    const answers = await calls.rawTxs(missing);
    const raws = new Map<string, Uint8Array>();
    for (const [i, txid] of missing.entries()) {
      const answer = answers[i];
      // A refusal for one transaction (it left meanwhile, the daemon has an opinion) must not stop the others.
      if (answer?.ok === false && answer.error.kind !== "rpc" && answer.error.kind !== "bad_answer") return answer;
      if (answer?.ok && answer.value) raws.set(txid, answer.value);
    }
    const txs: RawTx[] = [];
    for (const txid of txids) {
      const raw = raws.get(txid) ?? index.txEntry(txid)?.raw;
      const parsed = raw ? parseTx(raw, this.#format) : undefined;
      if (raw && parsed?.ok && rawTxid(parsed.value, raw) === txid) txs.push({ txid, tx: parsed.value, raw });
      else {
        this.#examined.set(txid, new Uint32Array(0));
        if (raw) log.debug("mempool_tx_not_read", { txid });
      }
    }
    return ok(txs);
  }
}
