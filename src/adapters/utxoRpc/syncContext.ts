import type { BlockRewards } from "../../chainIndex/blockRewards.ts";
import type { ChainIndex } from "../../chainIndex/chainIndex.ts";
import type { ChainDelta, ChainStore } from "../../ports/chainStore.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { BlockReader } from "./blockReader.ts";
import type { DaemonCalls } from "./daemonCalls.ts";

/** What the parts of one chain's index share. Everything that commits runs inside the chain's one loop, never side by side. */
export type SyncContext = {
  readonly calls: DaemonCalls;
  readonly reader: BlockReader;
  readonly rewards: BlockRewards;
  readonly index: ChainIndex;
  /** Has what has left memory because it was spent long ago. */
  readonly store: Pick<ChainStore, "spentIn">;
  readonly clock: Clock;
  readonly log: Log;
  /** Stores, then applies to the index; a rejection leaves both as they were. */
  commit(delta: ChainDelta): Promise<void>;
  /** Tells the mempool watch that outputs became known by another way than the mempool. */
  outputsFound(keys: readonly string[]): void;
};
