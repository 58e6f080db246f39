import { Aborted } from "../ports/clock.ts";

type Waiter<T> = { readonly what: T; readonly settle: (error: Error | null) => void };

/** Promises waiting for the loop, each cancellable. Bounded by its callers: one per awaited call. */
export class Waiters<T> {
  readonly #waiting = new Set<Waiter<T>>();

  /** Resolves or rejects as `settle` says, or rejects with `Aborted` when `signal` fires. */
  wait(what: T, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(new Aborted());
        return;
      }
      const settle = (error: Error | null): void => {
        this.#waiting.delete(waiter);
        signal?.removeEventListener("abort", onAbort);
        if (error === null) resolve();
        else reject(error);
      };
      const onAbort = (): void => settle(new Aborted());
      const waiter = { what, settle };
      this.#waiting.add(waiter);
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  /** Settles those `decide` has an answer for: null resolves, an error rejects, undefined goes on waiting. */
  settle(decide: (what: T) => Error | null | undefined): void {
    for (const waiter of [...this.#waiting]) {
      const answer = decide(waiter.what);
      if (answer !== undefined) waiter.settle(answer);
    }
  }
}
