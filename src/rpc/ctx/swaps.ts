import type { Result } from "../../core/util/result.ts";

/** A swap status in the shape of reference rpc.md 7.1. */
export type SwapStatus = { readonly [key: string]: unknown };
export type SwapFilter = {
  readonly myCoin: string | undefined;
  readonly otherCoin: string | undefined;
  /** unix seconds; started_at >= from, started_at < to */
  readonly fromTimestamp: number | undefined;
  readonly toTimestamp: number | undefined;
};
export interface SwapsApi {
  /** Undefined when there is no such swap. */
  status(uuid: string): Promise<SwapStatus | undefined>;
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
