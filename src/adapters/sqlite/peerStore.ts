import type { PeerChange, PeerRow, PeerStore } from "../../ports/peerStore.ts";
import { type SqlDatabase, type SqlStatement, StorageError } from "../../ports/sql.ts";
import type { ComponentSchema } from "./migrations.ts";

/** Messages of the own key remembered. */
const MAX_SAID = 50_000;

/** Counterparties, relays, and what this node itself has said. */
export const PEER_SCHEMA: ComponentSchema = {
  component: "peers",
  migrations: [
    {
      version: 1,
      name: "conduct of others and own words",
      sql: [
        "CREATE TABLE peers (kind TEXT NOT NULL, id TEXT NOT NULL, record TEXT NOT NULL, PRIMARY KEY (kind, id)) STRICT, WITHOUT ROWID",
        "CREATE TABLE said (id INTEGER NOT NULL PRIMARY KEY, digest TEXT NOT NULL UNIQUE) STRICT",
        "CREATE TABLE said_until (one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1), sec INTEGER NOT NULL) STRICT",
      ],
    },
  ],
};

const toStatement = (c: PeerChange): SqlStatement =>
  c.change === "put"
    ? {
        sql: "INSERT INTO peers (kind, id, record) VALUES (?, ?, ?) ON CONFLICT (kind, id) DO UPDATE SET record = excluded.record",
        params: [c.kind, c.id, c.record],
      }
    : { sql: "DELETE FROM peers WHERE kind = ? AND id = ?", params: [c.kind, c.id] };

export function createPeerStore(db: SqlDatabase): PeerStore {
  return {
    apply: (changes) => db.write(changes.map(toStatement)),
    async load(kind) {
      const rows = await db.read("SELECT id, record FROM peers WHERE kind = ? ORDER BY id", [kind]);
      return rows.map(({ id, record }): PeerRow => {
        if (typeof id !== "string" || typeof record !== "string") throw new StorageError("Corrupt", "peers: a column is not text");
        return { kind, id, record };
      });
    },
    said: (digests, lastDatedSec) =>
      db.write(
        [
          ...digests.map((digest) => ({ sql: "INSERT OR IGNORE INTO said (digest) VALUES (?)", params: [digest] })),
          { sql: "DELETE FROM said WHERE id <= (SELECT max(id) FROM said) - ?", params: [MAX_SAID] },
          {
            sql: "INSERT INTO said_until (one, sec) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET sec = max(sec, excluded.sec)",
            params: [lastDatedSec],
          },
        ],
        // Whoever asks has this node answer, as often as they like: none of the room that is kept for what has begun is for that.
        { isNew: true },
      ),
    hasSaid: async (digest) => (await db.read("SELECT 1 FROM said WHERE digest = ?", [digest])).length > 0,
    async lastDatedSec() {
      const [row] = await db.read("SELECT sec FROM said_until");
      return Number(row?.sec ?? 0);
    },
  };
}
