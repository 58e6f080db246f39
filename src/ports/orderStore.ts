import type { Rational } from "../core/money/rational.ts";

export type OrderKind = "Maker" | "Taker";

/** An order as text of the repository's caller; the store does not look inside. */
export type OrderRecord = { readonly uuid: string; readonly kind: OrderKind; readonly record: string };
/** An order as it was found on disk: whether it is still what was written, its reader says. */
export type StoredOrder = { readonly uuid: string; readonly kind: string; readonly record: string };

/** A new row of the history table, in KDF's columns (reference rpc.md 6.8). Its status starts as `Created`. */
export type NewHistoryRow = {
  readonly uuid: string;
  readonly kind: OrderKind;
  readonly initialAction: "Sell" | "Buy";
  readonly base: string;
  readonly rel: string;
  readonly price: Rational;
  readonly volume: Rational;
  readonly createdAtMs: number;
};

export type OrderChange =
  /** Writes or replaces a live order. A new one is refused where the disk has room left only for what has begun. */
  | { readonly change: "put"; readonly order: OrderRecord; readonly isNew?: boolean }
  /** The order is not live any more. Absent: nothing happens. */
  | { readonly change: "remove"; readonly uuid: string }
  | { readonly change: "historyRow"; readonly row: NewHistoryRow }
  /** New status of a row: `Updated` or the reason of the end. Absent: nothing happens. */
  | { readonly change: "status"; readonly uuid: string; readonly status: string; readonly atMs: number }
  /**
   * Its author changed the maker order: the row shows the new terms, in its own coins, its status is `Updated`. Absent: nothing happens.
   * `price`: rel per base of the maker order, positive; `volume`: its base.
   */
  | { readonly change: "updatedTerms"; readonly uuid: string; readonly price: Rational; readonly volume: Rational; readonly atMs: number }
  /** A taker's row goes on as a maker's. */
  | { readonly change: "becameMaker"; readonly uuid: string; readonly atMs: number }
  /** Last state of an ended order. */
  | { readonly change: "ended"; readonly order: OrderRecord }
  /** A taker uuid this node agreed to swap under, as maker; remembered for ever. Refused where a new order would be. */
  | { readonly change: "swapAgreed"; readonly takerUuid: string; readonly makerUuid: string; readonly atMs: number };

/** Conditions on rows of the history, all to be met. Prices and volumes as the rows show them, bounds included. */
export type HistoryFilter = {
  /** What the order is now, or was at its end. */
  readonly kind?: OrderKind | undefined;
  readonly initialAction?: "Sell" | "Buy" | undefined;
  readonly base?: string | undefined;
  readonly rel?: string | undefined;
  readonly fromPrice?: Rational | undefined;
  readonly toPrice?: Rational | undefined;
  readonly fromVolume?: Rational | undefined;
  readonly toVolume?: Rational | undefined;
  /** Of the creation, unix ms. */
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
  readonly wasTaker?: boolean | undefined;
  readonly status?: string | undefined;
};

/** A row of the history table. Price and volume as the database keeps them: doubles. Times unix ms. */
export type HistoryRow = {
  readonly uuid: string;
  readonly kind: string;
  readonly initialAction: string;
  readonly base: string;
  readonly rel: string;
  readonly price: number;
  readonly volume: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly wasTaker: boolean;
  readonly status: string;
};

/** Own orders on disk. Implemented by `adapters/sqlite/orderStore.ts`. */
export interface OrderStore {
  /** All or nothing; fsynced when it resolves. Rejects with `StorageError`. */
  apply(changes: readonly OrderChange[]): Promise<void>;
  /** Live orders, oldest first. */
  live(): Promise<readonly StoredOrder[]>;
  /** An ended order kept in history, with the status of its row. */
  ended(uuid: string): Promise<{ readonly order: StoredOrder; readonly status: string } | null>;
  /** Rows under the filter, newest first, `limit` at most. */
  history(filter: HistoryFilter, limit: number): Promise<readonly HistoryRow[]>;
  /** Ended orders kept in history among these uuids, in no order. */
  endedOrders(uuids: readonly string[]): Promise<readonly StoredOrder[]>;
  /** Whether this node ever agreed to a swap under this taker uuid. */
  swapAgreed(takerUuid: string): Promise<boolean>;
}
