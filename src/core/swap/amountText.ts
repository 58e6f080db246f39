import { type Rational, rational, reduce, toDecimalString } from "../money/rational.ts";
import type { RationalText } from "./events.ts";

/** `numerator/denominator` of a value in lowest terms; the stored form of exact amounts. */
export function rationalToText(a: Rational): RationalText {
  const r = reduce(a);
  return `${r.n}/${r.d}`;
}

/** Reads what `rationalToText` wrote. Throws on anything else: our own store is broken then. */
export function textToRational(text: RationalText): Rational {
  const m = /^(-?\d+)\/(\d+)$/.exec(text);
  if (!m?.[1] || !m[2]) throw new Error(`not a stored amount: ${text}`);
  return rational(BigInt(m[1]), BigInt(m[2]));
}

export const textToDecimal = (text: RationalText): string => toDecimalString(textToRational(text));
