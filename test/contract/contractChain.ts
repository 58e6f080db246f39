import type { UtxoChainWithHistory } from "../../src/ports/chain.ts";
import type { ChainStore } from "../../src/ports/chainStore.ts";
import type { ChainHarness } from "./chainHarness.ts";

export type OpenOptions = {
  readonly timeoutMs?: number;
  /** Chains up to this height are read whole for a script without birthday, where the backend reads blocks. */
  readonly readWholeUpTo?: number;
};

/** A chain a test can steer, and one backend for it whose troubles a test can make. */
export type ContractChain = Omit<ChainHarness, "rpc"> & {
  open(store: ChainStore, options: OpenOptions): Promise<UtxoChainWithHistory>;
  /** Nothing can be reached, or again. `says`: what the status then holds. */
  readonly down: { set(on: boolean): void; readonly says: string };
  /** The backend names a height for its tip that is none. */
  readonly falseHeight: { set(on: boolean): void; readonly says: string };
  /** Calls are never answered. */
  readonly stall: { set(on: boolean): void; readonly says: string };
  /** Broadcasts are carried out and their replies lost. */
  readonly lostReply: { set(on: boolean): void; readonly outcomes: readonly string[] };
  /** Transactions or blocks with transactions that were fetched. */
  readonly reads: { clear(): void; count(): number };
};
