import type { Rational } from "../core/money/rational.ts";

/**
 * `of(a, b)`, kept with `a` until it is asked with another `b`. Numbers of orders that stand come again with every call, and what is
 * worked out from them keeps its forms in turn (`money.ts`). Nothing outlives `a`. Numbers are told apart as objects, never by value.
 */
export function remembered(of: (a: Rational, b: Rational) => Rational): (a: Rational, b: Rational) => Rational {
  const kept = new WeakMap<Rational, { readonly b: Rational; readonly value: Rational }>();
  return (a, b) => {
    const last = kept.get(a);
    if (last?.b === b) return last.value;
    const value = of(a, b);
    kept.set(a, { b, value });
    return value;
  };
}
