import type { PaymentState } from "../../core/evm/swapContract.ts";
import type { SwapPayment } from "../../ports/accountChain.ts";
import type { BlockRef } from "../../ports/chain.ts";

/** Nodes may have the receipts and logs of a block later than its state. */
const PATIENCE_MS = 60_000;

/** `block`: null while receipts may still come. */
type Held = { readonly state: PaymentState; readonly sinceMs: number; block: BlockRef | null };

/**
 * Since which block contracts say of payments what no node's receipts and logs show. A contract never goes back to a state on one chain, so
 * what it said at that block has stood since, until a reorganisation.
 */
export class Unshown {
  /** By payment. */
  readonly #held = new Map<string, Held>();

  /** The chain went another way above this height. */
  reorganised(finalized: number | null): void {
    for (const [key, { block }] of this.#held) if (block === null || block.height > (finalized ?? -1)) this.#held.delete(key);
  }

  keepOnly(keys: ReadonlySet<string>): void {
    for (const key of [...this.#held.keys()]) if (!keys.has(key)) this.#held.delete(key);
  }

  /** To be asked at every look. A search that is repeated for what is missing changes nothing. */
  sinceBlock(key: string, { state, events, block }: Pick<SwapPayment, "state" | "events" | "block">, nowMs: number): BlockRef | null {
    let held = this.#held.get(key);
    if (events === "complete" || (held && held.state !== state)) {
      this.#held.delete(key);
      held = undefined;
    }
    if (!held && events === "missing") {
      held = { state, sinceMs: nowMs, block: null };
      this.#held.set(key, held);
    }
    if (held && nowMs - held.sinceMs >= PATIENCE_MS) held.block ??= block;
    return held?.block ?? null;
  }
}
