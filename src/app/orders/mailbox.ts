import type { Log } from "../../ports/log.ts";

/** Most tasks that may wait. Past it incoming messages are dropped; calls of the node's own user still queue. */
const MAX_WAITING = 10_000;

/**
 * Runs tasks one at a time in the order they came, so that decisions about orders never interleave. A task's failure
 * is its caller's; it never stops the queue.
 */
export class Mailbox {
  readonly #log: Log;
  readonly #onDone: () => void;
  #waiting = 0;
  #tail: Promise<unknown> = Promise.resolve();
  #closed = false;

  /** @param onDone called after each task */
  constructor(log: Log, onDone: () => void = () => undefined) {
    this.#log = log;
    this.#onDone = onDone;
  }

  /** Runs `task` in its turn and gives its outcome. */
  call<T>(task: () => Promise<T> | T): Promise<T> {
    this.#waiting++;
    const run = this.#tail.then(async () => {
      try {
        return await task();
      } finally {
        this.#waiting--;
        this.#onDone();
      }
    });
    this.#tail = run.catch(() => undefined);
    return run;
  }

  /** Runs `task` in its turn; nobody waits for it, so its failure is logged. False: dropped, too much is waiting or closed. */
  post(name: string, task: () => Promise<void> | void): boolean {
    if (this.#closed || this.#waiting >= MAX_WAITING) return false;
    this.call(task).catch((error: unknown) => this.#log.error("order_task_failed", { task: name, error }));
    return true;
  }

  /** Takes nothing more by `post`, and resolves when everything that waits has run. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#tail;
  }
}
