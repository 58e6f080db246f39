import { type EvmAddress, ZERO_ADDRESS } from "../../core/evm/address.ts";
import {
  ARB_SYS,
  CALL_SAMPLE,
  type DataCost,
  FEE_ORACLE,
  gasBeside,
  l1FeeCall,
  MOST_BESIDE,
  operatorFeeCall,
  parseOracleFee,
  SCROLL_ORACLE,
  sampleGas,
} from "../../core/evm/dataCost.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import type { LookFault } from "./fault.ts";
import { callQuery, codeQuery, estimateQuery, type Query } from "./query.ts";
import { asLookFault, type Quorum, quorumRead, type Read } from "./quorum.ts";

/** While a chain takes something for data it is asked again after so long, at a new block: what is asked for may then have risen by a third. */
const FRESH_MS = 20_000;
/** After an answer that could not be used. */
const AGAIN_MS = 5_000;

/**
 * The middle one of what all nodes say, of an even number the higher of the two.
 * @param most a figure above it keeps who asks from something, as a refusal does
 */
export function middleEstimate(
  query: Query<bigint>,
  most: bigint | null,
): {
  readonly query: Query<bigint>;
  readonly told: readonly bigint[];
  middle(): bigint | null;
  /** As much of that as so many say. */
  sure(need: number): bigint;
  /** Why that one is no answer though enough have given one: it is above `most`, and fewer than must agree say so. Null: it is one. */
  contested(quorum: Quorum): LookFault | null;
} {
  const told: bigint[] = [];
  const vote = (gas: bigint): string => {
    told.push(gas);
    return "an estimate";
  };
  const middle = (): bigint | null => {
    const sorted = [...told].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
    return sorted[Math.floor(sorted.length / 2)] ?? null;
  };
  const sure = (need: number): bigint => [...told].sort((a, b) => (a < b ? 1 : a > b ? -1 : 0))[need - 1] ?? 0n;
  const contested = ({ need, nodes }: Quorum): LookFault | null => {
    const gas = middle();
    if (most === null || gas === null || gas <= most || told.filter((one) => one > most).length >= need) return null;
    return { kind: "disagree", what: `the answer to ${query.method}`, nodes: nodes.map(({ name }) => name) };
  };
  return { query: { ...query, vote }, told, middle, sure, contested };
}

/** `isSettled`: the chain takes nothing for data, and has nothing that could ever take it. */
type ReadCost = { readonly cost: DataCost; readonly isSettled: boolean };

/**
 * Gas is the middle one of the estimates, above what any swap reckons with where as many as must agree say so; on a chain that has no Arbitrum contracts of as many as there are, and none where nodes estimate
 * nothing for an account that cannot pay (anvil). Wei is what a majority reads from the chain's own oracle at the block. In one request to each node.
 */
async function readDataCost(quorum: Quorum, from: EvmAddress, signal: AbortSignal): Promise<Result<ReadCost, LookFault>> {
  const estimate = middleEstimate(estimateQuery({ from, to: ZERO_ADDRESS, value: 0n, data: CALL_SAMPLE }), sampleGas(MOST_BESIDE));
  const operatorFee = { ...callQuery(FEE_ORACLE, operatorFeeCall()), mayBeReverted: true };
  const questions = [callQuery(FEE_ORACLE, l1FeeCall()), operatorFee, callQuery(SCROLL_ORACLE, l1FeeCall()), codeQuery(ARB_SYS)];
  const queries = [estimate.query, ...questions] as Query<bigint | Uint8Array>[];
  const [gas, l1, operator, scroll, arbitrum] = await quorumRead(quorum, queries, signal, quorum.nodes.length);
  if (!gas || !l1 || !operator || !scroll || !arbitrum) throw new Error("a question without an answer");
  // A majority answered in the same request that there are no Arbitrum contracts: nodes without an estimate refused it.
  if (!gas.ok && !isEmpty(arbitrum)) return err(asLookFault(gas.error));
  const contested = estimate.contested(quorum);
  if (contested) return err(contested);
  const units = estimate.middle() ?? 0n;
  let wei = 0n;
  for (const fee of [feeOf(l1, false), feeOf(operator, true), feeOf(scroll, false)]) {
    if (!fee.ok) return fee;
    wei += fee.value;
  }
  const sureGas = estimate.sure(quorum.need);
  const cost = { gas: units, wei, ...(gasBeside({ gas: sureGas }) < gasBeside({ gas: units }) ? { sureGas } : {}) };
  return ok({ cost, isSettled: gas.ok && gasBeside(cost) === 0n && [l1, operator, scroll, arbitrum].every(isEmpty) });
}

const isEmpty = (read: Read<bigint | Uint8Array>): boolean => read.ok && typeof read.value !== "bigint" && read.value.length === 0;

const unusable = (why: string): LookFault => ({
  kind: "too_few",
  what: "what the chain takes for data",
  have: 0,
  need: 1,
  troubles: [why],
});

/** @param isOptional an oracle may refuse this question, being older than it */
function feeOf(read: Read<bigint | Uint8Array>, isOptional: boolean): Result<bigint, LookFault> {
  if (!read.ok) {
    return isOptional && read.error.kind === "reverted" ? ok(0n) : err(asLookFault(read.error));
  }
  const fee = typeof read.value === "bigint" ? null : parseOracleFee(read.value);
  return fee?.ok ? fee : err(unusable(fee?.error.detail ?? "a number"));
}

/**
 * What the chain takes for data, as last read. A chain that takes nothing is asked once; one that does, again and again. What could not be
 * read leaves the last figure as it was.
 */
export class DataCostWatch {
  #cost: DataCost | null = null;
  #isSettled = false;
  #againAtMs = Number.NEGATIVE_INFINITY;
  #trouble: LookFault | null = null;

  get cost(): DataCost | null {
    return this.#cost;
  }
  /** Why it is not known, or not as it is now. */
  get trouble(): LookFault | null {
    return this.#trouble;
  }

  /** Asks where it is time to. */
  async look(quorum: Quorum, from: EvmAddress, nowMs: number, signal: AbortSignal): Promise<void> {
    if (this.#isSettled || nowMs < this.#againAtMs) return;
    const read = await readDataCost(quorum, from, signal);
    if (read.ok) {
      this.#cost = read.value.cost;
      this.#isSettled = read.value.isSettled;
    }
    this.#trouble = read.ok ? null : read.error;
    this.#againAtMs = nowMs + (read.ok ? FRESH_MS : AGAIN_MS);
  }
}
