import type { Clock } from "../../src/ports/clock.ts";

/** What a dead process answers: nothing, ever. */
export const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

/**
 * One run of a node's process, from start to crash. Everything the node reaches the world through goes by its life:
 * after `end` its timers do not fire, its writes and calls are not carried out and have no answer. Code that was in
 * the middle of something may still run a few lines, as in a process that is being killed, and changes nothing.
 */
export class Life {
  #alive = true;

  get isAlive(): boolean {
    return this.#alive;
  }

  end(): void {
    this.#alive = false;
  }

  /** Carries out `work` if alive, and answers only if still alive then. */
  async guard<T>(work: () => Promise<T>): Promise<T> {
    if (!this.#alive) return never();
    try {
      const result = await work();
      return this.#alive ? result : never();
    } catch (cause) {
      if (!this.#alive) return never();
      throw cause;
    }
  }

  /** The world's clock as this process sees it. @param skewMs how much its wall clock is ahead now */
  clock(world: Clock, skewMs: () => number): Clock {
    return {
      nowMs: () => world.nowMs() + skewMs(),
      after: (delayMs, task) =>
        world.after(delayMs, () => {
          if (this.#alive) task();
        }),
    };
  }
}
