import type { AccountTxStore, OwnAccountTx } from "../../ports/accountTxStore.ts";
import { type SqlDatabase, type SqlRow, StorageError } from "../../ports/sql.ts";
import type { ComponentSchema } from "./migrations.ts";

/** Own transactions of account chains: which nonces are taken. */
export const ACCOUNT_TX_SCHEMA: ComponentSchema = {
  component: "account_txs",
  migrations: [
    {
      version: 1,
      name: "own transactions by nonce",
      sql: [
        // Chain ids and nonces as decimal text: both may pass what SQLite's integers hold.
        "CREATE TABLE account_txs (id INTEGER NOT NULL PRIMARY KEY, chain_id TEXT NOT NULL, account TEXT NOT NULL, nonce TEXT NOT NULL, txid TEXT NOT NULL UNIQUE, raw BLOB NOT NULL, state TEXT NOT NULL CHECK (state IN ('signed', 'sent'))) STRICT",
        "CREATE INDEX account_txs_account ON account_txs (chain_id, account)",
      ],
    },
  ],
};

function toTx({ chain_id, account, nonce, txid, raw, state }: SqlRow): OwnAccountTx {
  const texts = [chain_id, account, nonce, txid].every((v) => typeof v === "string");
  if (!texts || !(raw instanceof Uint8Array) || (state !== "signed" && state !== "sent"))
    throw new StorageError("Corrupt", "account_txs: a column has another type");
  return {
    chainId: BigInt(String(chain_id)),
    from: String(account),
    nonce: BigInt(String(nonce)),
    txid: String(txid),
    raw: Uint8Array.from(raw),
    state,
  };
}

export function createAccountTxStore(db: SqlDatabase): AccountTxStore {
  return {
    put: (tx) =>
      db.write([
        {
          sql: "INSERT INTO account_txs (chain_id, account, nonce, txid, raw, state) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (txid) DO UPDATE SET state = excluded.state",
          params: [String(tx.chainId), tx.from, String(tx.nonce), tx.txid, tx.raw, tx.state],
        },
      ]),
    async load(chainId, from) {
      const rows = await db.read("SELECT * FROM account_txs WHERE chain_id = ? AND account = ? ORDER BY id", [String(chainId), from]);
      return rows.map(toTx).sort((a, b) => (a.nonce < b.nonce ? -1 : a.nonce > b.nonce ? 1 : 0));
    },
    remove: (txids) => db.write(txids.map((txid) => ({ sql: "DELETE FROM account_txs WHERE txid = ?", params: [txid] }))),
  };
}
