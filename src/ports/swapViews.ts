import type { KeptSwap } from "../core/swap/kdfStatus.ts";
import type { ShownSwap } from "../core/swap/shownSwap.ts";

/** What can be shown of a swap without folding its log: the status made of it before, or what KDF stored of a swap that ended there. */
export type SwapView = { readonly status: ShownSwap } | { readonly kept: KeptSwap };

/** A status and the number of events it was made from. */
export type MadeStatus = { readonly uuid: string; readonly events: number; readonly status: ShownSwap };

/**
 * Statuses kept beside the logs they were made from, for lists. The logs decide: a status is shown only while its log ends as it did
 * then, and only by the program that made it. All of it may be thrown away at any time.
 */
export interface SwapViews {
  /** Those there are, all in one look. Whatever is damaged is left out. */
  read(uuids: readonly string[]): Promise<ReadonlyMap<string, SwapView>>;
  /** Of the newest swaps, from this place on: settled ones with a log whose status is not there. `looked`: how many swaps there were. */
  missing(skip: number, limit: number): Promise<{ readonly looked: number; readonly uuids: readonly string[] }>;
  /** Keeps statuses; one whose log has gone on since will not be read. */
  keep(made: readonly MadeStatus[]): Promise<void>;
}
