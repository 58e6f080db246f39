import type { DatabaseSync, StatementSync } from "node:sqlite";
import { dropOldest } from "../../core/util/dropOldest.ts";

/** Prepared statements kept at once. The repositories use about a hundred texts; parameters never go into the text. */
const MAX_STATEMENTS = 256;

/** Compiled statements by text, the least recently used dropped first. */
export class StatementCache {
  readonly #db: DatabaseSync;
  readonly #bySql = new Map<string, StatementSync>();

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  get(sql: string): StatementSync {
    const known = this.#bySql.get(sql);
    if (known !== undefined) {
      this.#bySql.delete(sql);
      this.#bySql.set(sql, known);
      return known;
    }
    const statement = this.#db.prepare(sql);
    statement.setReadBigInts(true);
    this.#bySql.set(sql, statement);
    dropOldest(this.#bySql, MAX_STATEMENTS);
    return statement;
  }

  get size(): number {
    return this.#bySql.size;
  }
}
