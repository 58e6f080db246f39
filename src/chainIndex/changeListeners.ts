import { reasonOf } from "../core/util/reasonOf.ts";
import type { ChainChange } from "../ports/chain.ts";
import type { Log } from "../ports/log.ts";

/** Who wants to know that the reads answer something new. One announcement for all changes of a step. */
export class ChangeListeners {
  readonly #log: Log;
  readonly #listeners = new Set<(change: ChainChange) => void>();
  #all = false;
  #keys = new Set<string>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** The same function may be added twice; each has its own unsubscriber. */
  add(listener: (change: ChainChange) => void): () => void {
    const entry = (change: ChainChange): void => listener(change);
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  /** @param change left out: of everything */
  mark(change?: ChainChange): void {
    if (!change || change.all) this.#all = true;
    else for (const key of change.keys) this.#keys.add(key);
  }

  /** Tells everybody, if there was a change. One listener's mistake is logged and does not keep the news from the others. */
  announce(): void {
    if (!this.#all && this.#keys.size === 0) return;
    const change: ChainChange = { all: this.#all, keys: this.#keys };
    this.#all = false;
    this.#keys = new Set();
    for (const listener of [...this.#listeners]) {
      try {
        listener(change);
      } catch (cause) {
        this.#log.error("chain_listener_failed", { cause: reasonOf(cause) });
      }
    }
  }
}
