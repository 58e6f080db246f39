import type { OutPoint } from "../core/utxo/tx.ts";
import type { BlockRef } from "./chain.ts";

/** Header of a block on the best chain, as far as the index needs it. Hashes in display order. */
export type StoredHeader = BlockRef & {
  readonly prevHash: string;
  /** Unix seconds. */
  readonly timeSec: number;
};

/** `key`: lower-case hex of a script, or a txid in display order. */
export type WatchKey = { readonly kind: "script" | "tx"; readonly key: string };

export type StoredWatch = WatchKey & {
  readonly fromHeight: number;
  /** First height still to be read for this watch; null when it is covered up to the stored tip. */
  readonly nextHeight: number | null;
  /** It was covered by what servers told, which counts on for blocks that cannot be read again now. Means nothing once it is covered. */
  readonly wasTold?: boolean;
};

/** The same watch of which nothing is known. */
export const unreadWatch = ({ kind, key, fromHeight }: StoredWatch): StoredWatch => ({ kind, key, fromHeight, nextHeight: fromHeight });

export type StoredTx = {
  readonly txid: string;
  /** Null when only the daemon's UTXO set told of it (the block is pruned or was never read). */
  readonly raw: Uint8Array | null;
  readonly block: BlockRef | null;
  /** Unix ms. */
  readonly seenAtMs: number;
};

export type StoredOutput = {
  readonly txid: string;
  readonly vout: number;
  /** Base units. */
  readonly value: bigint;
  readonly script: Uint8Array;
  readonly coinbase: boolean;
};

/** `spender` has an input that takes output `vout` of `txid`. Conflicting spenders may stand side by side until one is final. */
export type StoredSpend = { readonly txid: string; readonly vout: number; readonly spender: string };

/** An output, and the height of the block that spends it. */
export type SpentOutput = OutPoint & { readonly height: number };

/**
 * One step of the index, applied in the order of the fields, all or nothing. What a block brings (header, facts,
 * and with it the new tip) is always one delta, so no crash leaves half a block behind.
 */
export type ChainDelta = {
  /** Forget everything but the watches; each of those starts again at its `fromHeight`. */
  readonly reset?: boolean;
  /** Blocks above this height left the best chain: their headers go, their transactions have no block any more. */
  readonly rollbackTo?: number;
  /** Transactions that are in no block and no mempool any more, with their outputs and spends. */
  readonly gone?: readonly string[];
  /** Extends the best chain, ascending. */
  readonly headers?: readonly StoredHeader[];
  readonly dropHeadersBelow?: number;
  /** Inserted or replaced; an existing `raw` is not replaced by null, the first `seenAtMs` stays. */
  readonly txs?: readonly StoredTx[];
  /** Inserted unless present. */
  readonly outputs?: readonly StoredOutput[];
  /** Inserted unless present. */
  readonly spends?: readonly StoredSpend[];
  /** Inserted or replaced. */
  readonly watches?: readonly StoredWatch[];
  /** Removed, with all outputs of a script and every transaction nothing else refers to. */
  readonly unwatch?: readonly WatchKey[];
  /** Whether what is covered rests on what servers told of it from now on, and not on blocks that were read. */
  readonly isTold?: boolean;
};

export type ChainSnapshot = {
  /** Hash of block 0 of the chain this index was built from; null before the first start. */
  readonly genesis: string | null;
  /** See `ChainDelta.isTold`. */
  readonly isTold: boolean;
  /** Ascending, without gaps; the last is the tip. */
  readonly headers: readonly StoredHeader[];
  readonly watches: readonly StoredWatch[];
  readonly txs: readonly StoredTx[];
  readonly outputs: readonly StoredOutput[];
  readonly spends: readonly StoredSpend[];
};

/** The index of one coin on disk. */
export interface ChainStore {
  load(): Promise<ChainSnapshot>;
  setGenesis(hash: string): Promise<void>;
  /** Durable when it resolves; when it rejects, nothing of it is stored. */
  commit(delta: ChainDelta): Promise<void>;
  /** Ids of transactions that pay or spend `scripts` (hex), of those whose bytes are stored: unconfirmed first, then newest block first. */
  history(scripts: readonly string[], limit: number): Promise<readonly string[]>;
  /** In any order, and without those that are not stored. */
  storedTxs(txids: readonly string[]): Promise<readonly StoredTx[]>;
  /** Outputs of these transactions that one in a block spends, also those that have left memory. */
  spentIn(txids: readonly string[]): Promise<readonly SpentOutput[]>;
  /** Outputs of `scripts` (hex) that these transactions spend, also those that have left memory. */
  spentOutputs(scripts: readonly string[], spenders: readonly string[]): Promise<readonly StoredOutput[]>;
}
