import type { CertificatePins } from "../../ports/electrum.ts";
import type { SqlDatabase } from "../../ports/sql.ts";
import type { ComponentSchema } from "./migrations.ts";

/** Servers remembered; beyond it those seen first are forgotten. */
const MAX_PINS = 10_000;

/** What servers showed of their certificates the first time. */
export const PIN_SCHEMA: ComponentSchema = {
  component: "pins",
  migrations: [
    {
      version: 1,
      name: "certificates of Electrum servers",
      sql: ["CREATE TABLE certificate_pin (id INTEGER NOT NULL PRIMARY KEY, server TEXT NOT NULL UNIQUE, pin TEXT NOT NULL) STRICT"],
    },
  ],
};

export function createCertificatePins(db: SqlDatabase): CertificatePins {
  return {
    async get(server) {
      const [row] = await db.read("SELECT pin FROM certificate_pin WHERE server = ?", [server]);
      return typeof row?.pin === "string" ? row.pin : null;
    },
    set: (server, pin) =>
      db.write([
        {
          sql: "INSERT INTO certificate_pin (server, pin) VALUES (?, ?) ON CONFLICT (server) DO UPDATE SET pin = excluded.pin",
          params: [server, pin],
        },
        { sql: "DELETE FROM certificate_pin WHERE id <= (SELECT max(id) FROM certificate_pin) - ?", params: [MAX_PINS] },
      ]),
  };
}
