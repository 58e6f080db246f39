import type { ChainIndex } from "../../chainIndex/chainIndex.ts";
import { scriptHex } from "../../chainIndex/rawTx.ts";
import type { Tx } from "../../core/utxo/tx.ts";
import { type HistoryLine, parseBlockHash, parseHistory } from "./answers.ts";
import { AskAgain } from "./askAgain.ts";
import type { RemoteServer } from "./remoteServer.ts";

/** Least pause between two looks at what one server refuses, ms: nobody tells of changes there. */
const LEAST_MS = 5_000;
/** Transactions of one script asked for by their ids. */
const MAX_ASKED = 10;
/** Scripts of which it is remembered what was offered to them, and how much of each. */
const MAX_SCRIPTS = 1_000;
const MAX_OFFERED = 10;
/** Answers remembered. */
const MAX_KEPT = 10_000;

/** A script, and the transactions its history is wanted for; null: all of it. */
export type Refused = { readonly scriptHex: string; readonly scriptHash: string; readonly only: ReadonlySet<string> | null };

/**
 * What servers still tell of a script whose history they refuse. Anybody can pay a script until its history is longer than servers give
 * (ElectrumX 1.15: some ten thousand confirmed transactions), so a refusal is nobody's fault, and what is at stake there is asked for in
 * other ways: what waits in the mempool has no such limit, and a known transaction is found by its id. What nobody knows of, such as the
 * other side's claim in a block, is left to `SpendSearch`.
 */
export class RefusedHistories {
  readonly #index: ChainIndex;
  readonly #again = new AskAgain();
  /** By server and script: what was told last, at which block and when. */
  readonly #told = new Map<string, { readonly tip: string | undefined; readonly atMs: number; readonly lines: readonly HistoryLine[] }>();
  /** By server and transaction: the block it was in no block at. */
  readonly #unplaced = new Map<string, string>();
  /** Transactions that were sent from here, by the scripts they pay: whether or not they were taken, they may be there. */
  readonly #offered = new Map<string, readonly string[]>();

  constructor(index: ChainIndex) {
    this.#index = index;
  }

  /** A transaction is offered to the servers. */
  offered(txid: string, tx: Tx): void {
    for (const { script } of tx.outputs) {
      const paid = scriptHex(script);
      if (!this.#index.hasScript(paid)) continue;
      const before = (this.#offered.get(paid) ?? []).filter((id) => id !== txid);
      this.#offered.delete(paid);
      this.#offered.set(paid, [...before, txid].slice(-MAX_OFFERED));
    }
    for (const oldest of this.#offered.keys()) {
      if (this.#offered.size <= MAX_SCRIPTS) break;
      this.#offered.delete(oldest);
    }
  }

  /**
   * What one server tells of a script in other ways. What is in a block stands there only as far as it was asked for by its id.
   * @param fresh whether or not it was asked just now
   * @returns null: it tells nothing in other ways either
   */
  async linesOf(server: RemoteServer, refused: Refused, fresh: boolean, nowMs: number): Promise<readonly HistoryLine[] | null> {
    const key = `${server.name} ${refused.scriptHash}`;
    const tip = server.tip?.header.hash;
    const told = this.#told.get(key);
    if (told !== undefined && !fresh && told.tip === tip && nowMs >= told.atMs && nowMs - told.atMs < LEAST_MS) return told.lines;
    const again = `mempool ${key}`;
    if (!this.#again.isDue(again, nowMs)) return null;
    const pool = await server.ask("blockchain.scripthash.get_mempool", [refused.scriptHash], parseHistory);
    if (!pool.ok || pool.value === "too_long") {
      if (pool.ok || pool.error.kind === "rpc") this.#again.refused(again, nowMs);
      return null;
    }
    this.#again.forget(again);
    const waiting = new Set(pool.value.map(({ txid }) => txid));
    const asked = this.#wanted(refused).filter((txid) => !waiting.has(txid));
    const placed = await Promise.all(asked.map((txid) => this.#place(server, txid, tip, nowMs)));
    const lines = [...pool.value.map(({ txid }) => ({ txid, height: 0 })), ...placed.flatMap((line) => line ?? [])];
    if (this.#told.size >= MAX_KEPT) this.#told.clear();
    this.#told.set(key, { tip, atMs: nowMs, lines });
    return lines;
  }

  /** What is known and in no block yet: what spends from the script, then what was sent to it from here, then what pays it most. */
  #wanted({ scriptHex: hex, only }: Refused): readonly string[] {
    if (only !== null) return [...only].slice(0, MAX_ASKED);
    const open = (txid: string): boolean => this.#index.txEntry(txid)?.block == null;
    const outputs = this.#index.outputsOf(hex);
    const spends = outputs.flatMap(({ spentBy }) => (spentBy !== null && spentBy.block === null ? [spentBy.txid] : []));
    const offered = (this.#offered.get(hex) ?? []).filter(open);
    const paying = outputs.filter(({ block }) => block === null).sort((a, b) => (a.value > b.value ? -1 : Number(a.value < b.value)));
    return [...new Set([...spends, ...offered, ...paying.map(({ txid }) => txid)])].slice(0, MAX_ASKED);
  }

  /** Asked again at another block only; and less and less often where the server does not have it. */
  async #place(server: RemoteServer, txid: string, tip: string | undefined, nowMs: number): Promise<HistoryLine | null> {
    const key = `${server.name} ${txid}`;
    if (tip !== undefined && this.#unplaced.get(key) === tip) return { txid, height: 0 };
    if (!this.#again.isDue(key, nowMs)) return null;
    const hash = await server.ask("blockchain.transaction.get", [txid, true], parseBlockHash);
    if (!hash.ok) {
      if (hash.error.kind === "rpc") this.#again.refused(key, nowMs);
      return null;
    }
    this.#again.forget(key);
    // One that is in a block that is not followed yet is asked for again at the next look.
    if (hash.value !== null) return { txid, height: this.#index.heightOf(hash.value) ?? 0 };
    if (this.#unplaced.size >= MAX_KEPT) this.#unplaced.clear();
    if (tip !== undefined) this.#unplaced.set(key, tip);
    return { txid, height: 0 };
  }
}
