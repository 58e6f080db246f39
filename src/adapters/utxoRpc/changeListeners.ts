import type { Log } from "../../ports/log.ts";

/** Who wants to know that the reads answer something new. One announcement for all changes of a step. */
export class ChangeListeners {
  readonly #log: Log;
  readonly #listeners = new Set<() => void>();
  #changed = false;

  constructor(log: Log) {
    this.#log = log;
  }

  /** The same function may be added twice; each has its own unsubscriber. */
  add(listener: () => void): () => void {
    const entry = (): void => listener();
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  mark(): void {
    this.#changed = true;
  }

  /** Tells everybody, if there was a change. One listener's mistake is logged and does not keep the news from the others. */
  announce(): void {
    if (!this.#changed) return;
    this.#changed = false;
    for (const listener of [...this.#listeners]) {
      try {
        listener();
      } catch (cause) {
        this.#log.error("chain_listener_failed", { cause: cause instanceof Error ? cause.message : String(cause) });
      }
    }
  }
}
