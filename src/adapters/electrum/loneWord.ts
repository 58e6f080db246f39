import type { ChainIndex } from "../../chainIndex/chainIndex.ts";
import { FactsBuilder } from "../../chainIndex/factsBuilder.ts";
import { longSpent } from "../../chainIndex/longSpent.ts";
import type { RawTx } from "../../chainIndex/rawTx.ts";
import type { BlockRef } from "../../ports/chain.ts";
import type { ChainDelta, ChainStore } from "../../ports/chainStore.ts";
import { Aborted, type Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { HistoryLine } from "./answers.ts";
import { AskAgain } from "./askAgain.ts";
import { bothEnds } from "./bothEnds.ts";
import type { Guards } from "./guards.ts";
import type { HeaderReader } from "./headerReader.ts";
import type { Omissions } from "./omissions.ts";
import type { RemoteServer } from "./remoteServer.ts";
import type { TxProver } from "./txProver.ts";

/** Transactions of one script read at a time: whoever likes can pay it, and a liar names what it likes. */
const MAX_READS = 50;
/** Transactions read of all scripts before who names them is heard anew. */
const MAX_HEARD = 500;
/** Transactions remembered that were shown. */
const MAX_SHOWN = 20_000;

export type LoneWordDeps = {
  readonly index: ChainIndex;
  readonly store: Pick<ChainStore, "spentIn">;
  readonly reader: HeaderReader;
  readonly prover: TxProver;
  readonly guards: Guards;
  readonly omissions: Omissions;
  readonly clock: Clock;
  readonly log: Log;
  /** Runs between two looks. */
  readonly enqueue: (work: () => Promise<void>) => Promise<void>;
  readonly commit: (delta: ChainDelta) => Promise<void>;
};

/** What of a server's history of one script is to be read, in this order. */
export type Told = { readonly scriptHex: string; readonly lines: readonly HistoryLine[] };
type Proven = { readonly scriptHex: string; readonly tx: RawTx; readonly block: BlockRef };

/**
 * What one server says of a guarded script against all others: taken is what proves itself. A transaction that it proves to be in a block
 * of ours counts; every other one is only shown to who guards the script.
 */
export class LoneWord {
  readonly #deps: LoneWordDeps;
  /** Transactions that were shown to those who guard a script. */
  readonly #shown = new Set<string>();
  /** When a server is asked again for what it did not give: each time counts, and its history names it at each look. */
  readonly #again = new AskAgain();
  readonly #hearing = new Set<RemoteServer>();

  constructor(deps: LoneWordDeps) {
    this.#deps = deps;
  }

  /** Hears what one server tells of scripts, of each in turns; one that is being heard is not heard twice. Never rejects. */
  async hear(server: RemoteServer, told: readonly Told[]): Promise<void> {
    if (this.#hearing.has(server)) return;
    this.#hearing.add(server);
    try {
      const proven: Proven[] = [];
      for (const [scriptHex, line] of this.#inTurns(told)) {
        const found = await this.#tryToRead(server, scriptHex, line);
        if (found !== null) proven.push(found);
        if (server.state !== "connected") break;
      }
      // Also of one that has gone meanwhile: it may be too slow to prove all of it in one visit.
      if (proven.length > 0) await this.#keep(server, proven);
    } catch (cause) {
      // The next time it is heard brings it again.
      if (!(cause instanceof Aborted)) this.#deps.log.warn("word_not_kept", { server: server.name, cause: String(cause) });
    } finally {
      this.#hearing.delete(server);
    }
  }

  /** Who names much of one script must not keep the others waiting. */
  #inTurns(told: readonly Told[]): readonly (readonly [scriptHex: string, line: HistoryLine])[] {
    const turns = Array.from({ length: MAX_READS }, (_, i) =>
      told.flatMap(({ scriptHex, lines }) => lines.slice(i, i + 1).map((line) => [scriptHex, line] as const)),
    );
    return turns.flat().slice(0, MAX_HEARD);
  }

  /** One line that fails must not lose what the others prove. */
  async #tryToRead(server: RemoteServer, scriptHex: string, line: HistoryLine): Promise<Proven | null> {
    try {
      return await this.#read(server, scriptHex, line);
    } catch (cause) {
      if (cause instanceof Aborted) throw cause;
      this.#deps.log.warn("line_not_read", { server: server.name, txid: line.txid, cause: String(cause) });
      return null;
    }
  }

  /** @returns what is proven of it */
  async #read(server: RemoteServer, scriptHex: string, { txid, height }: HistoryLine): Promise<Proven | null> {
    const { guards, index, prover } = this.#deps;
    const known = index.tx(txid);
    const tx = known ? prover.read(known.raw) : await prover.fetch(txid, [server]);
    if (tx === null) {
      if (server.state === "connected") this.#again.refused(askedOf(server, txid), this.#deps.clock.nowMs());
      return null;
    }
    const key = this.#keysOf(scriptHex)(txid);
    if (!this.#shown.has(key)) guards.tell(scriptHex, tx, server.voter);
    this.#noteShown(key);
    const block = await this.#prove(server, tx, height);
    return block === null ? null : { scriptHex, tx, block };
  }

  /**
   * What is news if it is true: first what can be proven, then what is said to be in blocks that are not known yet, then the rest. Others
   * can fill a mempool with payments of dust, each minute anew. Of the index what it has in no block is news, too: of several that spend the
   * same it names one alone.
   */
  told(scriptHex: string, lines: readonly HistoryLine[]): Told {
    const { index } = this.#deps;
    const keyOf = this.#keysOf(scriptHex);
    const isRead = ({ txid }: HistoryLine): boolean => this.#shown.has(keyOf(txid));
    const isOpen = (line: HistoryLine): boolean => {
      if (index.txEntry(line.txid)?.block != null) return false;
      return this.#isProvable(line.height) || !isRead(line);
    };
    const unproven: HistoryLine[] = [];
    const again: HistoryLine[] = [];
    const ahead: HistoryLine[] = [];
    const pool: HistoryLine[] = [];
    for (const line of bothEnds(lines)) {
      if (!isOpen(line)) continue;
      if (this.#isProvable(line.height)) (isRead(line) ? again : unproven).push(line);
      else (line.height > 0 ? ahead : pool).push(line);
      if (unproven.length === MAX_READS) break;
    }
    return { scriptHex, lines: [...unproven, ...again, ...ahead, ...pool].slice(0, MAX_READS) };
  }

  /** What of a history is in no block and was not read yet. What it says of blocks is for others to work off. */
  unread(server: RemoteServer, scriptHex: string, lines: readonly HistoryLine[]): Told {
    const { index, clock } = this.#deps;
    const nowMs = clock.nowMs();
    const keyOf = this.#keysOf(scriptHex);
    const unread: HistoryLine[] = [];
    for (const { txid } of bothEnds(lines)) {
      if (this.#shown.has(keyOf(txid)) || index.txEntry(txid)?.block != null) continue;
      if (!this.#again.isDue(askedOf(server, txid), nowMs)) continue;
      if (unread.push({ txid, height: 0 }) === MAX_READS) break;
    }
    return { scriptHex, lines: unread };
  }

  /** Whether a block of ours at this height is known. */
  #isProvable(height: number): boolean {
    return height > 0 && this.#deps.index.headerAt(height) !== undefined;
  }

  async #prove(server: RemoteServer, tx: RawTx, height: number): Promise<BlockRef | null> {
    const { index, reader, prover } = this.#deps;
    const own = this.#isProvable(height) ? index.headerAt(height) : undefined;
    if (own === undefined) return null;
    // One that follows another branch proves nothing of ours, and is not blamed for it.
    const header = await reader.withHash([server], height, own.hash);
    if (!header.ok || (await prover.isIn(tx, height, header.value, [server])) !== "proven") return null;
    return { height, hash: own.hash };
  }

  async #keep(server: RemoteServer, proven: readonly Proven[]): Promise<void> {
    const { index, store, clock, log, enqueue, commit, omissions } = this.#deps;
    await enqueue(async () => {
      // The chain may have changed since it was proven.
      const standing = proven.filter(({ block }) => index.headerAt(block.height)?.hash === block.hash);
      const isPast = await longSpent(
        index,
        store,
        standing.map(({ tx }) => tx),
      );
      const builder = new FactsBuilder(index, clock.nowMs(), isPast);
      for (const { tx, block } of standing.toSorted((a, b) => a.block.height - b.block.height)) builder.add([tx], block);
      if (builder.size === 0) return;
      await commit(builder.facts());
      for (const { scriptHex } of standing) omissions.suspect(scriptHex);
      log.warn("server_proves_more", { server: server.name, txids: standing.map(({ tx }) => tx.txid) });
    });
  }

  /** What transactions of a script that were shown are known by. */
  #keysOf(scriptHex: string): (txid: string) => string {
    const script = `${this.#deps.guards.roundOf(scriptHex)} ${scriptHex}`;
    return (txid) => `${script} ${txid}`;
  }

  #noteShown(key: string): void {
    if (this.#shown.size >= MAX_SHOWN) this.#shown.clear();
    this.#shown.add(key);
  }
}

const askedOf = ({ name }: RemoteServer, txid: string): string => `${name} ${txid}`;
