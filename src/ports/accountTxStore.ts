/**
 * A transaction this node signed for one of its accounts.
 * - `signed`: handed out, and not known to be sent; another one may have its nonce.
 * - `sent`: given to the nodes, or about to be; its nonce is taken.
 */
export type OwnAccountTx = {
  readonly chainId: bigint;
  /** 40 hex, lower case. */
  readonly from: string;
  readonly nonce: bigint;
  /** 64 hex, lower case. */
  readonly txid: string;
  readonly raw: Uint8Array;
  readonly state: "signed" | "sent";
};

/** Own transactions of account chains, in the node's database. Rejects with `StorageError`. */
export interface AccountTxStore {
  /** Writes or replaces, by txid. Fsynced when it resolves. */
  put(tx: OwnAccountTx): Promise<void>;
  /** Of one account, by nonce, then in the order they were first written. */
  load(chainId: bigint, from: string): Promise<readonly OwnAccountTx[]>;
  remove(txids: readonly string[]): Promise<void>;
}
