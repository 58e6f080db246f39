/** How a coin was enabled, as text that its owner reads again. */
export type StoredActivation = { readonly coin: string; readonly request: string };

/** The activations of the last run, in the node's database. Rejects with `StorageError`. */
export interface ActivationStore {
  /** In the order they were first enabled. */
  all(): Promise<readonly StoredActivation[]>;
  /** Replaces what was stored of the coins, all or none. Fsynced when it resolves. */
  put(activations: readonly StoredActivation[]): Promise<void>;
  remove(coins: readonly string[]): Promise<void>;
}
