import { err, type Result } from "../core/util/result.ts";
import { Aborted } from "../ports/clock.ts";

/** Why the signal of a task fired that somebody cancelled; what a node that stops ends has another reason. */
export const CANCELLED = new Aborted("the task was cancelled");

/** A task and how it stands. `about`: what it was begun with. */
export type Task<P, V, E> = { readonly about: P; readonly outcome: Result<V, E> | null };

/** Most tasks that run at once, and most that are finished and kept for somebody to ask; the oldest of these go first. */
const MAX_RUNNING = 100;
const MAX_FINISHED = 1_000;

type Entry<P, V, E> = {
  readonly about: P;
  readonly stop: AbortController;
  /** It has done what cannot be undone. */
  isBound: boolean;
  outcome: Result<V, E> | null;
};

/**
 * Work that goes on after the call that began it. Numbers count from 0. A finished task is kept until it is forgotten; nothing of it
 * survives a restart.
 */
export class TaskBook<P, V, E> {
  readonly #tasks = new Map<number, Entry<P, V, E>>();
  readonly #onCrash: (cause: unknown, about: P) => E;
  #next = 0;

  /** @param onCrash what there is to tell of work that rejected and was not cancelled */
  constructor(onCrash: (cause: unknown, about: P) => E) {
    this.#onCrash = onCrash;
  }

  /**
   * Begins a task. Null: too many run.
   * @param work resolves with what there is to tell; `signal` fires when it is cancelled, and then nobody asks any more. It calls `bind` before
   * what cannot be undone: from then on it is not cancelled
   */
  start(about: P, work: (signal: AbortSignal, bind: () => void) => Promise<Result<V, E>>): number | null {
    if ([...this.#tasks.values()].filter((t) => t.outcome === null).length >= MAX_RUNNING) return null;
    const id = this.#next++;
    const entry: Entry<P, V, E> = { about, stop: new AbortController(), isBound: false, outcome: null };
    this.#tasks.set(id, entry);
    const end = (outcome: Result<V, E>): void => {
      entry.outcome = outcome;
      this.#trim();
    };
    const bind = (): void => {
      entry.isBound = true;
    };
    work(entry.stop.signal, bind).then(end, (cause: unknown) => {
      if (!entry.stop.signal.aborted) end(err(this.#onCrash(cause, about)));
    });
    return id;
  }

  get(id: number): Task<P, V, E> | undefined {
    return this.#tasks.get(id);
  }

  forget(id: number): void {
    this.#tasks.delete(id);
  }

  /** Stops a running task and forgets it; one that is bound goes on. */
  cancel(id: number): "cancelled" | "bound" | "finished" | "unknown" {
    const entry = this.#tasks.get(id);
    if (!entry) return "unknown";
    if (entry.outcome !== null) return "finished";
    if (entry.isBound) return "bound";
    this.#tasks.delete(id);
    entry.stop.abort(CANCELLED);
    return "cancelled";
  }

  /** Stops all. */
  close(): void {
    for (const { stop } of this.#tasks.values()) stop.abort();
    this.#tasks.clear();
  }

  #trim(): void {
    const finished = [...this.#tasks].filter(([, t]) => t.outcome !== null);
    for (const [id] of finished.slice(0, Math.max(0, finished.length - MAX_FINISHED))) this.#tasks.delete(id);
  }
}
