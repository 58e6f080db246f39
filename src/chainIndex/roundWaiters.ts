import type { StoredWatch, WatchKey } from "../ports/chainStore.ts";
import { Aborted } from "../ports/clock.ts";
import { Waiters } from "./waiters.ts";

/** Those who wait for a whole, successful look ("round") that began after they asked: for a fresh view, or for a watch to be covered. */
export class RoundWaiters {
  readonly #refreshes = new Waiters<number>();
  readonly #watches = new Waiters<{ readonly key: WatchKey; readonly after: number }>();
  /** Rounds begun. */
  #rounds = 0;

  begin(): void {
    this.#rounds++;
  }

  refreshed(signal: AbortSignal | undefined): Promise<void> {
    return this.#refreshes.wait(this.#rounds, signal);
  }

  covered(key: WatchKey, signal: AbortSignal | undefined): Promise<void> {
    return this.#watches.wait({ key, after: this.#rounds }, signal);
  }

  /** @param watch what is known of one, or why it cannot be covered */
  succeeded(watch: (key: WatchKey) => StoredWatch | Error | undefined): void {
    this.#refreshes.settle((after) => (this.#rounds > after ? null : undefined));
    this.#watches.settle(({ key, after }) => {
      const known = watch(key);
      if (known instanceof Error) return known;
      if (known === undefined) return new Aborted("no longer watched");
      return known.nextHeight === null && this.#rounds > after ? null : undefined;
    });
  }

  close(): void {
    const closed = new Aborted("closed");
    this.#refreshes.settle(() => closed);
    this.#watches.settle(() => closed);
  }
}
