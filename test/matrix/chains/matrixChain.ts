import type { EvmAddress } from "../../../src/core/evm/address.ts";

/** Whose money is looked at: its key's script on chains of scripts, its address on chains of accounts. */
export type Purse = { readonly script: Uint8Array; readonly account: EvmAddress };

/** A chain of either family as the weather does it and villains use it. */
export interface MatrixChain {
  mine(blocks: number): void;
  /** Time that locks are compared with, unix seconds. */
  lockTimeSec(): number;
  /** Blocks from the one that carried a transaction out to the tip; 0: none did. */
  depth(txid: string): number;
  isWaiting(txid: string): boolean;
  /** No block ever takes it. */
  hold(txid: string): void;
  /** The mempool forgets it. */
  forget(txid: string): void;
  /** Into the mempool, in place of whatever is in the way: the miners are friends. */
  force(raw: Uint8Array): void;
  /** While true blocks take nothing below 30 times the usual price. */
  congest(isFull: boolean): void;
  reorg(depth: number, forget: readonly string[]): void;
  /** Some transaction of a stranger that is in a block. */
  strange(): Uint8Array;
  /** Only the node itself can have made it: it spends what is its own, or pays itself. */
  isOf(raw: string, purse: Purse): boolean;
  stop(): void;
}

/** One coin of a swap on its chain. Payments are named by the transaction that made them. */
export interface Leg {
  readonly chain: MatrixChain;
  readonly decimals: number;
  balance(purse: Purse): bigint;
  /** The transaction in a block that took the payment out again; null: it is there, or was never made. */
  endOf(payment: string): string | null;
  /** By the blocks it was made and nobody has taken it out. */
  isOpen(payment: string): boolean;
  /** A transaction that waits and would take it out. */
  endWaiting(payment: string): boolean;
  /** Bytes of what waits or was just mined and takes a payment out; null: nothing does. */
  endBytes(payment: string): Uint8Array | null;
}

/** Depth that blocks above the usual ask for. */
export const CONGESTED_FACTOR = 30n;
