import { evmTxid, parseEvmTx } from "../../../core/evm/parseTx.ts";
import type { SignedEvmTx } from "../../../core/evm/tx.ts";

/** Transactions kept; the oldest go first. A swap looks at some ten. */
const MAX_KEPT = 1_000;

/**
 * Reads transactions, each once: swaps ask for the same bytes at every look at the chain, and who signed them costs a hundred times
 * what their hash does.
 */
export class ReadTxs {
  readonly #read = new Map<string, SignedEvmTx>();
  readonly #most: number;

  constructor(most = MAX_KEPT) {
    this.#most = most;
  }

  /** Null: no transaction that is read here. */
  parse(raw: Uint8Array): SignedEvmTx | null {
    const known = this.#read.get(evmTxid(raw));
    if (known) return known;
    const parsed = parseEvmTx(raw);
    if (!parsed.ok) return null;
    this.#read.set(parsed.value.txid, parsed.value);
    const oldest = this.#read.keys().next();
    if (this.#read.size > this.#most && !oldest.done) this.#read.delete(oldest.value);
    return parsed.value;
  }
}
