import type { DevChain } from "../../src/devnet/devChain.ts";

const LOOK_MS = 5;

/** When each block of a chain appeared, unix milliseconds, to within 5 ms. */
export class BlockTimes {
  readonly #chain: DevChain;
  readonly #atMs = new Map<number, number>();
  readonly #timer: NodeJS.Timeout;

  constructor(chain: DevChain) {
    this.#chain = chain;
    this.#timer = setInterval(() => void this.#look(), LOOK_MS);
  }

  async #look(): Promise<void> {
    const height = Number(await this.#chain.daemon.call("getblockcount"));
    if (!this.#atMs.has(height)) this.#atMs.set(height, Date.now());
  }

  /** When the block that holds a transaction appeared; null if this chain has none. */
  async minedAtMs(txid: string): Promise<number | null> {
    try {
      const tx = (await this.#chain.daemon.call("getrawtransaction", [txid, 1])) as { readonly blockhash?: string };
      const block = (await this.#chain.daemon.call("getblock", [tx.blockhash])) as { readonly height: number };
      return this.#atMs.get(block.height) ?? null;
    } catch {
      // The daemon's way to say that it does not know the transaction: the other chain has it.
      return null;
    }
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

export type Span = { readonly fromMs: number; readonly toMs: number };

/** Length of what the spans cover together, ms, as far as it lies within `frame`. */
export function coveredMs(spans: readonly Span[], frame: Span): number {
  let covered = 0;
  let doneMs = frame.fromMs;
  for (const { fromMs, toMs } of [...spans].sort((a, b) => a.fromMs - b.fromMs)) {
    const start = Math.max(fromMs, doneMs);
    const end = Math.min(toMs, frame.toMs);
    if (end <= start) continue;
    covered += end - start;
    doneMs = end;
  }
  return covered;
}
