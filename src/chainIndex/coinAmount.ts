import { err, ok, type Result } from "../core/util/result.ts";

/** Why a value is not what the method answers. Never holds the value itself: it may be large. */
export type BadAnswer = { readonly detail: string };

/** Greatest value of an output: a signed 64-bit integer. */
const MAX_AMOUNT = 2n ** 63n - 1n;

const bad = (detail: string): Result<never, BadAnswer> => err({ detail });

/**
 * Whole coins as a JSON number or decimal text, to base units.
 * @param round where digits beyond the coin's decimals go; amounts must have none, fee rates are rounded up
 */
export function parseAmount(value: unknown, decimals: number, round: "exact" | "up"): Result<bigint, BadAnswer> {
  const text = typeof value === "number" ? (Number.isFinite(value) ? decimalText(value, decimals + 1) : "") : value;
  if (typeof text !== "string" || text.length > 40) return bad("not an amount");
  const match = /^(\d{1,18})(?:\.(\d{1,20}))?(?:[eE](-?\d{1,2}))?$/.exec(text);
  if (match === null) return bad("not an amount");
  const [, whole = "", fraction = "", exponent = "0"] = match;
  const shift = decimals + Number(exponent) - fraction.length;
  const digits = BigInt(whole + fraction);
  if (typeof value === "number" && !isExactDouble(value, digits)) return bad("an amount too large to be exact");
  const unit = 10n ** BigInt(Math.max(0, -shift));
  const rest = digits % unit;
  if (rest !== 0n && round === "exact") return bad("more digits than the coin has");
  const units = (digits * 10n ** BigInt(Math.max(0, shift))) / unit + (rest === 0n ? 0n : 1n);
  return units <= MAX_AMOUNT ? ok(units) : bad("an amount larger than any output can hold");
}

/** Whether a decimal of up to 8 places survives being a double: 15 digits always do, and below 2^25 neighbours are closer than 1e-8. */
const isExactDouble = (value: number, digits: bigint): boolean => digits < 10n ** 15n || value < 2 ** 25;

/** Plain or exponent form, as short as it goes; never negative here. */
const decimalText = (value: number, digits: number): string => (value !== 0 && value < 1e-6 ? value.toFixed(digits) : String(value));
