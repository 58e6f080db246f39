import type { RawTx } from "./rawTx.ts";

/** Coinbases kept. As many as the median time past is made of: a single miner cannot move the middle one of eleven. */
const SPAN = 11;

/** A block with its coinbase, the first of its transactions; others do not matter here. */
export type RewardedBlock = { readonly height: number; readonly block: { readonly txs: readonly Pick<RawTx, "tx">[] } };

/** What the last blocks paid their makers, by their coinbases: subsidy and fees. In memory; every block read is noted. */
export class BlockRewards {
  /** Base units by height, ascending. */
  #rewards = new Map<number, bigint>();

  /** @param blocks linked, ascending; what was noted from the first one's height on has gone */
  note(blocks: readonly RewardedBlock[]): void {
    const first = blocks[0];
    if (!first) return;
    const kept = [...this.#rewards].filter(([height]) => height < first.height);
    const read = blocks.map(({ height, block }): [number, bigint] => [
      height,
      block.txs[0]?.tx.outputs.reduce((sum, o) => sum + o.value, 0n) ?? 0n,
    ]);
    this.#rewards = new Map([...kept, ...read].slice(-SPAN));
  }

  get isEmpty(): boolean {
    return this.#rewards.size === 0;
  }

  /**
   * The middle one, base units, the lower of two; null when none was read, or when the coinbases are empty: who stakes coins is
   * paid in another transaction, and what undoing a block costs there is not its reward.
   */
  get median(): bigint | null {
    const sorted = [...this.#rewards.values()].sort((a, b) => (a < b ? -1 : Number(a > b)));
    return sorted[Math.floor((sorted.length - 1) / 2)] || null;
  }
}
