import { hash } from "node:crypto";
import { fromHex } from "../../core/util/bytes.ts";
import type { HistoryLine } from "./answers.ts";

/** The name of a script at Electrum servers: its SHA-256, in display order. `scriptHex` is our own. */
export const scriptHashOf = (scriptHex: string): string => hash("sha256", fromHex(scriptHex), "buffer").reverse().toString("hex");

/** The status a server tells of a history (protocol 1.4); null without one. */
export function statusOfHistory(lines: readonly HistoryLine[]): string | null {
  if (lines.length === 0) return null;
  return hash("sha256", lines.map((l) => `${l.txid}:${l.height}:`).join(""), "hex");
}
