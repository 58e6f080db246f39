import { parseDecimal, type Rational, rational } from "../core/money/rational.ts";
import { parseRationalValue } from "../core/money/rationalValue.ts";
import { err, ok } from "../core/util/result.ts";
import { defaulted, optional, type Read, required } from "./field.ts";
import { isJsonObject, JsonNumber } from "./jsonNumber.ts";
import { rawJson } from "./serdeText.ts";

/**
 * Amounts and prices in requests (reference rpc.md 3.1, 3.2): decimal text, JSON number, RationalValue
 * `[[sign,[limbs]],[sign,[limbs]]]` or FractionalValue `{"numer","denom"}`; tried in that order; always reduced.
 * A JSON number is read from its text, so all its digits count (KDF reads it through a double and keeps some 15).
 * Bounds: 1,000 characters or an exponent of 1,000 in a decimal (`parseDecimal`), 1,000 digits per side of a
 * fraction, 128 limbs per side of a rational.
 */
export const MAX_INTEGER_CHARS = 1_000;

export const readMmNumber: Read<Rational> = (value) => {
  const parsed = fromDecimal(value) ?? parseRationalValue(value) ?? fromFraction(value);
  return parsed ? ok(parsed) : err(`Could not deserialize any variant of MmNumber from ${rawJson(value)}`);
};

/** Plain decimal only: `amount` of `withdraw`. */
export const readDecimal: Read<Rational> = (value) => {
  const parsed = fromDecimal(value);
  return parsed ? ok(parsed) : err(`invalid decimal number: ${rawJson(value)}`);
};

function fromDecimal(value: unknown): Rational | undefined {
  if (typeof value === "bigint") return { n: value, d: 1n };
  const text = value instanceof JsonNumber ? value.source : typeof value === "number" ? String(value) : value;
  if (typeof text !== "string") return undefined;
  const parsed = parseDecimal(text);
  return parsed.ok ? parsed.value : undefined;
}

function fromFraction(value: unknown): Rational | undefined {
  if (!isJsonObject(value)) return undefined;
  const n = integer(value.numer);
  const d = integer(value.denom);
  return n === undefined || d === undefined || d === 0n ? undefined : rational(n, d);
}

function integer(value: unknown): bigint | undefined {
  if (typeof value !== "string" || value.length > MAX_INTEGER_CHARS || !/^[+-]?\d[\d_]*$/.test(value)) return undefined;
  const digits = value.replaceAll("_", "");
  return digits.startsWith("+") ? BigInt(digits.slice(1)) : BigInt(digits);
}

const INPUT = {
  title: "MmNumber",
  oneOf: [
    { type: "string", description: "Decimal number." },
    { type: "number", description: "Exact, however many digits: it is read as it is written." },
    { type: "array", minItems: 2, maxItems: 2, items: { type: "array" }, description: "RationalValue `[[sign,[limbs]],[sign,[limbs]]]`." },
    {
      type: "object",
      properties: { numer: { type: "string" }, denom: { type: "string" } },
      required: ["numer", "denom"],
      description: "FractionalValue.",
    },
  ],
};

export const mmNumber = () => required(readMmNumber, INPUT);
export const optionalMmNumber = () => optional(readMmNumber, INPUT);
export const defaultedMmNumber = (fallback: Rational) => defaulted(readMmNumber, fallback, INPUT);
