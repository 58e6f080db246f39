import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { DevNode } from "../../../src/devnet/devnet.ts";

/** The folder of a node's wallet inside its data folder: the one with 40 hex digits. */
export function walletFolder(node: DevNode): string {
  const db = join(node.dataDir, "DB");
  const found = readdirSync(db).find((name) => /^[0-9a-f]{40}$/.test(name));
  if (found === undefined) throw new Error(`${db} has no wallet folder`);
  return join(db, found);
}

/** An order file of the node, read; null when there is none. */
export function orderFile(node: DevNode, folder: "MAKER" | "TAKER" | "HISTORY", uuid: string): Record<string, unknown> | null {
  const path = join(walletFolder(node), "swapnode/ORDERS/MY", folder, `${uuid}.json`);
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : null;
}
