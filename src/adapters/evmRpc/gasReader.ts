import { type GasPrices, nextBaseFee } from "../../core/evm/gas.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import type { FeeHistoryAnswer, HeaderAnswer } from "./answers.ts";
import type { LookFault } from "./fault.ts";
import { feeHistoryQuery, gasPriceQuery, type Query } from "./query.ts";
import type { Quorum } from "./quorum.ts";

/** The middle one; of an even number the lower of the two. */
function middle(values: readonly bigint[]): bigint | null {
  const sorted = [...values].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? null;
}

/** The higher of two answers counts up to so many times the lower. */
const SPREAD = 10n;
/** Or up to this, wei per gas: for a claim some hundredths of a coin at most, and less than this is never worth a transaction that hangs. */
const HARMLESS = 50n * 10n ** 9n;

/**
 * What several nodes say a price is: the middle one; of an even number the higher of the two in the middle, because one who says too little
 * would have everything of the account wait. One of two may as well say too much: the higher counts no further than many times the
 * lower, `known` or what does no harm.
 * @param known wei per gas, of the block that a majority has: a price up to it is nothing new
 */
function agreedPrice(values: readonly bigint[], known: bigint): bigint | null {
  const sorted = [...values].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const [low, high] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted[Math.floor(sorted.length / 2)]];
  if (low === undefined || high === undefined || low === high) return high ?? null;
  const most = [low * SPREAD, known, HARMLESS].reduce((a, b) => (a > b ? a : b));
  return high < most ? high : most;
}

type Tips = { readonly low: bigint; readonly medium: bigint; readonly high: bigint };

/** Middle of the blocks that had transactions; null when none had. */
function tipsOf({ reward }: FeeHistoryAnswer): Tips | null {
  const blocks = (reward ?? []).filter((row) => row.some((tip) => tip > 0n));
  const column = (i: number): bigint => middle(blocks.map((row) => row[i] ?? 0n)) ?? 0n;
  return blocks.length === 0 ? null : { low: column(0), medium: column(1), high: column(2) };
}

/**
 * What gas costs after `header`, as the middle one of the nodes of the quorum says. All are asked, and the only one that answers is believed: without a
 * price nothing goes out, and what may be paid has bounds of its own.
 */
export async function readGasPrices(quorum: Quorum, header: HeaderAnswer, signal: AbortSignal): Promise<Result<GasPrices, LookFault>> {
  const { baseFeePerGas, gasUsed, gasLimit } = header;
  const queries: Query<bigint | FeeHistoryAnswer>[] = baseFeePerGas === null ? [gasPriceQuery] : [gasPriceQuery, feeHistoryQuery];
  const answers = await Promise.all(quorum.nodes.map((node) => node.ask(queries, null, quorum.timeoutMs, signal)));
  const values = answers.flatMap((list) => list.flatMap((answer) => (answer.ok ? [answer.value] : [])));
  const next = baseFeePerGas === null ? null : nextBaseFee({ baseFee: baseFeePerGas, gasUsed, gasLimit });
  const legacy = agreedPrice(
    values.filter((value) => typeof value === "bigint"),
    2n * (next ?? 0n),
  );
  if (legacy === null) {
    const troubles = quorum.nodes.flatMap((node) => node.trouble ?? []);
    return err({ kind: "too_few", what: "the price of gas", have: 0, need: 1, troubles });
  }
  if (next === null) return ok({ legacy, nextBaseFee: null, priority: null });
  const tips = values.flatMap((value) => (typeof value === "bigint" ? [] : (tipsOf(value) ?? [])));
  // Blocks without transactions say nothing; the single price is base fee and tip together.
  const usual = legacy > next ? legacy - next : 0n;
  const column = (name: keyof Tips): bigint =>
    agreedPrice(
      tips.map((t) => t[name]),
      next,
    ) ?? usual;
  return ok({ legacy, nextBaseFee: next, priority: { low: column("low"), medium: column("medium"), high: column("high") } });
}
