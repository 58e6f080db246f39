import type { BroadcastOutcome } from "../../ports/chain.ts";
import { Aborted } from "../../ports/clock.ts";
import { onAbort } from "../../ports/onAbort.ts";
import { withParents } from "../../ports/withParents.ts";
import { parseTxHash } from "./answers.ts";
import type { EvmNode } from "./evmNode.ts";
import { isLimit, nodeFaultText } from "./fault.ts";
import { hexData, type Query, txQuery } from "./query.ts";

const sendQuery = (raw: Uint8Array): Query<string> => ({
  method: "eth_sendRawTransaction",
  params: () => [hexData(raw)],
  parse: parseTxHash,
});

/** Words of geth, Erigon and reth; Nethermind; Besu and old geth; OpenEthereum and anvil; rskj; chains of the Cosmos SDK. */
const KNOWN =
  /already ?known|\bknown transaction|already imported|with same hash already exists|\btx already (in mempool|exists in cache)/i;
/** A block has a transaction with this nonce: words of geth and most others; Nethermind; chains of the Cosmos SDK, which say so of a gap, too. */
const NONCE_USED = /nonce (is )?too low|\bOldNonce\b|\binvalid nonce; got\b/i;

const GAP = /\binvalid nonce; got (\d{1,20}), expected (\d{1,20})\b/i;
/** Why a nonce does not fit, as far as the node's words tell. */
function whyNotNow(said: string): string {
  const [, got, expected] = GAP.exec(said) ?? [];
  if (got !== undefined && expected !== undefined && BigInt(got) > BigInt(expected)) return "so it waits for an earlier one of the account";
  return "so a block has its nonce, perhaps with this very transaction";
}

/** The node failed, or had no time: Besu's words for whatever it does not name and those of gateways; geth's. It may have passed it on before. */
const NO_REFUSAL = /^internal( server| json-?rpc)? error\.?$|timed ?out\b|\btimeout\b|deadline exceeded/i;

async function sendTo(node: EvmNode, txid: string, raw: Uint8Array, timeoutMs: number, signal: AbortSignal): Promise<BroadcastOutcome> {
  const [sent] = await node.ask([sendQuery(raw)], null, timeoutMs, signal);
  if (sent === undefined) return { kind: "unknown", message: `${node.name} gave no answer.` };
  if (sent.ok) {
    if (sent.value === txid) return { kind: "accepted" };
    return { kind: "unknown", message: `${node.name} answered the broadcast with another transaction's id.` };
  }
  const { error } = sent;
  // A node refuses what it has already. Asking for it tells that from other refusals, and its own words where it shows nobody its pool, or
  // another machine behind the same name answers.
  if (error.kind === "rpc" && !isLimit(error)) {
    if (KNOWN.test(error.message)) return { kind: "already_known" };
    const [there] = await node.ask([txQuery(txid)], null, timeoutMs, signal);
    if (there?.ok && there.value !== null && there.value.hash === txid) return { kind: "already_known" };
    if (NO_REFUSAL.test(error.message)) return { kind: "unknown", message: `${node.name}: ${nodeFaultText(error)}.` };
    if (there?.ok && !NONCE_USED.test(error.message)) return { kind: "rejected", code: error.code, message: error.message };
    // A retry of the node's own gateway may be what is refused, and the machine that was asked now a block behind.
    if (there?.ok) {
      const refusal = nodeFaultText({ ...error, message: error.message.replace(/\.$/, "") });
      return { kind: "unknown", message: `${node.name}: ${refusal}, ${whyNotNow(error.message)}.` };
    }
  }
  return { kind: "unknown", message: `${node.name}: ${nodeFaultText(error)}.` };
}

/**
 * Gives the transaction to every node at once. What one of them took is out, and no other is waited for: it gets it all the same, for the one may
 * lie. A refusal counts only when all refuse, because a node that gave no answer may have passed it on.
 * @param signal of who waits; what is on its way to the nodes goes on until `stop` fires
 */
export async function broadcastTx(
  nodes: readonly EvmNode[],
  txid: string,
  raw: Uint8Array,
  timeoutMs: number,
  stop: AbortSignal,
  signal?: AbortSignal,
): Promise<BroadcastOutcome> {
  if (signal?.aborted) throw new Aborted();
  let letGo: (() => void) | undefined;
  try {
    return await new Promise<BroadcastOutcome>((resolve, reject) => {
      letGo = signal && onAbort(signal, () => reject(new Aborted()));
      const sending = nodes.map(async (node) => {
        const outcome = await withParents([stop], (s) => sendTo(node, txid, raw, timeoutMs, s));
        if (isOut(outcome)) resolve(outcome);
        return outcome;
      });
      Promise.all(sending).then((outcomes) => {
        // All refused it, or it is not known.
        const best = outcomes.find(({ kind }) => kind === "unknown") ?? outcomes[0];
        resolve(best ?? { kind: "unknown", message: "There is no node to give it to." });
      }, reject);
    });
  } finally {
    letGo?.();
  }
}

const isOut = ({ kind }: BroadcastOutcome): boolean => kind === "accepted" || kind === "already_known";
