import { z } from "zod";
import type { HistoryTx } from "../app/coin/txHistory.ts";
import { sub, toDecimalString } from "../core/money/rational.ts";
import { toHex } from "../core/util/bytes.ts";
import type { ScanProgress } from "../ports/chain.ts";
import { type Clock, mapInTurns } from "../ports/clock.ts";
import { decimalText } from "./money.ts";

const WRITTEN_IN_TURN = 500;

/** A transaction of the history, as `withdraw` shows one, with its place in the chain. */
export const historyTx = z.object({
  tx_hex: z.string(),
  tx_hash: z.string(),
  from: z.array(z.string()),
  to: z.array(z.string()),
  total_amount: decimalText.describe("Sum of the inputs; of the outputs where an input is another's."),
  spent_by_me: decimalText,
  received_by_me: decimalText,
  my_balance_change: decimalText,
  block_height: z.number().describe("0 while it is unconfirmed."),
  timestamp: z.number().describe("Of its block, else when this node saw it first."),
  fee_details: z.object({
    type: z.literal("Utxo"),
    coin: z.string(),
    amount: decimalText.describe("0 where others paid it: the transaction does not tell how much."),
  }),
  coin: z.string(),
  internal_id: z.string().describe("For `from_id`: the transaction's id."),
  transaction_type: z.literal("StandardTransfer"),
  memo: z.null(),
  confirmations: z.number(),
});

/** Transactions of one reply: some of them in a turn of the event loop, for a page may have ten thousand. */
export const historyToJson = (
  coin: string,
  txs: readonly HistoryTx[],
  clock: Clock,
  signal: AbortSignal,
): Promise<z.input<typeof historyTx>[]> => mapInTurns(clock, txs, WRITTEN_IN_TURN, (tx) => historyTxToJson(coin, tx), signal);

function historyTxToJson(coin: string, tx: HistoryTx): z.input<typeof historyTx> {
  return {
    tx_hex: toHex(tx.raw),
    tx_hash: tx.txid,
    from: [...tx.from],
    to: [...tx.to],
    total_amount: toDecimalString(tx.total),
    spent_by_me: toDecimalString(tx.spentByMe),
    received_by_me: toDecimalString(tx.receivedByMe),
    my_balance_change: toDecimalString(sub(tx.receivedByMe, tx.spentByMe)),
    block_height: tx.block?.height ?? 0,
    timestamp: tx.timeSec,
    fee_details: { type: "Utxo", coin, amount: tx.fee === null ? "0" : toDecimalString(tx.fee) },
    coin,
    internal_id: tx.txid,
    transaction_type: "StandardTransfer",
    memo: null,
    confirmations: tx.confirmations,
  };
}

/** Whether the history is kept, and whether all of it has been read. */
export const syncStatus = z.union([
  z.object({ state: z.enum(["NotEnabled", "Finished"]) }),
  z.object({ state: z.literal("InProgress"), additional_info: z.object({ blocks_left: z.number() }) }),
]);

/** @param progress of the reading of blocks; null when it is over */
export function syncStatusOf(isKept: boolean, progress: ScanProgress | null): z.input<typeof syncStatus> {
  if (!isKept) return { state: "NotEnabled" };
  return progress === null
    ? { state: "Finished" }
    : { state: "InProgress", additional_info: { blocks_left: progress.total - progress.done } };
}
