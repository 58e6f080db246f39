import type { Log } from "../../../ports/log.ts";
import { withParents } from "../../../ports/withParents.ts";
import type { EvmAccount } from "./evmAccount.ts";

export type ChainRoundsDeps = Pick<EvmAccount, "chain"> & { readonly log: Log };

/** Work that is looked for at each news of an account chain that is ready: one round at a time, until it is closed. */
export class ChainRounds {
  readonly #deps: ChainRoundsDeps;
  readonly #failed: string;
  readonly #due: () => ((signal: AbortSignal) => Promise<void>) | null;
  readonly #closing = new AbortController();
  #work: Promise<void> | null = null;
  #stop: (() => void) | null = null;

  /**
   * @param failed event of the log when a round throws
   * @param due what is to be done now; null: nothing
   */
  constructor(deps: ChainRoundsDeps, failed: string, due: () => ((signal: AbortSignal) => Promise<void>) | null) {
    this.#deps = deps;
    this.#failed = failed;
    this.#due = due;
  }

  start(): void {
    const { chain, log } = this.#deps;
    this.#stop ??= chain.onChange(() => {
      if (this.#work !== null || this.#closing.signal.aborted || chain.status().state !== "ready") return;
      const work = this.#due();
      if (work === null) return;
      this.#work = work(this.#closing.signal)
        .catch((error: unknown) => {
          if (!this.#closing.signal.aborted) log.error(this.#failed, { coin: chain.ticker, error });
        })
        .finally(() => {
          this.#work = null;
        });
    });
  }

  /** The same work for somebody who asks for it: it ends with `signal`, and when this is closed. */
  within<T>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return withParents(signal ? [signal, this.#closing.signal] : [this.#closing.signal], work);
  }

  /** No round goes on any more when it resolves. */
  async close(): Promise<void> {
    this.#stop?.();
    this.#closing.abort();
    await this.#work;
  }
}
