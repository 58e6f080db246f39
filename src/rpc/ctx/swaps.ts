import type { ShownSwap } from "../../core/swap/shownSwap.ts";
import type { Result } from "../../core/util/result.ts";

export type SwapFilter = {
  readonly myCoin: string | undefined;
  readonly otherCoin: string | undefined;
  /** unix seconds; started_at >= from, started_at < to */
  readonly fromTimestamp: number | undefined;
  readonly toTimestamp: number | undefined;
};
export interface SwapsApi {
  /** From the stored record. Undefined when there is no such swap; rejects with `StorageError` `Corrupt` when the record is damaged. */
  status(uuid: string): Promise<ShownSwap | undefined>;
  /** For lists: swaps that are not there, or of which nothing can be shown because the record is damaged, are left out. */
  statuses(uuids: readonly string[]): Promise<ReadonlyMap<string, ShownSwap>>;
  /**
   * Swaps under the filter, newest first. `after`: start behind this uuid's place among them; null when it is not among
   * them although there are some. `total` counts all under the filter, `skipped` those left out in front.
   */
  page(
    filter: SwapFilter,
    page: { readonly after: string } | { readonly skip: number },
    limit: number,
  ): Promise<{ readonly uuids: readonly string[]; readonly total: number; readonly skipped: number } | null>;
  /** Running swaps, oldest first. */
  active(): readonly string[];
  /** Coins of the swaps and orders that were unfinished when the node started. */
  coinsNeededForKickStart(): readonly string[];
  /** Takes saved swaps of KDF that are over into the history, each for itself. By uuid, or by place where a swap does not tell its uuid. */
  importEnded(swaps: readonly unknown[]): Promise<{ readonly imported: readonly string[]; readonly skipped: ReadonlyMap<string, string> }>;
  recoverFunds(uuid: string, signal: AbortSignal): Promise<Result<RecoveredFunds, RecoverError>>;
}
export type RecoveredFunds = {
  readonly action: "RefundedMyPayment" | "SpentOtherPayment";
  readonly coin: string;
  readonly txid: string;
  readonly raw: Uint8Array;
};
export type RecoverError =
  | { readonly kind: "SwapNotFound" }
  | { readonly kind: "CoinNotActive"; readonly coin: string }
  | { readonly kind: "SwapNotFinished" }
  /** A sentence of reference rpc.md 5.3. */
  | { readonly kind: "NotRecoverable"; readonly reason: string };
