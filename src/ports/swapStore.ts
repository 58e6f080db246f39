import type { Role, StoredEvent } from "../core/swap/events.ts";
import type { KeptSwap } from "../core/swap/kdfStatus.ts";

/** What lists and filters need of a swap without reading its log. */
export type ListedSwap = {
  readonly uuid: string;
  readonly myCoin: string;
  readonly otherCoin: string;
  /** unix seconds */
  readonly startedAt: number;
  readonly finished: boolean;
};
export type SwapSummary = ListedSwap & { readonly role: Role };

export type SwapFilter = {
  readonly myCoin?: string;
  readonly otherCoin?: string;
  /** `startedAt` >= this, seconds */
  readonly fromSec?: number;
  /** `startedAt` < this, seconds */
  readonly toSec?: number;
};

/** Where a page begins: behind this swap, or behind so many. */
export type SwapPageStart = { readonly after: string } | { readonly skip: number };
/** `total`: all under the filter; `skipped`: those in front of the page. */
export type SwapPage = { readonly uuids: readonly string[]; readonly total: number; readonly skipped: number };

/** Values that must never serve two swaps; storing one for a second swap rejects the whole write. */
export type UniqueMark = { readonly kind: "secret_hash" | "fee_tx"; readonly value: string };

/** A swap of KDF that is over: nothing of it is folded, it is shown as KDF stored it. Marks taken already stay as they are. */
export type EndedElsewhere = { readonly summary: SwapSummary; readonly kept: KeptSwap; readonly marks: readonly UniqueMark[] };

/** The swap log. Every resolved write is durable (fsynced). */
export interface SwapStore {
  /** Why no swap can be stored now, as far as is known: nothing should be promised then. Absent: nothing but a write tells. */
  obstacle?(): string | null;
  /** First event of a new swap. Rejects when the uuid was ever used, or a mark is taken. */
  create(summary: SwapSummary, first: StoredEvent, marks: readonly UniqueMark[]): Promise<void>;
  /** Event number `seq` (the first is 0). Rejects when that number exists: two writers would corrupt the fold. */
  append(uuid: string, seq: number, event: StoredEvent, marks: readonly UniqueMark[]): Promise<void>;
  /** Nothing more can change: the deciding transaction is deep. */
  markSettled(uuid: string): Promise<void>;
  /** All or none. Rejects when a uuid was ever used. */
  addEnded(swaps: readonly EndedElsewhere[]): Promise<void>;
  /** A swap that ended elsewhere; null for any other. */
  endedElsewhere(uuid: string): Promise<KeptSwap | null>;
  /** Empty for a swap this node never had, and for one that ended elsewhere. Rejects with `StorageError` `Corrupt`, naming swap and event, when a record was changed or is missing. */
  log(uuid: string): Promise<readonly StoredEvent[]>;
  has(uuid: string): Promise<boolean>;
  /** Every uuid ever used, in no order. */
  allUuids(): Promise<readonly string[]>;
  isMarked(mark: UniqueMark): Promise<boolean>;
  /** Swaps to resume at start-up, oldest first. */
  unsettled(): Promise<readonly ListedSwap[]>;
  /**
   * One page of the swaps under a filter, newest `startedAt` first, ties by insertion, newest first. None under the filter is an
   * empty page; null: there are some, and `after` is none of them. Swaps that others have stored since the first page are not seen.
   */
  page(filter: SwapFilter, start: SwapPageStart, limit: number): Promise<SwapPage | null>;
}
