import { Aborted } from "../../ports/clock.ts";

/** Runs at most `parallel` tasks at once, in the order they came; at most `maxWaiting` wait. */
export class CallQueue {
  readonly #parallel: number;
  readonly #maxWaiting: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(parallel: number, maxWaiting: number) {
    this.#parallel = parallel;
    this.#maxWaiting = maxWaiting;
  }

  get isFull(): boolean {
    return this.#waiting.length >= this.#maxWaiting;
  }

  /** Rejects with `Aborted` when `signal` fires before its turn; the task itself looks after its signal. */
  async run<T>(signal: AbortSignal, task: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#parallel) await this.#turn(signal);
    else this.#running++;
    try {
      return await task();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running--;
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(start), 1);
        reject(new Aborted());
      };
      const start = (): void => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      if (signal.aborted) {
        reject(new Aborted());
        return;
      }
      signal.addEventListener("abort", onAbort, { once: true });
      this.#waiting.push(start);
    });
  }
}
