import { rawTxid } from "../../chainIndex/rawTx.ts";
import { parseTx, type TxFormat } from "../../core/utxo/txCodec.ts";
import { parseRawTx } from "./answers.ts";
import type { RemoteServer } from "./remoteServer.ts";

/** Bytes of any transaction, from the first server that gives those its id is made of. Null: none does. */
export async function fetchTx(servers: readonly RemoteServer[], txid: string, format: TxFormat): Promise<Uint8Array | null> {
  for (const server of servers) {
    const answer = await server.ask("blockchain.transaction.get", [txid], parseRawTx);
    const tx = answer.ok ? parseTx(answer.value, format) : null;
    if (answer.ok && tx?.ok && rawTxid(tx.value, answer.value) === txid) return answer.value;
  }
  return null;
}
