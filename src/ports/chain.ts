import type { OutPoint } from "../core/utxo/tx.ts";
import type { StoredOutput, StoredTx } from "./chainStore.ts";
import type { ServerHealth, ServerNeeds } from "./electrum.ts";

/** A block on the best chain. `hash` in display order. */
export type BlockRef = { readonly height: number; readonly hash: string };

export type ChainTip = BlockRef & {
  /** Header time, unix seconds. */
  readonly timeSec: number;
  /** Median of the last 11 header times (BIP-113), tip included: what time locks are compared with. */
  readonly medianTimePastSec: number;
};

/** A transaction the index follows. `block` is null while it is only in the mempool. */
export type SeenTx = {
  readonly txid: string;
  readonly raw: Uint8Array;
  readonly block: BlockRef | null;
  /** When this node first saw it, unix ms. */
  readonly seenAtMs: number;
  /**
   * Account chains: as of `block` it is certain that it changes nothing. It was reverted there, or its nonce went to another
   * transaction. Absent: it does what it says.
   */
  readonly failed?: true;
};

/** An output paying a watched script. `value` in base units. */
export type SeenOutput = OutPoint & {
  readonly value: bigint;
  readonly script: Uint8Array;
  readonly coinbase: boolean;
  readonly block: BlockRef | null;
  /** The transaction that spends it, in a block or in the mempool; null while unspent. */
  readonly spentBy: { readonly txid: string; readonly block: BlockRef | null } | null;
};

/**
 * What became of a broadcast. There is no "failed": a transport error or a lost reply is `unknown`, because the
 * transaction may have been accepted (design D4). `rejected` is the daemon's own clear refusal and still no proof
 * that no other backend took it.
 */
export type BroadcastOutcome =
  | { readonly kind: "accepted" }
  | { readonly kind: "already_known" }
  | { readonly kind: "rejected"; readonly code: number; readonly message: string }
  /** `isUnsent`: nobody was given it, so this time it did not get out. */
  | { readonly kind: "unknown"; readonly message: string; readonly isUnsent?: true };

/** How far the reading of old or new blocks has come. */
export type ScanProgress = {
  /** Blocks read of those to read. */
  readonly done: number;
  readonly total: number;
  /** The last block read, and the one where it ends. */
  readonly height: number;
  readonly target: number;
};

export type ChainStatus = {
  readonly state: "starting" | "syncing" | "ready" | "unreachable";
  readonly tip: ChainTip | null;
  /** First start or catching up; null when at the tip. */
  readonly progress: ScanProgress | null;
  /** One sentence for people when unreachable. */
  readonly error: string | null;
};

/** What of the reads may answer something new. */
export type ChainChange = {
  /** The tip, the status, fees or a notarization: whatever is not about single scripts and transactions, or too much to name. */
  readonly all: boolean;
  /** Watched scripts (lower-case hex) with other outputs or spends, and ids of transactions that are new, gone or in another block. */
  readonly keys: ReadonlySet<string>;
};

/** An own transaction, to be given to whoever does not have it. `hex`: its bytes. `children`: what pays for it, each after what it hangs on. */
export type OwnSpend = { readonly txid: string; readonly hex: string; readonly children?: readonly OwnSpend[] };

/** What somebody waits for at a script, which no server can prove absent. */
export type Guard = {
  /** When it is too late, unix seconds. */
  readonly dueSec: number;
  /**
   * The own transactions that have left and spend from there: of each payment that may be the one that is there its versions, the one to be
   * sent first. Asked anew each time. Absent: none.
   */
  readonly spends?: () => readonly (readonly OwnSpend[])[];
  /**
   * The own payment there, after what it is built on, or what undoes it: what has left and may leave still, in the order in which it is taken.
   * Asked anew each time. Absent: none.
   */
  readonly payments?: () => readonly OwnSpend[];
  /** Hears of each transaction that one server names there, whatever the others say: only what it proves by itself may be taken from it. `teller`: who. */
  readonly onTx: (tx: { readonly txid: string; readonly raw: Uint8Array }, teller: string) => void;
};

/** See `UtxoChain.crowded`. */
export type Crowded = "read" | "reading" | "unread";

/** Why a watch cannot be covered: the backend no longer has a block it needs (pruned). `message` is a sentence for people. */
export class BlockGone extends Error {
  override readonly name = "BlockGone";
  readonly height: number;
  constructor(height: number, message: string) {
    super(message);
    this.height = height;
  }
}

/** Scripts and transactions that are followed. */
export type Watched = { readonly scripts?: readonly Uint8Array[]; readonly txids?: readonly string[] };

/**
 * One UTXO chain as the node sees it: an own index over a backend that needs no wallet and no transaction index.
 * Reads are synchronous and answer from the index. A reorg withdraws facts: what was in a block is then in the
 * mempool or gone, and `onChange` fires.
 */
export interface UtxoChain {
  readonly ticker: string;
  status(): ChainStatus;
  /** Called after every change of what the reads answer. Never called from inside a read. Returns the unsubscriber. */
  onChange(listener: (change: ChainChange) => void): () => void;
  /**
   * Follows a script from `fromHeight` on, now and after restarts. Resolves when the index covers it up to the tip.
   * Idempotent; an earlier `fromHeight` extends the range.
   */
  watchScript(script: Uint8Array, fromHeight: number, signal?: AbortSignal): Promise<void>;
  /** Follows one transaction by id, for those that pay no watched script (the taker's dex fee). Same promise as above. */
  watchTx(txid: string, fromHeight: number, signal?: AbortSignal): Promise<void>;
  /** Stops following what a finished swap needed. */
  unwatch(what: Watched): Promise<void>;
  /**
   * A backend of several strangers: asks also those it would not ask or believe about a watched script, each now and then and more often
   * as the time comes, and gives them the own spends from it. What they prove counts. Until released.
   * Absent: the backend is believed anyway.
   */
  guard?(script: Uint8Array, guard: Guard): () => void;
  /**
   * Nothing more is done about a script but to see what is there stay there: a backend that asks for each script anew when somebody waits
   * for a fresh view needs not ask for this one, until it is followed no more. Absent: that costs nothing.
   */
  calm?(script: Uint8Array): void;
  /**
   * A backend of several strangers, where a block costs nothing: asks all of them, also those it would not ask otherwise, whether they have
   * a block, before a step that cannot be taken back rests on it. Why it may be made up, one sentence for people; null: nothing speaks
   * against it. Takes seconds; rejects with `Aborted` by its signal or `close`. Absent: a block the backend shows is one.
   * @param confs asked is for the block that makes so many confirmations of it, or for the last one: whoever has that has all before it
   * @param isOneEnough whether one that denies it is, where no step waits for it; absent: no single one may hold up a step
   */
  doubt?(block: BlockRef, confs: number, signal?: AbortSignal, isOneEnough?: boolean): Promise<string | null>;
  /**
   * Whether a block that `doubt` was just asked about may be denied when that is asked again: somebody gave no answer, and nobody has it who cannot have
   * made it up. Absent: whoever can deny it did.
   */
  mayBeDenied?(block: BlockRef, confs: number): boolean;
  /**
   * How a watched script is seen that was paid so often that the backend refuses its history: what comes into blocks is "read" from these
   * themselves, or still being read ("reading"), or not seen at all ("unread"). Null: as any other. Absent: the backend refuses none.
   */
  crowded?(script: Uint8Array): Crowded | null;
  /**
   * A backend of several strangers, which count what they are asked for and do not have, and cut off who asks for much of it: whether they say
   * that a transaction is there, asked in a way that costs little where it is not. What is in a block already is found only by the history of
   * `payer`, a script whose outputs it spends. Absent: whatever is asked for costs the same.
   */
  isWaiting?(raw: Uint8Array, payer: Uint8Array | null, signal?: AbortSignal): Promise<boolean>;
  /** All known outputs to a watched script, spent ones of swap scripts included. A list that was given stays as it is: with a change comes another. */
  outputs(script: Uint8Array): readonly SeenOutput[];
  /** A followed transaction, or one that touches a watched script. */
  tx(txid: string): SeenTx | undefined;
  /** Bytes of a transaction that nobody follows, for whoever checks that they have its id; null: the backend does not have it, or did not say. */
  rawTx(txid: string, signal?: AbortSignal): Promise<Uint8Array | null>;
  /** 0 in the mempool, 1 in the tip block. */
  confirmations(block: BlockRef | null): number;
  /** True if the chain reports this height as notarized (KMD family); false on chains without notarization. */
  isNotarized(height: number): boolean;
  /** Idempotent; every configured backend is tried; the deadline is the adapter's own. */
  broadcast(raw: Uint8Array, signal?: AbortSignal): Promise<BroadcastOutcome>;
  /** Base units per 1000 bytes, estimated for `targetBlocks`; null when the backend has no estimate. */
  estimateFeePerKb(targetBlocks: number, signal?: AbortSignal): Promise<bigint | null>;
  /** The floor below which the backend does not relay, base units per 1000 bytes; null when unknown. */
  relayFeePerKb(): bigint | null;
  /**
   * What a block pays its maker, subsidy and fees, base units: the middle one of the last blocks read. Null: none was read yet,
   * or their coinbases pay nothing (proof of stake).
   */
  blockRewardUnits(): bigint | null;
  /**
   * Looks at the backend now instead of at the next poll; resolves when the view is fresh.
   * @param of what the view is wanted of: of all else nothing need be asked anew, which costs servers as much for each. Absent: of all
   */
  refresh(signal?: AbortSignal, of?: Watched): Promise<void>;
  close(): Promise<void>;
}

/** A UTXO chain with the history of what it watches. */
export interface UtxoChainWithHistory extends UtxoChain {
  /**
   * Ids of transactions that pay or spend `scripts`, unconfirmed first, then newest block first; of those whose bytes were read. Complete from
   * each script's `fromHeight`; a script first found in a daemon's UTXO set has no older, spent past.
   */
  history(scripts: readonly Uint8Array[], limit: number): Promise<readonly string[]>;
  /** Transactions that are followed or stand in a history, however old, in any order; others are left out. */
  storedTxs(txids: readonly string[]): Promise<readonly StoredTx[]>;
  /** Outputs of `scripts` that transactions of their history spend, however long ago: `outputs` leaves out old ones where there are many. */
  spentOutputs(scripts: readonly Uint8Array[], spenders: readonly string[]): Promise<readonly StoredOutput[]>;
  /** Header time of a block, unix seconds; null when the backend does not say now. */
  blockTimeSec(block: BlockRef, signal?: AbortSignal): Promise<number | null>;
  /** The Electrum servers it is followed through, in the order given; none with a daemon. */
  servers(): readonly ServerHealth[];
  /** Null with a daemon. */
  serverNeeds(): ServerNeeds | null;
}
