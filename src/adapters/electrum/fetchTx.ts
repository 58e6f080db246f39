import { rawTxid } from "../../chainIndex/rawTx.ts";
import { parseTx, type TxFormat } from "../../core/utxo/txCodec.ts";
import type { Clock } from "../../ports/clock.ts";
import { parseRawTx } from "./answers.ts";
import { firstToTell } from "./firstToTell.ts";
import type { RemoteServer } from "./remoteServer.ts";

/** Bytes of any transaction, from the first server that gives those its id is made of. Null: none does. */
export function fetchTx(clock: Clock, servers: readonly RemoteServer[], txid: string, format: TxFormat): Promise<Uint8Array | null> {
  return firstToTell(clock, servers, async (server) => {
    const answer = await server.ask("blockchain.transaction.get", [txid], parseRawTx);
    const tx = answer.ok ? parseTx(answer.value, format) : null;
    return answer.ok && tx?.ok && rawTxid(tx.value, answer.value) === txid ? answer.value : null;
  });
}
