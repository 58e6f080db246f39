/** A row of what is remembered of others. `id`: X coordinate of a key (64 hex), or a peer id. The store does not look into `record`. */
export type PeerRow = { readonly kind: "key" | "relay"; readonly id: string; readonly record: string };

export type PeerChange =
  /** Writes or replaces. */
  | ({ readonly change: "put" } & PeerRow)
  /** Absent: nothing happens. */
  | { readonly change: "remove"; readonly kind: PeerRow["kind"]; readonly id: string };

/**
 * What this node remembers of others and of its own words. Implemented by `adapters/sqlite/peerStore.ts`, in the node's
 * database. Rejects with `StorageError`.
 */
export interface PeerStore {
  /** All or nothing; fsynced when it resolves. */
  apply(changes: readonly PeerChange[]): Promise<void>;
  load(kind: PeerRow["kind"]): Promise<readonly PeerRow[]>;
  /**
   * Remembers messages of the own key, by the digest that was signed (64 hex); the 50,000 newest are kept.
   * `lastDatedSec`: no dated message of this node bears a later time, unix seconds.
   */
  said(digests: readonly string[], lastDatedSec: number): Promise<void>;
  hasSaid(digest: string): Promise<boolean>;
  /** 0 when nothing was ever said. */
  lastDatedSec(): Promise<number>;
}
