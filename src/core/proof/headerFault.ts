/** Why headers are refused. `at` is the place among those handed over, from 0; hashes in display order. */
export type HeaderFault =
  /** The bytes are no headers of this coin. */
  | { readonly kind: "BadHeader"; readonly detail: string }
  /** It does not follow the header before it. */
  | { readonly kind: "NotLinked"; readonly at: number; readonly hash: string; readonly prevHash: string }
  /** The checkpoint of the coins file names another block at this height. */
  | { readonly kind: "NotCheckpoint"; readonly at: number; readonly hash: string; readonly expected: string }
  /** The hash is above the target, the Equihash solution is none, or the compact target means nothing. */
  | { readonly kind: "NoWork"; readonly at: number; readonly hash: string }
  /** Its target is not the one the chain's rules allow after the headers before it. */
  | { readonly kind: "WrongTarget"; readonly at: number; readonly hash: string; readonly bits: number }
  /** Not later than the median of the eleven before. */
  | { readonly kind: "TooOld"; readonly at: number; readonly hash: string; readonly timeSec: number }
  /** Further ahead of our clock than any node of the chain accepts: either it or our clock is wrong. */
  | { readonly kind: "FromFuture"; readonly at: number; readonly hash: string; readonly timeSec: number };
