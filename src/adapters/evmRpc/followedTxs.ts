import { parseSwapEvent } from "../../core/evm/swapContract.ts";
import { toHex } from "../../core/util/bytes.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import type { PaymentEvent, Receipt } from "../../ports/accountChain.ts";
import type { BlockRef } from "../../ports/chain.ts";
import type { ReceiptAnswer, TxAnswer } from "./answers.ts";
import type { EvmNode } from "./evmNode.ts";
import type { LookFault } from "./fault.ts";
import { blockQuery, rawTxQuery, receiptQuery, txQuery } from "./query.ts";
import { type Quorum, quorumRead, wholeRead } from "./quorum.ts";
import { isTxOf, rebuildTx } from "./rebuildTx.ts";

/** An event of a swap contract in a receipt. */
export type SwapLog = {
  readonly contract: string;
  readonly id: string;
  readonly kind: "sent" | "spent" | "refunded";
  readonly secret: Uint8Array | null;
};

/** What is known of a transaction. `block` and `receipt` are null together. */
export type FollowedTx = {
  readonly txid: string;
  readonly seenAtMs: number;
  /** Null: no node knows it, or its bytes cannot be had (a type this node cannot rebuild, from nodes that do not give raw ones). */
  readonly raw: Uint8Array | null;
  readonly block: BlockRef | null;
  readonly receipt: Receipt | null;
  readonly swapLogs: readonly SwapLog[];
};

/** Events of swap contracts one receipt is read for: a claim of many at once has no more. */
const MAX_SWAP_LOGS = 200;

function swapLogsOf({ logs }: ReceiptAnswer): SwapLog[] {
  const found: SwapLog[] = [];
  for (const { address, topics, data } of logs) {
    const event = parseSwapEvent(topics, data);
    if (!event.ok || found.length >= MAX_SWAP_LOGS) continue;
    const secret = event.value.kind === "spent" ? event.value.secret : null;
    found.push({ contract: address, id: toHex(event.value.id), kind: event.value.kind, secret });
  }
  return found;
}

/** The event of a payment that a transaction in a block made. */
export function eventIn(tx: FollowedTx, contract: string, id: string, kind: SwapLog["kind"]): PaymentEvent | null {
  const log = tx.swapLogs.find((l) => l.contract === contract && l.id === id && l.kind === kind);
  return log === undefined || tx.block === null ? null : { txid: tx.txid, block: tx.block, secret: log.secret };
}

/**
 * Reads receipts from a majority and checks that their blocks are on the best chain. In the order of `txids`; null: not in a
 * block up to the quorum's. `moved`: the chain changed meanwhile.
 */
async function readReceipts(
  quorum: Quorum,
  txids: readonly string[],
  signal: AbortSignal,
): Promise<Result<readonly (ReceiptAnswer | null)[], LookFault>> {
  const read = wholeRead(await quorumRead(quorum, txids.map(receiptQuery), signal));
  if (!read.ok) return read;
  const mined = read.value.map((r, i) => (r === null || r.blockNumber > quorum.block.height || r.transactionHash !== txids[i] ? null : r));
  const heights = [...new Set(mined.flatMap((r) => (r === null ? [] : r.blockNumber)))];
  if (heights.length === 0) return ok(mined);
  heights.push(quorum.block.height);
  const blocks = wholeRead(await quorumRead(quorum, heights.map(blockQuery), signal));
  if (!blocks.ok) return blocks;
  const hashes = new Map(blocks.value.map((header, i) => [heights[i], header?.hash]));
  if (hashes.get(quorum.block.height) !== quorum.block.hash) return err({ kind: "moved" });
  return mined.some((r) => r !== null && hashes.get(r.blockNumber) !== r.blockHash) ? err({ kind: "moved" }) : ok(mined);
}

/** The bytes of transactions from the first node that has them: their hash proves them, so one is enough. */
async function readRaw(
  quorum: Quorum,
  txids: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Uint8Array | "unreadable">> {
  const found = new Map<string, Uint8Array | "unreadable">();
  const ask = async (node: EvmNode): Promise<void> => {
    const wanted = txids.filter((txid) => !(found.get(txid) instanceof Uint8Array));
    if (wanted.length === 0) return;
    const answers = await node.ask(wanted.map(txQuery), null, quorum.timeoutMs, signal);
    const odd: string[] = [];
    for (const [i, txid] of wanted.entries()) {
      const answer = answers[i];
      if (!answer?.ok || answer.value === null) continue;
      const raw = rebuilt(answer.value, txid);
      found.set(txid, raw ?? "unreadable");
      if (raw === null) odd.push(txid);
    }
    const raws = odd.length === 0 ? [] : await node.ask(odd.map(rawTxQuery), null, quorum.timeoutMs, signal);
    for (const [i, txid] of odd.entries()) {
      const answer = raws[i];
      if (answer?.ok && answer.value !== null && isTxOf(answer.value, txid)) found.set(txid, answer.value);
    }
  };
  for (const node of [...quorum.nodes].sort((a, b) => a.cost - b.cost)) await ask(node);
  return found;
}

const rebuilt = (answer: TxAnswer, txid: string): Uint8Array | null => (answer.hash === txid ? rebuildTx(answer, txid) : null);

export type TxLook = {
  readonly quorum: Quorum;
  readonly nowMs: number;
  /** What was known before; receipts in it whose block is still on the best chain. */
  readonly known: ReadonlyMap<string, FollowedTx>;
};

/**
 * What is known now of `txids`: those already in a block are taken as they are, the others are read. A transaction no node
 * knows is left out.
 */
export async function lookAtTxs(
  look: TxLook,
  txids: readonly string[],
  signal: AbortSignal,
): Promise<Result<ReadonlyMap<string, FollowedTx>, LookFault>> {
  const { quorum, known, nowMs } = look;
  const now = new Map<string, FollowedTx>();
  const open: string[] = [];
  for (const txid of txids) {
    const old = known.get(txid);
    if (old?.block && old.raw !== null) now.set(txid, old);
    else open.push(txid);
  }
  if (open.length === 0) return ok(now);
  const receipts = await readReceipts(quorum, open, signal);
  if (!receipts.ok) return receipts;
  const mined = new Map(open.map((txid, i) => [txid, receipts.value[i] ?? null]));
  // Whether a transaction still waits in a pool is asked again each time; bytes that are known need not be.
  const raws = await readRaw(
    quorum,
    open.filter((txid) => mined.get(txid) === null || (known.get(txid)?.raw ?? null) === null),
    signal,
  );
  for (const txid of open) {
    const old = known.get(txid);
    const receipt = mined.get(txid) ?? null;
    const got = raws.get(txid);
    if (receipt === null && got === undefined) continue;
    const raw = got instanceof Uint8Array ? got : (old?.raw ?? null);
    const seenAtMs = old?.seenAtMs ?? nowMs;
    if (receipt === null) {
      now.set(txid, { txid, seenAtMs, raw, block: null, receipt: null, swapLogs: [] });
      continue;
    }
    const { blockNumber, blockHash, status, gasUsed, effectiveGasPrice } = receipt;
    now.set(txid, {
      txid,
      seenAtMs,
      raw,
      block: { height: blockNumber, hash: blockHash },
      receipt: { succeeded: status, gasUsed, effectiveGasPrice },
      swapLogs: status ? swapLogsOf(receipt) : [],
    });
  }
  return ok(now);
}
