import { eq, fromUnits, parseDecimal, toUnits } from "../core/money/rational.ts";
import { err, ok, type Result } from "../core/util/result.ts";
import { MAX_MONEY } from "./chainParams.ts";

/** Decimals of every chain here. */
const DECIMALS = 8;

/** Amount as the JSON number a daemon prints. Exact up to 67 million coins: two base units never meet in one double there. */
export const unitsToJson = (units: bigint): number => Number(units) / 1e8;

/** Amount with eight decimals, for messages. */
export function formatCoins(units: bigint): string {
  const digits = units.toString().padStart(DECIMALS + 1, "0");
  return `${digits.slice(0, -DECIMALS)}.${digits.slice(-DECIMALS)}`;
}

/** Base units of an amount in a request, number or text; refused when negative, too large or with more than 8 decimals. */
export function parseAmount(value: unknown): Result<bigint, { readonly kind: "BadAmount" }> {
  const text = typeof value === "number" ? String(value) : value;
  const parsed = typeof text === "string" ? parseDecimal(text) : err({ kind: "NotADecimal" as const });
  if (!parsed.ok) return err({ kind: "BadAmount" });
  const units = toUnits(parsed.value, DECIMALS);
  const exact = eq(fromUnits(units, DECIMALS), parsed.value);
  return exact && units >= 0n && units <= MAX_MONEY ? ok(units) : err({ kind: "BadAmount" });
}
