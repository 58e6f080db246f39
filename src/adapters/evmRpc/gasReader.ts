import { type GasPrices, leastTip, nextBaseFee } from "../../core/evm/gas.ts";
import { max } from "../../core/util/bigints.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import type { FeeHistoryAnswer, HeaderAnswer } from "./answers.ts";
import { askInTurn } from "./askInTurn.ts";
import type { NodeAnswer } from "./evmNode.ts";
import type { LookFault } from "./fault.ts";
import { feeHistoryQuery, gasPriceQuery, type Query } from "./query.ts";
import type { Quorum } from "./quorum.ts";

/** The higher of two answers counts up to so many times the lower: a match holds gas for as much (`SafetyRules.feeCeilingFactor`). */
const SPREAD = 8n;
/** Or up to this, wei per gas, where nothing proves what gas costs: for a claim some hundredths of a coin at most. */
const HARMLESS = 50n * 10n ** 9n;
/** A base fee below this, wei, says nothing of what blocks take: BNB Smart Chain has none to speak of, and asks for tips. */
const LEAST_TELLING = 10n ** 6n;
/** Wei per gas: no pool takes less of a tip (geth's `txpool.pricelimit`), though blocks hold some without any, of whoever made them. */
const LEAST_TAKEN = 1n;

/**
 * What several nodes say a price is: the middle one; of an even number the higher of the two in the middle, because one who says too little
 * would have everything of the account wait. One of two may as well say too much: the higher counts no further than some times the
 * lower, or `known`. So does what one of several says alone: no further than `known`, or what does no harm.
 * @param known wei per gas that need no node's word
 * @param need how many must agree on anything else
 */
function agreedPrice(values: readonly bigint[], known: bigint, need: number): bigint | null {
  const [low, high] = middleTwo(values);
  if (low !== null && values.length === 1 && need > 1) {
    const most = known > HARMLESS ? known : HARMLESS;
    return low < most ? low : most;
  }
  if (low === null || high === null || low === high) return high;
  const most = low * SPREAD > known ? low * SPREAD : known;
  return high < most ? high : most;
}

function middleTwo(values: readonly bigint[]): readonly [low: bigint | null, high: bigint | null] {
  const sorted = [...values].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  return [sorted[Math.floor((sorted.length - 1) / 2)] ?? null, sorted[Math.floor(sorted.length / 2)] ?? null];
}

/**
 * What a single price may be whoever names it: twice the base fee after a block that a majority has. Without one, or where the lower of two
 * prices is far below it and so made up or of a node that does not count, as much as does no harm.
 */
function knownPrice(prices: readonly bigint[], next: bigint | null): bigint {
  const [low] = middleTwo(prices);
  const proven = 2n * (next ?? 0n);
  const isProven = proven >= 2n * LEAST_TELLING && low !== null && 4n * low >= proven;
  return isProven || proven > HARMLESS ? proven : HARMLESS;
}

type Tips = { readonly low: bigint; readonly medium: bigint; readonly high: bigint };

/** Middle of the blocks that had transactions; null when none had. */
function tipsOf({ reward }: FeeHistoryAnswer): Tips | null {
  const blocks = (reward ?? []).filter((row) => row.some((tip) => tip > 0n));
  const column = (i: number): bigint => middleTwo(blocks.map((row) => row[i] ?? 0n))[0] ?? 0n;
  return blocks.length === 0 ? null : { low: column(0), medium: column(1), high: column(2) };
}

/** What the nodes say; of those that say nothing while as many have answered as must agree, nobody is waited for long. */
async function askAll<T>(quorum: Quorum, queries: readonly Query<T>[], signal: AbortSignal): Promise<NodeAnswer<T>[][]> {
  const { nodes, need, timeoutMs, clock } = quorum;
  const told: NodeAnswer<T>[][] = [];
  const isDone = (): boolean => told.filter((answers) => answers.some(({ ok: isTold }) => isTold)).length >= need;
  await askInTurn(nodes, { clock, first: nodes.length, isDone, waitsForMore: true }, signal, async (node, s) => {
    told.push([...(await node.ask(queries, null, timeoutMs, s))]);
  });
  return told;
}

function nextFee({ baseFeePerGas, gasUsed, gasLimit }: HeaderAnswer): bigint | null {
  return baseFeePerGas === null ? null : nextBaseFee({ baseFee: baseFeePerGas, gasUsed, gasLimit });
}

/**
 * Prices that no node tells any more, after a later block: its base fee needs no node's word, and what was paid beside it may still be. A bid
 * below it would be in no block, and have shown its secret.
 */
export function pricesAfter(old: GasPrices | null, header: HeaderAnswer): GasPrices | null {
  const next = nextFee(header);
  if (old?.priority == null || next === null) return old;
  return { legacy: next + old.priority.medium, nextBaseFee: next, priority: old.priority };
}

/**
 * What gas costs after `header`, as the middle one of the nodes of the quorum says. All are asked, and the only one that answers is believed, within bounds
 * where others were given: without a price nothing goes out.
 */
export async function readGasPrices(
  quorum: Quorum,
  header: HeaderAnswer,
  chainId: bigint,
  signal: AbortSignal,
): Promise<Result<GasPrices, LookFault>> {
  const { baseFeePerGas } = header;
  const queries: Query<bigint | FeeHistoryAnswer>[] = baseFeePerGas === null ? [gasPriceQuery] : [gasPriceQuery, feeHistoryQuery];
  const answers = await askAll(quorum, queries, signal);
  const values = answers.flatMap((list) => list.flatMap((answer) => (answer.ok ? [answer.value] : [])));
  const next = nextFee(header);
  const prices = values.filter((value) => typeof value === "bigint");
  const legacy = agreedPrice(prices, knownPrice(prices, next), quorum.need);
  if (legacy === null) {
    const troubles = quorum.nodes.flatMap((node) => node.trouble ?? []);
    return err({ kind: "too_few", what: "the price of gas", have: 0, need: 1, troubles });
  }
  if (next === null) return ok({ legacy, nextBaseFee: null, priority: null });
  // Blocks without transactions say nothing; the single price is base fee and tip together. It is the vote of whoever saw no tips: without
  // one, on a quiet chain a single node that names tips would say them alone.
  const usual = legacy > next ? legacy - next : 0n;
  const tips = values.flatMap((value) => (typeof value === "bigint" ? [] : (tipsOf(value) ?? { low: usual, medium: usual, high: usual })));
  const known = usual > next ? usual : next;
  const least = leastTip(chainId);
  const column = (name: keyof Tips): bigint => {
    const told = tips.map((t) => t[name]);
    return max(agreedPrice(told, known, quorum.need) ?? usual, max(least, LEAST_TAKEN));
  };
  const single = least === 0n ? legacy : max(legacy, next + least);
  return ok({ legacy: single, nextBaseFee: next, priority: { low: column("low"), medium: column("medium"), high: column("high") } });
}
