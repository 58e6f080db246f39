import { type GasPrices, nextBaseFee } from "../../core/evm/gas.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import type { FeeHistoryAnswer, HeaderAnswer } from "./answers.ts";
import type { LookFault } from "./fault.ts";
import { feeHistoryQuery, gasPriceQuery, type Query } from "./query.ts";
import type { Quorum } from "./quorum.ts";

/** The middle one; of an even number the lower of the two. Of three or more nodes no single one can push it anywhere. */
function middle(values: readonly bigint[]): bigint | null {
  const sorted = [...values].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? null;
}

type Tips = { readonly low: bigint; readonly medium: bigint; readonly high: bigint };

/** Middle of the blocks that had transactions; null when none had. */
function tipsOf({ reward }: FeeHistoryAnswer): Tips | null {
  const blocks = (reward ?? []).filter((row) => row.some((tip) => tip > 0n));
  const column = (i: number): bigint => middle(blocks.map((row) => row[i] ?? 0n)) ?? 0n;
  return blocks.length === 0 ? null : { low: column(0), medium: column(1), high: column(2) };
}

/** What gas costs after `header`, as the middle one of the nodes of the quorum says. All are asked: two cannot outvote one that lies. */
export async function readGasPrices(quorum: Quorum, header: HeaderAnswer, signal: AbortSignal): Promise<Result<GasPrices, LookFault>> {
  const { baseFeePerGas, gasUsed, gasLimit } = header;
  const queries: Query<bigint | FeeHistoryAnswer>[] = baseFeePerGas === null ? [gasPriceQuery] : [gasPriceQuery, feeHistoryQuery];
  const answers = await Promise.all(quorum.nodes.map((node) => node.ask(queries, null, quorum.timeoutMs, signal)));
  const values = answers.flatMap((list) => list.flatMap((answer) => (answer.ok ? [answer.value] : [])));
  const legacy = middle(values.filter((value) => typeof value === "bigint"));
  if (legacy === null) {
    const troubles = quorum.nodes.flatMap((node) => node.trouble ?? []);
    return err({ kind: "too_few", what: "the price of gas", have: 0, need: 1, troubles });
  }
  if (baseFeePerGas === null) return ok({ legacy, nextBaseFee: null, priority: null });
  const next = nextBaseFee({ baseFee: baseFeePerGas, gasUsed, gasLimit });
  const tips = values.flatMap((value) => (typeof value === "bigint" ? [] : (tipsOf(value) ?? [])));
  // Blocks without transactions say nothing; the single price is base fee and tip together.
  const usual = legacy > next ? legacy - next : 0n;
  const column = (name: keyof Tips): bigint => middle(tips.map((t) => t[name])) ?? usual;
  return ok({ legacy, nextBaseFee: next, priority: { low: column("low"), medium: column("medium"), high: column("high") } });
}
