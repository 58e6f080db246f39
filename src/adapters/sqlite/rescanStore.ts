import { type ChainDelta, type ChainSnapshot, type ChainStore, unreadWatch } from "../../ports/chainStore.ts";
import type { SqlDatabase, SqlStatement } from "../../ports/sql.ts";
import { loadWatches, openChainStore } from "./chainStore.ts";
import { deltaToStatements } from "./chainStoreStatements.ts";

/** Whether it only says what is to be watched, or no more, and on whose word: no backend need have shown anything for that. */
const isOfWatchesAlone = ({ watches = [], unwatch: _, isTold: __, ...facts }: ChainDelta): boolean =>
  Object.values(facts).every((part) => part === undefined) && watches.every((watch) => watch.nextHeight === watch.fromHeight);

/**
 * The index of one coin that is to be read anew. Empty but for what is watched, each watch at its height again. What is on the disk is forgotten in one write with
 * the first that a backend shows: one that cannot be reached, or refuses, leaves it as it is, and the coin can be opened with it once more.
 */
export function openRescanStore(db: SqlDatabase, ticker: string): ChainStore {
  const store = openChainStore(db, ticker);
  /** What is watched since; null: the old index is forgotten. */
  let waiting: ChainDelta[] | null = [];

  async function forgetAnd(shown: readonly SqlStatement[]): Promise<void> {
    const forget = [
      ...deltaToStatements(ticker, { reset: true, isTold: false }),
      { sql: "DELETE FROM chain_meta WHERE ticker = ?", params: [ticker] },
    ];
    const watched = (waiting ?? []).flatMap((delta) => deltaToStatements(ticker, delta));
    await db.write([...forget, ...watched, ...shown]);
    waiting = null;
  }

  return {
    async load(): Promise<ChainSnapshot> {
      if (waiting === null) return store.load();
      const watches = (await loadWatches(db, ticker)).map(unreadWatch);
      return { genesis: null, isTold: false, headers: [], watches, txs: [], outputs: [], spends: [] };
    },
    async setGenesis(hash): Promise<void> {
      if (waiting === null) await store.setGenesis(hash);
      else await forgetAnd([{ sql: "INSERT INTO chain_meta (ticker, genesis) VALUES (?, ?)", params: [ticker, hash] }]);
    },
    async commit(delta): Promise<void> {
      if (waiting === null) await store.commit(delta);
      else if (isOfWatchesAlone(delta)) waiting.push(delta);
      else await forgetAnd(deltaToStatements(ticker, delta));
    },
    history: async (scripts, limit) => (waiting === null ? store.history(scripts, limit) : []),
    storedTxs: async (txids) => (waiting === null ? store.storedTxs(txids) : []),
    spentIn: async (txids) => (waiting === null ? store.spentIn(txids) : []),
    spentOutputs: async (scripts, spenders) => (waiting === null ? store.spentOutputs(scripts, spenders) : []),
  };
}
