import type { SignedEvmTx } from "../../../core/evm/tx.ts";

/** Beyond so many no new one is taken: a node that runs a thousand swaps has about as many waiting. */
const MAX_HELD = 2_000;

/**
 * Transactions of swaps that hold nonces of one account, in memory: their durable record is the log of their swap, which
 * gives them here again after a restart. Several may share a nonce: a payment and its cancellation, versions of a claim.
 */
export class SwapTxs {
  readonly #byTxid = new Map<string, SignedEvmTx>();

  get isFull(): boolean {
    return this.#byTxid.size >= MAX_HELD;
  }

  add(signed: SignedEvmTx): void {
    this.#byTxid.set(signed.txid, signed);
  }

  remove(txid: string): boolean {
    return this.#byTxid.delete(txid);
  }

  get(txid: string): SignedEvmTx | null {
    return this.#byTxid.get(txid) ?? null;
  }

  all(): readonly SignedEvmTx[] {
    return [...this.#byTxid.values()];
  }

  /** Forgets those with a nonce below `nonce`. */
  dropBelow(nonce: bigint): void {
    for (const [txid, { tx }] of this.#byTxid) if (tx.nonce < nonce) this.#byTxid.delete(txid);
  }
}
