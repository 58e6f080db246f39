import { parseTransferEvent } from "../../core/evm/erc20.ts";
import { isSecretOf, parseSwapEvent } from "../../core/evm/swapContract.ts";
import { toHex } from "../../core/util/bytes.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import type { PaymentEvent, Receipt, TokenArrival } from "../../ports/accountChain.ts";
import type { BlockRef } from "../../ports/chain.ts";
import type { LogAnswer, ReceiptAnswer, TxAnswer } from "./answers.ts";
import { askInTurn } from "./askInTurn.ts";
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

/** What a token told that it brought a swap contract. */
export type ArrivalLog = TokenArrival & { readonly contract: string };

/** What is known of a transaction. `block` and `receipt` are null together, unless `againAtMs` says otherwise. */
export type FollowedTx = {
  readonly txid: string;
  readonly seenAtMs: number;
  /** Null: no node knows it, or its bytes cannot be had (a type this node cannot rebuild, from nodes that do not give raw ones). */
  readonly raw: Uint8Array | null;
  readonly block: BlockRef | null;
  readonly receipt: Receipt | null;
  readonly swapLogs: readonly SwapLog[];
  /** To contracts that opened a payment in it. */
  readonly arrivals: readonly ArrivalLog[];
  /** Only a node's log says so: the receipt could not be read, and is asked for again from then on. */
  readonly againAtMs?: number;
};

/** A receipt that could not be read may be very large: it is not asked for at every look. */
const RECEIPT_AGAIN_MS = 300_000;

/** All of them: whoever claims could put any number of others before the one that shows the secret. */
function swapLogsOf({ logs }: ReceiptAnswer): SwapLog[] {
  const found: SwapLog[] = [];
  for (const { address, topics, data } of logs) {
    const event = parseSwapEvent(topics, data);
    if (!event.ok) continue;
    const secret = event.value.kind === "spent" ? event.value.secret : null;
    found.push({ contract: address, id: toHex(event.value.id), kind: event.value.kind, secret });
  }
  return found;
}

function arrivalsOf({ logs }: ReceiptAnswer): ArrivalLog[] {
  return logs.flatMap(({ address, topics, data }) => {
    const event = parseTransferEvent(topics, data);
    return event.ok ? { contract: event.value.to, token: address, amount: event.value.amount } : [];
  });
}

/** The event of a payment that a transaction in a block made. */
export function eventIn(tx: FollowedTx, contract: string, id: string, kind: SwapLog["kind"]): PaymentEvent | null {
  const log = tx.swapLogs.find((l) => l.contract === contract && l.id === id && l.kind === kind);
  if (log === undefined || tx.block === null) return null;
  const isPayment = kind === "sent";
  return {
    txid: tx.txid,
    block: tx.block,
    secret: log.secret,
    payments: isPayment ? tx.swapLogs.filter((l) => l.contract === contract && l.kind === kind).length : 0,
    arrivals: isPayment ? tx.arrivals.filter((a) => a.contract === contract) : [],
  };
}

/**
 * Reads receipts from a majority and checks that their blocks are on the best chain. In the order of `txids`; null: not in a
 * block up to the quorum's. `moved`: the chain changed meanwhile, so that what is missing may only have been taken out of its block.
 */
async function readReceipts(
  quorum: Quorum,
  txids: readonly string[],
  signal: AbortSignal,
): Promise<Result<readonly (ReceiptAnswer | null)[], LookFault>> {
  const read = wholeRead(await quorumRead(quorum, txids.map(receiptQuery), signal));
  if (!read.ok) return read;
  const mined = read.value.map((r) => (r === null || r.blockNumber > quorum.block.height ? null : r));
  const heights = [...new Set([...mined.flatMap((r) => (r === null ? [] : r.blockNumber)), quorum.block.height])];
  const blocks = wholeRead(await quorumRead(quorum, heights.map(blockQuery), signal));
  if (!blocks.ok) return blocks;
  const hashes = new Map(blocks.value.map((header, i) => [heights[i], header?.hash]));
  if (hashes.get(quorum.block.height) !== quorum.block.hash) return err({ kind: "moved" });
  return mined.some((r) => r !== null && hashes.get(r.blockNumber) !== r.blockHash) ? err({ kind: "moved" }) : ok(mined);
}

/**
 * The bytes of transactions from the first node that has them: their hash proves them, so one is enough. Who gave no answer in this look is
 * asked where nobody else is left.
 */
async function readRaw(
  quorum: Quorum,
  txids: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Uint8Array | "unreadable">> {
  const found = new Map<string, Uint8Array | "unreadable">();
  let [asked, told] = [0, 0];
  const isWanted = (txid: string): boolean => !(found.get(txid) instanceof Uint8Array);
  const ask = async (node: EvmNode, s: AbortSignal): Promise<void> => {
    const wanted = txids.filter(isWanted);
    asked++;
    const answers = await node.ask(wanted.map(txQuery), null, quorum.timeoutMs, s);
    const odd: string[] = [];
    for (const [i, txid] of wanted.entries()) {
      const answer = answers[i];
      if (!answer?.ok || answer.value === null) continue;
      const raw = rebuilt(answer.value, txid);
      if (isWanted(txid)) found.set(txid, raw ?? "unreadable");
      if (raw === null) odd.push(txid);
    }
    const raws = odd.length === 0 ? [] : await node.ask(odd.map(rawTxQuery), null, quorum.timeoutMs, s);
    for (const [i, txid] of odd.entries()) {
      const answer = raws[i];
      if (answer?.ok && answer.value !== null && isTxOf(answer.value, txid)) found.set(txid, answer.value);
    }
    if (answers.every(({ ok: isTold }) => isTold)) told++;
  };
  const there = quorum.nodes.filter(({ state }) => state !== "away");
  const nodes = there.length > 0 ? there : quorum.nodes;
  // What nobody has is asked of everybody; who is late with that is waited for no longer than with anything else.
  const isDone = (): boolean => !txids.some(isWanted) || (asked === nodes.length && told >= quorum.need);
  await askInTurn(nodes, { clock: quorum.clock, first: 1, isDone, waitsForMore: true }, signal, ask);
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
      now.set(txid, { txid, seenAtMs, raw, block: null, receipt: null, swapLogs: [], arrivals: [] });
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
      arrivals: status ? arrivalsOf(receipt) : [],
    });
  }
  return ok(now);
}

/** What is known of watched transactions; `unread`: of these nothing could be read, and why, a fault of the nodes. */
export type WatchedTxs = { readonly found: ReadonlyMap<string, FollowedTx>; readonly unread: ReadonlyMap<string, LookFault> };

/**
 * The same of transactions that somebody watches. One whose receipt is answered in a way that cannot be read, or by too few alike, must not
 * keep a look from all the rest: it stays as it was known. Fails only when the chain `moved`, or too few nodes are left to ask.
 */
export async function lookAtWatched(look: TxLook, txids: readonly string[], signal: AbortSignal): Promise<Result<WatchedTxs, LookFault>> {
  const { nodes, need } = look.quorum;
  const together = await lookAtTxs(look, txids, signal);
  if (together.ok) return ok({ found: together.value, unread: new Map() });
  const found = new Map<string, FollowedTx>();
  const unread = new Map<string, LookFault>();
  for (const txid of txids) {
    const isServed = nodes.filter(({ state }) => state !== "away").length >= need;
    const read = isServed ? await lookAtTxs(look, [txid], signal) : together;
    if (!read.ok && (!isServed || read.error.kind === "moved")) return read;
    if (!read.ok) unread.set(txid, read.error);
    const tx = read.ok ? read.value.get(txid) : look.known.get(txid);
    if (tx !== undefined) found.set(txid, tx);
  }
  return ok({ found, unread });
}

/**
 * The same of transactions that nodes' logs named. Whoever claims can make its receipt too large to be read: such a one must not keep a
 * look from all the rest. It stays as it was known, or is left out. Fails only when the chain `moved`.
 */
export async function lookAtNamed(
  look: TxLook,
  txids: readonly string[],
  signal: AbortSignal,
): Promise<Result<ReadonlyMap<string, FollowedTx>, LookFault>> {
  const now = new Map<string, FollowedTx>();
  for (const txid of txids) {
    const old = look.known.get(txid);
    if (old?.againAtMs !== undefined && old.block !== null && look.nowMs < old.againAtMs) {
      now.set(txid, old);
      continue;
    }
    const read = await lookAtTxs(look, [txid], signal);
    if (!read.ok && read.error.kind === "moved") return read;
    const tx = read.ok ? read.value.get(txid) : old && { ...old, againAtMs: look.nowMs + RECEIPT_AGAIN_MS };
    if (tx !== undefined && (read.ok || tx.block !== null)) now.set(txid, tx);
  }
  return ok(now);
}

/**
 * A claim as one node's log tells of it, if its block is on the best chain; null: it is not, or the log does not show the secret for which
 * the payment's id was made. One node alone could show any other, and a claim that is found is looked for no more.
 *
 * @param lockTime of the payment, as the contract has it
 */
export async function claimOfLog(look: TxLook, log: LogAnswer, lockTime: bigint, signal: AbortSignal): Promise<FollowedTx | null> {
  const event = parseSwapEvent(log.topics, log.data);
  const [header] = await quorumRead(look.quorum, [blockQuery(log.blockNumber)], signal);
  if (!event.ok || event.value.kind !== "spent" || !header?.ok || header.value?.hash !== log.blockHash) return null;
  const { kind, id, secret } = event.value;
  if (!isSecretOf(toHex(id), lockTime, secret)) return null;
  const swapLogs = [{ contract: log.address, id: toHex(id), kind, secret }];
  const block = { height: log.blockNumber, hash: log.blockHash };
  const againAtMs = look.nowMs + RECEIPT_AGAIN_MS;
  return { txid: log.transactionHash, seenAtMs: look.nowMs, raw: null, block, receipt: null, swapLogs, arrivals: [], againAtMs };
}
