import type { FeePolicy } from "../../core/coin/utxoKind.ts";
import { fromUnits, type Rational } from "../../core/money/rational.ts";
import type { BuildError } from "../../core/utxo/buildTx.ts";
import type { FeeRate } from "../../core/utxo/feeRate.ts";
import type { Unfunded } from "../tradingCoin.ts";

export type Stage = "start" | "order" | "preimage";

/** Multiples of the volatility by which a dynamic rate is raised (reference rpc.md 9.4), in tenths. */
const STAGE_TENTHS: { readonly [S in Stage]: bigint } = { start: 10n, order: 20n, preimage: 25n };
/** Rate used when the backend has no estimate, or one not above this: base units per 1000 bytes. */
const FALLBACK_PER_KB = 1_000n;

/** What the rate depends on; from the coin's kind. */
export type RateRule = { readonly feePolicy: FeePolicy; readonly feeVolatilityPercent: number };

/**
 * The rate for a stage. A fixed rate has no margin. Never below what the backend relays: a transaction nobody relays
 * is a payment nobody sees.
 * @param stage null: without margin, as claims and refunds are reckoned
 */
export function stageRate(rule: RateRule, estimate: bigint | null, relayFloor: bigint | null, stage: Stage | null): FeeRate {
  const floor = relayFloor ?? 0n;
  const atLeast = (perKb: bigint): bigint => (perKb < floor ? floor : perKb);
  if (rule.feePolicy.kind === "fixed") return { ...rule.feePolicy.rate, perKb: atLeast(rule.feePolicy.rate.perKb) };
  const base = estimate !== null && estimate > FALLBACK_PER_KB ? estimate : FALLBACK_PER_KB;
  if (stage === null) return { perKb: atLeast(base), wholeKb: false };
  // rate + round(rate * q / 100), q in percent: here in hundredths of a percent times tenths, so per 100,000.
  const share = base * BigInt(Math.round(rule.feeVolatilityPercent * 100)) * STAGE_TENTHS[stage];
  return { perKb: atLeast(base + (share + 50_000n) / 100_000n), wholeKb: false };
}

/** A rate raised to a multiple: the ceiling that promises of funds are reckoned with. */
export const raisedRate = (rate: FeeRate, factor: number): FeeRate => ({ ...rate, perKb: rate.perKb * BigInt(factor) });

export const lowerRate = (a: FeeRate, b: FeeRate): FeeRate => (b.perKb < a.perKb ? b : a);

/** KDF's error for a transaction that cannot be built (reference rpc.md 4.1.1). `outputs`: value of its outputs. */
export function buildErrorToFunds(coin: string, decimals: number, outputs: bigint, e: BuildError): Unfunded {
  const whole = (units: bigint): Rational => fromUnits(units, decimals);
  switch (e.kind) {
    case "OutputBelowDust":
      return { kind: "VolumeTooLow", coin, volume: whole(e.value), threshold: whole(e.dust) };
    case "NotEnough":
    case "TooManyInputs": {
      const required = e.available === 0n ? outputs : e.required;
      return { kind: "NotSufficientBalance", coin, available: whole(e.available), required: whole(required), lockedBySwaps: null };
    }
  }
}
