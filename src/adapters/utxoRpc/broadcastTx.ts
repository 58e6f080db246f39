import { ok } from "../../core/util/result.ts";
import type { BroadcastOutcome } from "../../ports/chain.ts";
import { type AnswerParser, parseHash } from "./answers.ts";
import type { DaemonCalls } from "./daemonCalls.ts";
import { faultSentence } from "./fault.ts";

/** Bitcoin Core's `rpc/protocol.h`. */
const RPC_VERIFY_ALREADY_IN_CHAIN = -27;
const RPC_INTERNAL_ERROR = -32603;
const RPC_CLIENT_NOT_CONNECTED = -9;
const RPC_CLIENT_IN_INITIAL_DOWNLOAD = -10;
/** Codes that say something of the daemon's state and nothing of the transaction. */
const NO_VERDICT: readonly number[] = [RPC_INTERNAL_ERROR, RPC_CLIENT_NOT_CONNECTED, RPC_CLIENT_IN_INITIAL_DOWNLOAD];
/** Outputs asked for to find out whether a transaction without index is in the UTXO set. */
const OUTPUTS_ASKED = 3;

const anything: AnswerParser<unknown> = (value) => ok(value);

/** Whether the daemon has the transaction, in the mempool or (by an unspent output) in a block. */
async function isKnown(calls: DaemonCalls, txid: string, outputs: number, signal: AbortSignal | undefined): Promise<boolean> {
  const raw = await calls.rawTx(txid, signal);
  if (raw.ok && raw.value !== null) return true;
  if (!raw.ok && raw.error.kind !== "rpc") return false;
  for (let vout = 0; vout < Math.min(outputs, OUTPUTS_ASKED); vout++) {
    const out = await calls.txOut(txid, vout, signal);
    if (out.ok && out.value !== null) return true;
  }
  return false;
}

/**
 * Sends a transaction and says what is known of it then (design D4). The daemon's code decides, never its words;
 * whatever it says or fails to say, a transaction it turns out to have is `already_known`.
 *
 * @param mined whether the index already shows it in a block
 */
export async function broadcastTx(
  calls: DaemonCalls,
  ticker: string,
  tx: { readonly txid: string; readonly raw: Uint8Array; readonly outputs: number },
  mined: boolean,
  signal?: AbortSignal,
): Promise<BroadcastOutcome> {
  const options = signal ? { signal } : {};
  const sent = await calls.ask("sendrawtransaction", [Buffer.from(tx.raw).toString("hex")], anything, options);
  if (sent.ok) {
    const echoed = parseHash(sent.value);
    return echoed.ok && echoed.value === tx.txid
      ? { kind: "accepted" }
      : { kind: "unknown", message: `The ${ticker} daemon answered the broadcast with something else than the transaction's id.` };
  }
  const { error } = sent;
  if (error.kind === "rpc" && error.code === RPC_VERIFY_ALREADY_IN_CHAIN) return { kind: "already_known" };
  if (mined || (await isKnown(calls, tx.txid, tx.outputs, signal))) return { kind: "already_known" };
  if (error.kind === "rpc" && !NO_VERDICT.includes(error.code)) return { kind: "rejected", code: error.code, message: error.message };
  const isUnsent = error.kind === "busy" || (error.kind === "unreachable" && error.isUnsent);
  return { kind: "unknown", message: faultSentence(ticker, error), ...(isUnsent ? { isUnsent } : {}) };
}
