import { type Rng, randomBelow } from "../../src/ports/rng.ts";

/** One of the items, each as likely. Throws when there are none. */
export function pick<T>(rng: Rng, items: readonly T[]): T {
  const item = items[randomBelow(rng, items.length)];
  if (item === undefined) throw new Error("nothing to pick from");
  return item;
}

/** A whole number from `from` to `to`, both included. */
export const between = (rng: Rng, from: number, to: number): number => from + randomBelow(rng, Math.floor(to - from) + 1);

/** True with a probability, 0 to 1, in steps of a millionth. */
export const happens = (rng: Rng, probability: number): boolean => randomBelow(rng, 1_000_000) < probability * 1_000_000;

/** Time to the next of events that come `mean` apart on average (exponential), at least 1 and at most `most`. */
export function waitFor(rng: Rng, mean: number, most: number): number {
  const u = (randomBelow(rng, 1_000_000) + 1) / 1_000_001;
  return Math.max(1, Math.min(most, Math.round(-Math.log(u) * mean)));
}
