import type { ChainIndex } from "../../chainIndex/chainIndex.ts";
import { scriptHex } from "../../chainIndex/rawTx.ts";
import { dropOldest } from "../../core/util/dropOldest.ts";
import type { Tx } from "../../core/utxo/tx.ts";
import { type HistoryLine, MAX_HISTORY, parseBlockHash, parseHistory } from "./answers.ts";
import { AskAgain } from "./askAgain.ts";
import type { ServerFault } from "./fault.ts";
import type { HistoryPace } from "./historyPace.ts";
import type { RemoteServer } from "./remoteServer.ts";

/** Least pause between two looks at what one server refuses, ms: nobody tells of changes there. */
const LEAST_MS = 5_000;
/** What ElectrumX (1.15) counts for a transaction with its details, and for so many of its bytes: as hex, and once more in words. */
const DETAILS_COST = 1;
const BYTES_PER_COST = 1_250;
/** Transactions of one script asked for by their ids. */
const MAX_ASKED = 10;
/** Scripts of which it is remembered what was offered to them, and how much of each. */
const MAX_SCRIPTS = 1_000;
const MAX_OFFERED = 10;
/** Answers remembered; transactions of mempools, all servers and scripts together. */
const MAX_KEPT = 10_000;
const MAX_WAITING = 100_000;
/** Counted for a mempool in which nothing waits. */
const EMPTY_POOL = 10;

/** A script, and the transactions its history is wanted for; null: all of it. */
export type Refused = { readonly scriptHex: string; readonly scriptHash: string; readonly only: ReadonlySet<string> | null };

/** How one is asked; see `linesOf`. */
export type Asking = {
  readonly fresh: boolean;
  readonly nowMs: number;
  readonly heightOf: (hash: string) => number | undefined;
};

/** A transaction that is known and in no block yet. `isAnybodys`: all it does is pay the script, which anybody can. */
type Wanted = { readonly txid: string; readonly isAnybodys: boolean };

/** What waited in a server's mempool at a script, at which block and when. */
type Pool = { readonly tip: string | undefined; readonly atMs: number; readonly txids: readonly string[] };

/**
 * What servers still tell of a script whose history they refuse. Anybody can pay a script until its history is longer than servers give
 * (ElectrumX 1.15: some ten thousand confirmed transactions), so a refusal is nobody's fault, and what is at stake there is asked for in
 * other ways: what waits in the mempool has no such limit, and a known transaction is found by its id. What nobody knows of, such as the
 * other side's claim in a block, is left to `SpendSearch`.
 */
export class RefusedHistories {
  readonly #index: ChainIndex;
  readonly #pace: HistoryPace;
  readonly #again = new AskAgain();
  /** By server and script. */
  readonly #told = new Map<string, Pool>();
  /** By server and transaction: the block it was in no block at. */
  readonly #unplaced = new Map<string, string>();
  /** Transactions that were sent from here, by the scripts they pay: whether or not they were taken, they may be there. */
  readonly #offered = new Map<string, readonly string[]>();

  /** Places that are asked for now, by server and transaction: one transaction may pay many scripts. */
  readonly #placing = new Map<string, Promise<HistoryLine | null>>();

  constructor(index: ChainIndex, pace: HistoryPace) {
    this.#index = index;
    this.#pace = pace;
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
    dropOldest(this.#offered, MAX_SCRIPTS);
  }

  /** Whether a script is proven to be paid in a block below the last one of a server: then its history cannot be empty there. */
  isPaidBelow(server: RemoteServer, scriptHex: string): boolean {
    const height = server.tip?.height ?? 0;
    return this.#index.outputsOf(scriptHex).some(({ block }) => block !== null && block.height < height);
  }

  /**
   * What one server tells of a script in other ways. What is in a block stands there only as far as it was asked for by its id.
   *
   * @param fresh    whether or not it was asked just now
   * @param heightOf of a block on the chain that is followed
   * @returns null: it tells nothing in other ways either
   */
  async linesOf(server: RemoteServer, refused: Refused, { fresh, nowMs, heightOf }: Asking): Promise<readonly HistoryLine[] | null> {
    const told = await this.#pool(server, refused, fresh, nowMs);
    if (told === null) return null;
    const tip = server.tip?.header.hash;
    const lines = new Map(told.txids.map((txid) => [txid, { txid, height: 0 }]));
    // What waited at another block may be in one now.
    const asked = this.#wanted(refused).filter(({ txid }) => !lines.has(txid) || told.tip !== tip);
    const placed = await Promise.all(asked.map((wanted) => this.#placeOnce(server, wanted, nowMs, heightOf)));
    for (const line of placed) if (line !== null) lines.set(line.txid, line);
    return [...lines.values()];
  }

  /** What waits in the mempool at a script: whoever likes can fill it, and ElectrumX counts what it sends. */
  async #pool(server: RemoteServer, { scriptHash }: Refused, fresh: boolean, nowMs: number): Promise<Pool | null> {
    const key = `${server.name} ${scriptHash}`;
    const told = this.#told.get(key);
    const isEarly = !fresh && told !== undefined && nowMs >= told.atMs && nowMs - told.atMs < LEAST_MS;
    if (isEarly || !this.#pace.isPoolDue(server.name, scriptHash, nowMs)) return told ?? null;
    const again = `mempool ${key}`;
    if (!this.#again.isDue(again, nowMs)) return null;
    const tip = server.tip?.header.hash;
    const answer = await server.ask("blockchain.scripthash.get_mempool", [scriptHash], parseHistory);
    if (answer.ok) this.#pace.poolTold(server.name, scriptHash, answer.value === "too_long" ? MAX_HISTORY : answer.value.length, nowMs);
    if (!answer.ok || answer.value === "too_long") {
      if (answer.ok || isAnswer(answer.error)) this.#again.refused(again, nowMs);
      return null;
    }
    this.#again.forget(again);
    const pool = { tip, atMs: nowMs, txids: answer.value.map(({ txid }) => txid) };
    this.#keep(key, pool);
    return pool;
  }

  /** The oldest go first. */
  #keep(key: string, pool: Pool): void {
    const sizeOf = ({ txids }: Pool): number => EMPTY_POOL + txids.length;
    this.#told.delete(key);
    this.#told.set(key, pool);
    let waiting = [...this.#told.values()].reduce((sum, told) => sum + sizeOf(told), 0);
    for (const [oldest, told] of this.#told) {
      if (waiting <= MAX_WAITING || oldest === key) break;
      waiting -= sizeOf(told);
      this.#told.delete(oldest);
    }
  }

  /** What is known and in no block yet: what spends from the script, then what was sent to it from here, then what pays it most. */
  #wanted({ scriptHex: hex, only }: Refused): readonly Wanted[] {
    if (only !== null) return [...only].slice(0, MAX_ASKED).map((txid) => ({ txid, isAnybodys: false }));
    const open = (txid: string): boolean => this.#index.txEntry(txid)?.block == null;
    const outputs = this.#index.outputsOf(hex);
    const spends = outputs.flatMap(({ spentBy }) => (spentBy !== null && spentBy.block === null ? [spentBy.txid] : []));
    const offered = (this.#offered.get(hex) ?? []).filter(open);
    const paying = outputs.filter(({ block }) => block === null).sort((a, b) => (a.value > b.value ? -1 : Number(a.value < b.value)));
    const own = new Set([...spends, ...offered]);
    const ids = [...new Set([...own, ...paying.map(({ txid }) => txid)])].slice(0, MAX_ASKED);
    return ids.map((txid) => ({ txid, isAnybodys: !own.has(txid) }));
  }

  #placeOnce(server: RemoteServer, wanted: Wanted, nowMs: number, heightOf: Asking["heightOf"]): Promise<HistoryLine | null> {
    const key = `${server.name} ${wanted.txid}`;
    const placing = this.#placing.get(key) ?? this.#place(server, wanted, nowMs, heightOf).finally(() => this.#placing.delete(key));
    this.#placing.set(key, placing);
    return placing;
  }

  /** Asked again at another block only; and less and less often where the server does not have it. */
  async #place(
    server: RemoteServer,
    { txid, isAnybodys }: Wanted,
    nowMs: number,
    heightOf: Asking["heightOf"],
  ): Promise<HistoryLine | null> {
    const key = `${server.name} ${txid}`;
    const tip = server.tip?.header.hash;
    const unplaced = this.#unplaced.get(key);
    if (tip !== undefined && unplaced === tip) return { txid, height: 0 };
    if (!this.#again.isDue(key, nowMs)) return null;
    // What it had lately it may still have: to be told that it is gone would cost more.
    if (isAnybodys && !this.#pace.bears(server.name, nowMs)) return unplaced === undefined ? null : { txid, height: 0 };
    if (isAnybodys) this.#pace.spent(server.name, DETAILS_COST + (this.#index.tx(txid)?.raw.length ?? 0) / BYTES_PER_COST, nowMs);
    const hash = await server.ask("blockchain.transaction.get", [txid, true], parseBlockHash);
    if (!hash.ok) {
      if (isAnswer(hash.error)) this.#again.refused(key, nowMs);
      return null;
    }
    this.#again.forget(key);
    // One that is in a block that is not followed yet is asked for again at the next look.
    if (hash.value !== null) return { txid, height: heightOf(hash.value) ?? 0 };
    if (this.#unplaced.size >= MAX_KEPT) this.#unplaced.clear();
    if (tip !== undefined) this.#unplaced.set(key, tip);
    return { txid, height: 0 };
  }
}

/** Whether a fault has to do with what was asked. */
const isAnswer = ({ kind }: ServerFault): boolean => kind === "rpc" || kind === "too_much";
