import type { ChainIndex } from "../../chainIndex/chainIndex.ts";
import { FactsBuilder } from "../../chainIndex/factsBuilder.ts";
import type { RawTx } from "../../chainIndex/rawTx.ts";
import type { BlockRef } from "../../ports/chain.ts";
import type { ChainDelta } from "../../ports/chainStore.ts";
import { Aborted, type Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { HistoryLine } from "./answers.ts";
import type { Guards } from "./guards.ts";
import type { HeaderReader } from "./headerReader.ts";
import type { Omissions } from "./omissions.ts";
import type { RemoteServer } from "./remoteServer.ts";
import type { TxProver } from "./txProver.ts";

/** Transactions of one script read at a time: whoever likes can pay it, and a liar names what it likes. */
const MAX_READS = 50;
/** Transactions remembered that were read. */
const MAX_READ = 20_000;

export type LoneWordDeps = {
  readonly index: ChainIndex;
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

type Proven = { readonly tx: RawTx; readonly block: BlockRef };

/**
 * What one server says of a guarded script against all others: taken is what proves itself. A transaction that it proves to be in a block
 * of ours counts; every other one is only shown to who guards the script.
 */
export class LoneWord {
  readonly #deps: LoneWordDeps;
  /** Transactions that were shown to those who guard a script. */
  readonly #read = new Set<string>();
  readonly #hearing = new Set<RemoteServer>();

  constructor(deps: LoneWordDeps) {
    this.#deps = deps;
  }

  /** Hears what one server tells of scripts; one that is being heard is not heard twice. Never rejects. */
  async hear(server: RemoteServer, told: readonly { readonly scriptHex: string; readonly lines: readonly HistoryLine[] }[]): Promise<void> {
    if (this.#hearing.has(server)) return;
    this.#hearing.add(server);
    try {
      for (const { scriptHex, lines } of told) await this.#hearOf(server, scriptHex, lines);
    } catch (cause) {
      // The next time it is heard brings it again.
      if (!(cause instanceof Aborted)) this.#deps.log.warn("word_not_kept", { server: server.name, cause: String(cause) });
    } finally {
      this.#hearing.delete(server);
    }
  }

  async #hearOf(server: RemoteServer, scriptHex: string, lines: readonly HistoryLine[]): Promise<void> {
    const { guards, index, prover } = this.#deps;
    const proven: Proven[] = [];
    for (const { txid, height } of this.#open(scriptHex, lines)) {
      const known = index.tx(txid);
      const tx = known ? prover.read(known.raw) : await prover.fetch(txid, [server]);
      if (server.state !== "connected") return;
      if (tx === null) continue;
      const key = this.#keyOf(scriptHex, txid);
      if (!this.#read.has(key)) guards.tell(scriptHex, tx);
      this.#noteRead(key);
      const block = await this.#prove(server, tx, height);
      if (block !== null) proven.push({ tx, block });
    }
    if (proven.length > 0) await this.#keep(server, scriptHex, proven);
  }

  /**
   * What is news if it is true, first what was not read yet, the newest before the others: that is what a swap waits for. Also what the
   * index has in no block: of several that spend the same it names one alone.
   */
  #open(scriptHex: string, lines: readonly HistoryLine[]): readonly HistoryLine[] {
    const { index } = this.#deps;
    const isRead = ({ txid }: HistoryLine): boolean => this.#read.has(this.#keyOf(scriptHex, txid));
    const open = lines.filter((line) => {
      if (index.txEntry(line.txid)?.block != null) return false;
      return this.#isProvable(line.height) || !isRead(line);
    });
    const newest = open.toReversed();
    return [...newest.filter((line) => !isRead(line)), ...newest.filter(isRead)].slice(0, MAX_READS);
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
    if (!header.ok || !(await prover.isIn(tx, height, header.value, [server]))) return null;
    return { height, hash: own.hash };
  }

  async #keep(server: RemoteServer, scriptHex: string, proven: readonly Proven[]): Promise<void> {
    const { index, clock, log, enqueue, commit, omissions } = this.#deps;
    await enqueue(async () => {
      const builder = new FactsBuilder(index, clock.nowMs());
      // The chain may have changed since it was proven.
      const standing = proven.filter(({ block }) => index.headerAt(block.height)?.hash === block.hash);
      for (const { tx, block } of standing.toSorted((a, b) => a.block.height - b.block.height)) builder.add([tx], block);
      if (builder.size === 0) return;
      await commit(builder.facts());
      omissions.suspect(scriptHex);
      log.warn("server_proves_more", { server: server.name, txids: standing.map(({ tx }) => tx.txid) });
    });
  }

  #keyOf(scriptHex: string, txid: string): string {
    return `${this.#deps.guards.roundOf(scriptHex)} ${scriptHex} ${txid}`;
  }

  #noteRead(key: string): void {
    if (this.#read.size >= MAX_READ) this.#read.clear();
    this.#read.add(key);
  }
}
