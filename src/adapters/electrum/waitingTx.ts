import type { Tx } from "../../core/utxo/tx.ts";
import { parseHistory, parseRawTx } from "./answers.ts";
import { isUnknownMethod } from "./fault.ts";
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
  const asked = await Promise.all(servers.map((server) => isNamedBy(server, txid, scriptHashOf(script))));
  return asked.filter(Boolean).length >= witnessesOf(servers.length);
}

/** Who does not know how to tell what waits at a script is electrs, which counts nothing: that is asked for the transaction itself. */
async function isNamedBy(server: RemoteServer, txid: string, scriptHash: string): Promise<boolean> {
  const waiting = await server.ask("blockchain.scripthash.get_mempool", [scriptHash], parseHistory);
  if (waiting.ok) return waiting.value !== "too_long" && waiting.value.some((line) => line.txid === txid);
  return isUnknownMethod(waiting.error) && (await server.ask("blockchain.transaction.get", [txid], parseRawTx)).ok;
}
