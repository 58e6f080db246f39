/** Leaves the `most` youngest of what is kept, in the order it was put in; what is left out goes with it in `dropped`. */
export function dropOldest<K>(
  kept: { readonly size: number; keys(): Iterable<K>; delete(key: K): unknown },
  most: number,
  dropped?: (key: K) => void,
): void {
  if (kept.size <= most) return;
  for (const oldest of kept.keys()) {
    kept.delete(oldest);
    dropped?.(oldest);
    if (kept.size <= most) return;
  }
}
