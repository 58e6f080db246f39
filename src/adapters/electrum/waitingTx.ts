import type { Tx } from "../../core/utxo/tx.ts";
import { parseHistory } from "./answers.ts";
import type { RemoteServer } from "./remoteServer.ts";
import { scriptHashOf } from "./scriptHash.ts";
import { witnessesOf } from "./serverPool.ts";
import { helpersOf } from "./watchedTxs.ts";

/**
 * Whether two servers, or the only one, have a transaction in their mempools. They are asked for what waits at a script it pays, and not for it by
 * its id: ElectrumX (1.15) counts a hundred for each id that it does not know, and next to nothing for a script at which nothing waits.
 */
export async function isWaiting(servers: readonly RemoteServer[], txid: string, tx: Tx): Promise<boolean> {
  const [script] = helpersOf(tx);
  if (script === undefined) return false;
  const asked = await Promise.all(
    servers.map((server) => server.ask("blockchain.scripthash.get_mempool", [scriptHashOf(script)], parseHistory)),
  );
  const naming = asked.filter((a) => a.ok && a.value !== "too_long" && a.value.some((line) => line.txid === txid));
  return naming.length >= witnessesOf(servers.length);
}
