import { z } from "zod";
import { type Rational, reduce, toDecimalString } from "../core/money/rational.ts";
import { named } from "./named.ts";

/** Output forms of amounts and prices (reference rpc.md 3.2 to 3.4). */

type Limbs = [sign: number, words: number[]];
export type RationalValue = [numer: Limbs, denom: Limbs];
export type FractionalValue = { numer: string; denom: string };

const part = z.tuple([z.number(), z.array(z.number())]);
export const decimalText = z.string().describe("Decimal number; at most 100 significant digits when it does not end.");
const rationalValue = named(
  "RationalValue",
  z.tuple([part, part]).describe("Numerator and denominator, each [sign, words of 32 bits, least significant first]."),
);
export const fractionalValue = named(
  "FractionalValue",
  z.object({ numer: z.string(), denom: z.string() }).describe("Whole numbers as text."),
);

function integerToLimbs(value: bigint): Limbs {
  const limbs: number[] = [];
  for (let rest = value < 0n ? -value : value; rest > 0n; rest >>= 32n) limbs.push(Number(rest & 0xffff_ffffn));
  return [value > 0n ? 1 : value < 0n ? -1 : 0, limbs];
}

/** One value in every form; several replies and fields show the same one, and each form costs a division of long numbers. */
type Forms = { readonly decimal: string; readonly rational: RationalValue; readonly fraction: FractionalValue };
const known = new WeakMap<Rational, Forms>();

function formsOf(a: Rational): Forms {
  let forms = known.get(a);
  if (!forms) {
    const { n, d } = reduce(a);
    forms = {
      decimal: toDecimalString({ n, d }),
      rational: [integerToLimbs(n), integerToLimbs(d)],
      fraction: { numer: n.toString(), denom: d.toString() },
    };
    known.set(a, forms);
  }
  return forms;
}

export const toRationalValue = (a: Rational): RationalValue => formsOf(a).rational;
export const toFraction = (a: Rational): FractionalValue => formsOf(a).fraction;

/** `name`, `name_rat`. */
export const pairOf = <N extends string>(name: N, a: Rational) =>
  ({ [name]: formsOf(a).decimal, [`${name}_rat`]: toRationalValue(a) }) as { [K in N]: string } & { [K in `${N}_rat`]: RationalValue };

/** `name`, `name_fraction`, `name_rat`. */
export const tripleOf = <N extends string>(name: N, a: Rational) =>
  ({ [name]: formsOf(a).decimal, [`${name}_fraction`]: toFraction(a), [`${name}_rat`]: toRationalValue(a) }) as { [K in N]: string } & {
    [K in `${N}_fraction`]: FractionalValue;
  } & { [K in `${N}_rat`]: RationalValue };

/** `{decimal, rational, fraction}`: the form of the versioned methods. */
export const detailOf = (a: Rational): Forms => formsOf(a);
export const numberDetail = named("NumberDetail", z.object({ decimal: decimalText, rational: rationalValue, fraction: fractionalValue }));

export const pairShape = <N extends string>(name: N) =>
  ({ [name]: decimalText, [`${name}_rat`]: rationalValue }) as { [K in N]: typeof decimalText } & {
    [K in `${N}_rat`]: typeof rationalValue;
  };
export const tripleShape = <N extends string>(name: N) =>
  ({ ...pairShape(name), [`${name}_fraction`]: fractionalValue }) as ReturnType<typeof pairShape<N>> & {
    [K in `${N}_fraction`]: typeof fractionalValue;
  };
