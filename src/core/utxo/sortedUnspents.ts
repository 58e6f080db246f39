import type { OutPoint } from "./tx.ts";

/** A spendable own output. `value` in base units. */
export type Unspent = OutPoint & { readonly value: bigint; readonly script: Uint8Array };

declare const isSorted: unique symbol;

/**
 * Outputs ascending by value, ties by outpoint, so that the same wallet always gives the same transaction. A thousand promises are
 * replayed from one wallet's outputs: they are sorted once, and all that is made of them keeps the order.
 */
export type SortedUnspents<T extends Unspent = Unspent> = readonly T[] & { readonly [isSorted]: true };

function inOrder(a: Unspent, b: Unspent): number {
  if (a.value !== b.value) return a.value < b.value ? -1 : 1;
  if (a.txid !== b.txid) return a.txid < b.txid ? -1 : 1;
  return a.vout - b.vout;
}

const kept = <T extends Unspent>(unspents: readonly T[]): SortedUnspents<T> => unspents as SortedUnspents<T>;

/** Those of any order, in order. */
export const sortUnspents = <T extends Unspent>(unspents: readonly T[]): SortedUnspents<T> => kept([...unspents].sort(inOrder));

/** From `from` (included) to `to` (excluded), as `Array.slice` counts them. */
export const sliceUnspents = (unspents: SortedUnspents, from: number, to?: number): SortedUnspents => kept(unspents.slice(from, to));

/** Those that are worth more than `value`, base units; one search, however many there are. */
export const unspentsAbove = (unspents: SortedUnspents, value: bigint): SortedUnspents => {
  const from = firstWhere(unspents, (u) => u.value > value);
  return from === 0 ? unspents : kept(unspents.slice(from));
};

/** Those that pass. */
export const filterUnspents = <T extends Unspent>(unspents: SortedUnspents<T>, passes: (unspent: T) => boolean): SortedUnspents<T> =>
  kept(unspents.filter(passes));

/** The `count` largest. */
export const largestUnspents = (unspents: SortedUnspents, count: number): SortedUnspents =>
  unspents.length > count ? kept(unspents.slice(-count)) : unspents;

/** With these, too. */
export function withUnspents<T extends Unspent>(unspents: SortedUnspents<T>, more: readonly T[]): SortedUnspents<T> {
  if (more.length === 0) return unspents;
  const all = [...unspents];
  for (const unspent of more) all.splice(firstFrom(all, unspent), 0, unspent);
  return kept(all);
}

/** Without these; those that are not there are passed over. */
export function withoutUnspents<T extends Unspent>(unspents: SortedUnspents<T>, gone: readonly Unspent[]): SortedUnspents<T> {
  const left = [...unspents];
  for (const unspent of gone) {
    const at = firstFrom(left, unspent);
    const found = left[at];
    if (found && inOrder(found, unspent) === 0) left.splice(at, 1);
  }
  return left.length === unspents.length ? unspents : kept(left);
}

/** Where the first that does not come before `unspent` stands. */
function firstFrom(unspents: readonly Unspent[], unspent: Unspent): number {
  return firstWhere(unspents, (other) => inOrder(other, unspent) >= 0);
}

/** Index of the first that passes where all after it pass, too; the length where none does. */
function firstWhere(unspents: readonly Unspent[], passes: (unspent: Unspent) => boolean): number {
  let [low, high] = [0, unspents.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const at = unspents[middle];
    if (at && passes(at)) high = middle;
    else low = middle + 1;
  }
  return low;
}
