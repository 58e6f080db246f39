import type { Log } from "../../src/ports/log.ts";

/** Drops everything. */
export const quietLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => quietLog,
};
