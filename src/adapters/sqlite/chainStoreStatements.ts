import { toHex } from "../../core/util/bytes.ts";
import type { ChainDelta } from "../../ports/chainStore.ts";
import type { SqlStatement } from "../../ports/sql.ts";

const TABLES_OF_FACTS = ["chain_header", "chain_tx", "chain_output", "chain_spend"] as const;

function resetStatements(ticker: string): SqlStatement[] {
  return [
    ...TABLES_OF_FACTS.map((table) => ({ sql: `DELETE FROM ${table} WHERE ticker = ?`, params: [ticker] })),
    { sql: "UPDATE chain_watch SET next_height = from_height WHERE ticker = ?", params: [ticker] },
  ];
}

function rollbackStatements(ticker: string, height: number): SqlStatement[] {
  return [
    { sql: "DELETE FROM chain_header WHERE ticker = ? AND height > ?", params: [ticker, height] },
    { sql: "UPDATE chain_tx SET height = NULL, block_hash = NULL WHERE ticker = ? AND height > ?", params: [ticker, height] },
  ];
}

function goneStatements(ticker: string, txid: string): SqlStatement[] {
  return [
    { sql: "DELETE FROM chain_spend WHERE ticker = ? AND txid = ?", params: [ticker, txid] },
    { sql: "DELETE FROM chain_spend WHERE ticker = ? AND spender = ?", params: [ticker, txid] },
    { sql: "DELETE FROM chain_output WHERE ticker = ? AND txid = ?", params: [ticker, txid] },
    { sql: "DELETE FROM chain_tx WHERE ticker = ? AND txid = ?", params: [ticker, txid] },
  ];
}

/** Transactions that pay nothing watched, spend nothing watched and are not watched themselves. */
function forgetOrphans(ticker: string): SqlStatement[] {
  return [
    {
      sql: `DELETE FROM chain_spend WHERE ticker = ? AND NOT EXISTS (
              SELECT 1 FROM chain_output o WHERE o.ticker = chain_spend.ticker AND o.txid = chain_spend.txid AND o.vout = chain_spend.vout)`,
      params: [ticker],
    },
    {
      sql: `DELETE FROM chain_tx WHERE ticker = ?
              AND NOT EXISTS (SELECT 1 FROM chain_output o WHERE o.ticker = chain_tx.ticker AND o.txid = chain_tx.txid)
              AND NOT EXISTS (SELECT 1 FROM chain_spend s WHERE s.ticker = chain_tx.ticker AND s.spender = chain_tx.txid)
              AND NOT EXISTS (SELECT 1 FROM chain_watch w WHERE w.ticker = chain_tx.ticker AND w.kind = 'tx' AND w.key = chain_tx.txid)`,
      params: [ticker],
    },
  ];
}

/** One delta as one atomic batch, in the order `ChainDelta` promises. */
export function deltaToStatements(ticker: string, delta: ChainDelta): SqlStatement[] {
  const batch: SqlStatement[] = [];
  if (delta.reset) batch.push(...resetStatements(ticker));
  if (delta.rollbackTo !== undefined) batch.push(...rollbackStatements(ticker, delta.rollbackTo));
  for (const txid of delta.gone ?? []) batch.push(...goneStatements(ticker, txid));
  for (const h of delta.headers ?? [])
    batch.push({
      sql: "INSERT INTO chain_header (ticker, height, hash, prev_hash, time_sec) VALUES (?, ?, ?, ?, ?)",
      params: [ticker, h.height, h.hash, h.prevHash, h.timeSec],
    });
  if (delta.dropHeadersBelow !== undefined)
    batch.push({ sql: "DELETE FROM chain_header WHERE ticker = ? AND height < ?", params: [ticker, delta.dropHeadersBelow] });
  for (const tx of delta.txs ?? [])
    batch.push({
      sql: `INSERT INTO chain_tx (ticker, txid, raw, height, block_hash, seen_at_ms) VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT (ticker, txid) DO UPDATE SET raw = coalesce(excluded.raw, raw), height = excluded.height, block_hash = excluded.block_hash`,
      params: [ticker, tx.txid, tx.raw, tx.block?.height ?? null, tx.block?.hash ?? null, tx.seenAtMs],
    });
  for (const o of delta.outputs ?? [])
    batch.push({
      sql: "INSERT OR IGNORE INTO chain_output (ticker, txid, vout, value, script, coinbase) VALUES (?, ?, ?, ?, ?, ?)",
      params: [ticker, o.txid, o.vout, o.value, toHex(o.script), o.coinbase ? 1 : 0],
    });
  for (const s of delta.spends ?? [])
    batch.push({
      sql: "INSERT OR IGNORE INTO chain_spend (ticker, txid, vout, spender) VALUES (?, ?, ?, ?)",
      params: [ticker, s.txid, s.vout, s.spender],
    });
  for (const w of delta.watches ?? [])
    batch.push({
      sql: "INSERT OR REPLACE INTO chain_watch (ticker, kind, key, from_height, next_height) VALUES (?, ?, ?, ?, ?)",
      params: [ticker, w.kind, w.key, w.fromHeight, w.nextHeight],
    });
  const unwatch = delta.unwatch ?? [];
  for (const { kind, key } of unwatch) {
    batch.push({ sql: "DELETE FROM chain_watch WHERE ticker = ? AND kind = ? AND key = ?", params: [ticker, kind, key] });
    if (kind === "script") batch.push({ sql: "DELETE FROM chain_output WHERE ticker = ? AND script = ?", params: [ticker, key] });
  }
  if (unwatch.length > 0) batch.push(...forgetOrphans(ticker));
  return batch;
}
