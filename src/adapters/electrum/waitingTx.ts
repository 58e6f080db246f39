import type { Tx } from "../../core/utxo/tx.ts";
import { MAX_HISTORY, parseHistory, parseRawTx } from "./answers.ts";
import { isUnknownMethod } from "./fault.ts";
import type { HistoryPace } from "./historyPace.ts";
import type { RemoteServer } from "./remoteServer.ts";
import { scriptHashOf } from "./scriptHash.ts";
import { witnessesOf } from "./serverPool.ts";
import { helpersOf } from "./watchedTxs.ts";

/** Who pays a transaction (its script in hex; null: nobody knows), and when may be asked about scripts: whoever makes the transaction chooses them. */
export type WaitingAsked = { readonly payer: string | null; readonly pace: HistoryPace; readonly nowMs: number };

/**
 * Whether two servers, or the only one, have a transaction. They are asked for what waits at a script it pays, and not for it by its id: ElectrumX (1.15)
 * counts a hundred for each id that it does not know, and next to nothing for a script at which nothing waits. Where much does, they are asked at a pace. Those who do not name it are asked for
 * the history of who pays it: it may be in a block by now.
 */
export async function isWaiting(servers: readonly RemoteServer[], txid: string, tx: Tx, asked: WaitingAsked): Promise<boolean> {
  const { payer } = asked;
  const [script] = helpersOf(tx);
  const waits = await Promise.all(servers.map((server) => script !== undefined && isNamedBy(server, txid, scriptHashOf(script), asked)));
  const isWitnessed = (named: readonly boolean[]): boolean => named.filter(Boolean).length >= witnessesOf(servers.length);
  if (payer === null || isWitnessed(waits)) return isWitnessed(waits);
  return isWitnessed(
    await Promise.all(servers.map(async (server, i) => waits[i] === true || isPaidBy(server, txid, scriptHashOf(payer), asked))),
  );
}

/** Who does not know how to tell what waits at a script is electrs, which counts nothing: that is asked for the transaction itself. */
async function isNamedBy(server: RemoteServer, txid: string, scriptHash: string, { pace, nowMs }: WaitingAsked): Promise<boolean> {
  if (!pace.isPoolDue(server.name, scriptHash, nowMs)) return false;
  const waiting = await server.ask("blockchain.scripthash.get_mempool", [scriptHash], parseHistory);
  if (waiting.ok) {
    const lines = waiting.value === "too_long" ? null : waiting.value;
    pace.poolTold(server.name, scriptHash, lines?.length ?? MAX_HISTORY, nowMs);
    return lines?.some((line) => line.txid === txid) ?? false;
  }
  return isUnknownMethod(waiting.error) && (await server.ask("blockchain.transaction.get", [txid], parseRawTx)).ok;
}

async function isPaidBy(server: RemoteServer, txid: string, scriptHash: string, { pace, nowMs }: WaitingAsked): Promise<boolean> {
  if (!pace.isDue(server.name, scriptHash, nowMs)) return false;
  const history = await server.ask("blockchain.scripthash.get_history", [scriptHash], parseHistory);
  const lines = history.ok && history.value !== "too_long" ? history.value : null;
  pace.told(server.name, scriptHash, lines?.length ?? MAX_HISTORY, nowMs);
  return lines?.some((line) => line.txid === txid) ?? false;
}
