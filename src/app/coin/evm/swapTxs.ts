import type { SignedEvmTx } from "../../../core/evm/tx.ts";

/** Beyond so many no new one is taken: a node that runs a thousand swaps has about as many waiting. */
const MAX_HELD = 2_000;
/** Those with long used nonces are kept while there are no more than so many in all: that a nonce is used is only what nodes say. */
const KEEP_IN_ALL = 1_000;

/**
 * Of a swap that waits for its other coin. `untilMs`: unix milliseconds until which it is sent, then it is given up; null: for ever. `renew` has another
 * version take its place where one is due, and names the one that may be sent at this block, or none; null: it is never replaced, and may be sent.
 */
export type EntrustedTx = { readonly signed: SignedEvmTx } & Trust;
type Trust = { readonly untilMs: number | null; readonly renew: (() => Promise<string | null>) | null };

/**
 * Transactions of swaps that hold nonces of one account, in memory: their durable record is the log of their swap, which
 * gives them here again after a restart. Several may share a nonce: a payment and its cancellation, versions of a claim.
 */
export class SwapTxs {
  readonly #byTxid = new Map<string, SignedEvmTx>();
  /** Of those, what its swap cannot see to now. */
  readonly #entrusted = new Map<string, Trust>();
  /** Of those, what its swap needs no more, and whether the nodes refused it. */
  readonly #givenUp = new Map<string, boolean>();
  /** Of those, hash of the tip when the nodes last took it. */
  readonly #takenAt = new Map<string, string>();

  get isFull(): boolean {
    return this.#byTxid.size >= MAX_HELD;
  }

  add(signed: SignedEvmTx): void {
    this.#byTxid.set(signed.txid, signed);
  }

  remove(txid: string): boolean {
    for (const noted of [this.#entrusted, this.#givenUp, this.#takenAt]) noted.delete(txid);
    return this.#byTxid.delete(txid);
  }

  get(txid: string): SignedEvmTx | null {
    return this.#byTxid.get(txid) ?? null;
  }

  all(): readonly SignedEvmTx[] {
    return [...this.#byTxid.values()];
  }

  entrust(txid: string, trust: Trust): void {
    if (this.#byTxid.has(txid)) this.#entrusted.set(txid, trust);
  }

  handBack(txid: string): void {
    this.#entrusted.delete(txid);
  }

  entrusted(): readonly EntrustedTx[] {
    return [...this.#entrusted].flatMap(([txid, trust]) => {
      const signed = this.#byTxid.get(txid);
      return signed ? [{ signed, ...trust }] : [];
    });
  }

  /** @param isRefused by the nodes; once refused it stays so */
  giveUp(txid: string, isRefused: boolean): void {
    if (this.#byTxid.has(txid)) this.#givenUp.set(txid, isRefused || this.#givenUp.get(txid) === true);
  }

  takeBack(txid: string): void {
    this.#givenUp.delete(txid);
  }

  /** Whether it was given up, refused or not. */
  isMoot(txid: string): boolean {
    return this.#givenUp.has(txid);
  }

  /** Whether it was given up and refused. */
  isRefused(txid: string): boolean {
    return this.#givenUp.get(txid) === true;
  }

  noteTaken(txid: string, tip: string): void {
    if (this.#byTxid.has(txid)) this.#takenAt.set(txid, tip);
  }

  /** Hash of the tip when the nodes last took it; null: nothing is known of that. */
  takenAt(txid: string): string | null {
    return this.#takenAt.get(txid) ?? null;
  }

  /** Other nodes are used now, and took nothing yet. */
  forgetTaken(): void {
    this.#takenAt.clear();
  }

  /** Forgets those with a nonce below `nonce`, the least first, while there are more than a thousand in all. */
  dropBelow(nonce: bigint): void {
    const surplus = this.#byTxid.size - KEEP_IN_ALL;
    if (surplus <= 0) return;
    const old = [...this.#byTxid].filter(([, { tx }]) => tx.nonce < nonce);
    old.sort(([, a], [, b]) => (a.tx.nonce < b.tx.nonce ? -1 : a.tx.nonce > b.tx.nonce ? 1 : 0));
    for (const [txid] of old.slice(0, surplus)) this.remove(txid);
  }
}
