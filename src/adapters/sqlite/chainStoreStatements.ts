import { toHex } from "../../core/util/bytes.ts";
import type { ChainDelta, WatchKey } from "../../ports/chainStore.ts";
import type { SqlStatement } from "../../ports/sql.ts";

const TABLES_OF_FACTS = ["chain_header", "chain_tx", "chain_output", "chain_spend"] as const;

function resetStatements(ticker: string): SqlStatement[] {
  return [
    ...TABLES_OF_FACTS.map((table) => ({ sql: `DELETE FROM ${table} WHERE ticker = ?`, params: [ticker] })),
    { sql: "UPDATE chain_watch SET next_height = from_height, was_told = 0 WHERE ticker = ?", params: [ticker] },
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

/** A transaction stays for what else it pays or spends, or because it is watched itself. @param outputs and `spends`: which of them count, as SQL */
const isOrphan = (outputs: string, spends: string): string =>
  `NOT EXISTS (SELECT 1 FROM chain_output o WHERE o.ticker = chain_tx.ticker AND o.txid = chain_tx.txid ${outputs})
   AND NOT EXISTS (SELECT 1 FROM chain_spend s ${spends} s.ticker = chain_tx.ticker AND s.spender = chain_tx.txid)
   AND NOT EXISTS (SELECT 1 FROM chain_watch w WHERE w.ticker = chain_tx.ticker AND w.kind = 'tx' AND w.key = chain_tx.txid)`;

const FORGET_TX = `DELETE FROM chain_tx WHERE ticker = ? AND txid = ? AND ${isOrphan("", "WHERE")}`;

const FORGET_TXS_OF_SCRIPT = `DELETE FROM chain_tx WHERE ticker = ?1 AND txid IN (
    SELECT txid FROM chain_output WHERE ticker = ?1 AND script = ?2
    UNION SELECT spender FROM chain_spend s JOIN chain_output o ON o.ticker = s.ticker AND o.txid = s.txid AND o.vout = s.vout
      WHERE o.ticker = ?1 AND o.script = ?2)
  AND ${isOrphan(
    "AND o.script <> ?2",
    "JOIN chain_output o ON o.ticker = s.ticker AND o.txid = s.txid AND o.vout = s.vout AND o.script <> ?2 WHERE",
  )}`;

const FORGET_SPENDS_OF_SCRIPT = `DELETE FROM chain_spend WHERE ticker = ?1
  AND (txid, vout) IN (SELECT txid, vout FROM chain_output WHERE ticker = ?1 AND script = ?2)`;

/** What is no longer watched goes, with what nothing else holds. By their keys: the tables may be large, and each swap that settles does it. */
function unwatchStatements(ticker: string, { kind, key }: WatchKey): SqlStatement[] {
  const params = [ticker, key];
  const watch = { sql: "DELETE FROM chain_watch WHERE ticker = ? AND kind = ? AND key = ?", params: [ticker, kind, key] };
  if (kind === "tx") return [watch, { sql: FORGET_TX, params }];
  return [
    watch,
    { sql: FORGET_TXS_OF_SCRIPT, params },
    { sql: FORGET_SPENDS_OF_SCRIPT, params },
    { sql: "DELETE FROM chain_output WHERE ticker = ? AND script = ?", params },
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
      sql: "INSERT OR REPLACE INTO chain_watch (ticker, kind, key, from_height, next_height, was_told) VALUES (?, ?, ?, ?, ?, ?)",
      params: [ticker, w.kind, w.key, w.fromHeight, w.nextHeight, w.wasTold && w.nextHeight !== null ? 1 : 0],
    });
  for (const key of delta.unwatch ?? []) batch.push(...unwatchStatements(ticker, key));
  if (delta.isTold !== undefined)
    batch.push({
      sql: delta.isTold ? "INSERT OR IGNORE INTO chain_told (ticker) VALUES (?)" : "DELETE FROM chain_told WHERE ticker = ?",
      params: [ticker],
    });
  return batch;
}
