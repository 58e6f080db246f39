import { reasonOf } from "../core/util/reasonOf.ts";
import { Aborted } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { ChangeListeners } from "./changeListeners.ts";

type Command = { readonly run: () => Promise<void>; readonly settle: (error: unknown) => void };

export type StepLoopDeps = {
  readonly ticker: string;
  readonly closing: AbortController;
  readonly log: Log;
  /** Told after each step. */
  readonly news: ChangeListeners;
  /** Why a step threw, a sentence: what it was to do is to be tried again. */
  readonly fail: (sentence: string) => void;
};

/** The loop of one chain's index: the commands that came, then a step, again and again. It sleeps while there is nothing to do. */
export class StepLoop {
  readonly #deps: StepLoopDeps;
  readonly #closing: AbortSignal;
  readonly #inbox: Command[] = [];
  #wake: () => void = () => undefined;
  #woken = false;

  constructor(deps: StepLoopDeps) {
    this.#deps = deps;
    this.#closing = deps.closing.signal;
  }

  wake(): void {
    this.#woken = true;
    this.#wake();
  }

  /** Runs `work` between two steps. Bounded by its callers: one per awaited call. */
  enqueue(work: () => Promise<void>): Promise<void> {
    if (this.#closing.aborted) return Promise.reject(new Aborted("closed"));
    return new Promise((resolve, reject) => {
      this.#inbox.push({ run: work, settle: (error) => (error === null ? resolve() : reject(error)) });
      this.wake();
    });
  }

  /**
   * Runs until closed.
   * @param step false when there is nothing to do until something wakes the loop
   * @param after called when the news of a step are told
   */
  async run(step: () => Promise<boolean>, after: () => void = () => undefined): Promise<void> {
    const { ticker, log, news, fail } = this.#deps;
    const told = async (): Promise<boolean> => {
      const busy = await step();
      news.announce();
      after();
      return busy;
    };
    while (!this.#closing.aborted) {
      this.#woken = false;
      try {
        const hadCommands = await this.#runCommands();
        const busy = (await told()) || hadCommands;
        if (!busy && !this.#woken && !this.#closing.aborted) await this.#pause();
      } catch (cause) {
        if (this.#closing.aborted) break;
        const text = reasonOf(cause);
        log.error("chain_index_failed", { cause: text });
        fail(`This node could not keep its ${ticker} index: ${text}.`);
        news.announce();
      }
    }
    for (const command of this.#inbox.splice(0)) command.settle(new Aborted("closed"));
  }

  async #runCommands(): Promise<boolean> {
    const commands = this.#inbox.splice(0);
    for (const command of commands) {
      await command.run().then(
        () => command.settle(null),
        (cause: unknown) => command.settle(cause),
      );
    }
    return commands.length > 0;
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = () => undefined;
        resolve();
      };
    });
  }
}
