import type { BroadcastOutcome } from "../../ports/chain.ts";
import { parseRawTx, parseTxid } from "./answers.ts";
import { type ServerAnswer, serverFaultText } from "./fault.ts";
import type { RemoteServer } from "./remoteServer.ts";
import { majorityOf } from "./serverPool.ts";

/** Refusals of a transaction: ElectrumX says 1, others pass on the daemon's code. JSON-RPC's own codes say nothing of it. */
const isVerdict = (code: number): boolean => code > -32000 && code !== 2;

const NOT_TAKEN = new Error("not taken");

/**
 * Gives a transaction to all servers at once and says what is known of it then (design D4). One that takes it is enough; that it is
 * refused counts only by the word of most. Whatever they say, a transaction they turn out to have is `already_known`.
 *
 * @param mined whether the index already shows it in a block
 */
export async function broadcastTx(
  servers: readonly RemoteServer[],
  ticker: string,
  tx: { readonly txid: string; readonly raw: Uint8Array },
  mined: boolean,
): Promise<BroadcastOutcome> {
  if (servers.length === 0)
    return mined ? { kind: "already_known" } : { kind: "unknown", message: `No Electrum server of ${ticker} is connected.` };
  const hex = Buffer.from(tx.raw).toString("hex");
  const sending = servers.map((s) => s.ask("blockchain.transaction.broadcast", [hex], parseTxid));
  // The first that takes it ends the wait; the others go on taking it.
  const taken = sending.map((answer) => answer.then((a) => (a.ok && a.value === tx.txid ? undefined : Promise.reject(NOT_TAKEN))));
  const isTaken = await Promise.any(taken).then(
    () => true,
    () => false,
  );
  if (isTaken) return { kind: mined ? "already_known" : "accepted" };
  const sent = await Promise.all(sending);
  if (mined) return { kind: "already_known" };
  const known = await Promise.all(servers.map((s) => s.ask("blockchain.transaction.get", [tx.txid], parseRawTx)));
  if (known.some((a) => a.ok && Buffer.from(a.value).equals(tx.raw))) return { kind: "already_known" };
  return verdictOf(sent, servers, ticker);
}

function verdictOf(sent: readonly ServerAnswer<string>[], servers: readonly RemoteServer[], ticker: string): BroadcastOutcome {
  const refusals = sent.flatMap((a) => (!a.ok && a.error.kind === "rpc" && isVerdict(a.error.code) ? [a.error] : []));
  const [first] = refusals;
  if (first !== undefined && refusals.length >= majorityOf(servers.length))
    return { kind: "rejected", code: first.code, message: first.message };
  const lost = sent.flatMap((a, i) =>
    a.ok
      ? [`${servers[i]?.name}: it answered with something else than the transaction's id`]
      : [`${servers[i]?.name}: ${serverFaultText(a.error)}`],
  );
  return { kind: "unknown", message: `The ${ticker} servers did not take the broadcast: ${lost.join("; ")}.` };
}
