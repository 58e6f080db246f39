import { Aborted } from "../ports/clock.ts";

type Command = { readonly run: () => Promise<void>; readonly settle: (error: unknown) => void };

/** One loop: the commands that came, then a step, again and again. It sleeps while there is nothing to do. */
export class StepLoop {
  readonly #closing: AbortSignal;
  readonly #inbox: Command[] = [];
  #wake: () => void = () => undefined;
  #woken = false;

  constructor(closing: AbortSignal) {
    this.#closing = closing;
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
   * @param failed is told why a step threw
   */
  async run(step: () => Promise<boolean>, failed: (cause: string) => void): Promise<void> {
    while (!this.#closing.aborted) {
      this.#woken = false;
      try {
        const hadCommands = await this.#runCommands();
        const busy = (await step()) || hadCommands;
        if (!busy && !this.#woken && !this.#closing.aborted) await this.#pause();
      } catch (cause) {
        if (this.#closing.aborted) break;
        failed(cause instanceof Error ? cause.message : String(cause));
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
