import type { ActivationStore } from "../../ports/activationStore.ts";
import type { SqlDatabase } from "../../ports/sql.ts";
import type { ComponentSchema } from "./migrations.ts";

/** How the coins of the last run were enabled. */
export const ACTIVATION_SCHEMA: ComponentSchema = {
  component: "activations",
  migrations: [
    {
      version: 1,
      name: "coins of the last run",
      sql: ["CREATE TABLE activation (id INTEGER NOT NULL PRIMARY KEY, coin TEXT NOT NULL UNIQUE, request TEXT NOT NULL) STRICT"],
    },
  ],
};

export function createActivationStore(db: SqlDatabase): ActivationStore {
  return {
    async all() {
      const rows = await db.read("SELECT coin, request FROM activation ORDER BY id", []);
      return rows.map(({ coin, request }) => ({ coin: String(coin), request: String(request) }));
    },
    put: (activations) =>
      db.write(
        activations.map(({ coin, request }) => ({
          sql: "INSERT INTO activation (coin, request) VALUES (?, ?) ON CONFLICT (coin) DO UPDATE SET request = excluded.request",
          params: [coin, request],
        })),
      ),
    remove: (coins) => db.write(coins.map((coin) => ({ sql: "DELETE FROM activation WHERE coin = ?", params: [coin] }))),
  };
}
