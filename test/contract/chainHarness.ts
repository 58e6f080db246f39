import type { Tx } from "../../src/core/utxo/tx.ts";
import type { TxFormat } from "../../src/core/utxo/txCodec.ts";
import type { Clock } from "../../src/ports/clock.ts";
import type { FaultyRpc } from "../fakes/faultyRpc.ts";

export type TrueBlock = { readonly height: number; readonly hash: string; readonly txs: readonly Tx[] };

/** One chain a test can steer, with a daemon in front of it. */
export type ChainHarness = {
  readonly rpc: FaultyRpc;
  readonly format: TxFormat;
  readonly clock: Clock;
  /** Poll interval the adapter is opened with, ms. */
  readonly pollMs: number;
  /** Lets `ms` pass. */
  pass(ms: number): Promise<void>;
  /** Pays into the mempool. */
  pay(script: Uint8Array, value: bigint): string;
  /** Sends a transaction of the test's own into the mempool. */
  send(tx: Tx): string;
  mine(count?: number): void;
  /** Replaces `depth` blocks by `count` empty ones; their transactions return to the mempool unless forgotten. */
  reorg(depth: number, count: number, forget?: readonly string[]): void;
  /** The best chain and the mempool as they really are. */
  blocks(): readonly TrueBlock[];
  mempool(): readonly Tx[];
  close(): Promise<void>;
};
