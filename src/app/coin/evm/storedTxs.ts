import { parseEvmTx } from "../../../core/evm/parseTx.ts";
import type { SignedEvmTx } from "../../../core/evm/tx.ts";
import type { HeldNoncesDeps } from "./heldNonces.ts";
import { isDearer, samePayment } from "./replacement.ts";

/** Nonces below the chain's that are still remembered: deeper than a reorg goes. */
export const KEEP_BEHIND = 64n;
/**
 * Of sent transactions below those so many are remembered all the same, the greatest nonces: nodes that lie about the account's nonce, and are
 * exchanged for others, must not have had those forgotten that wait.
 */
const MAX_DEEP = 200;
/** Transactions remembered that were handed out and not sent; the oldest go first. */
const MAX_SIGNED = 200;

type State = "signed" | "sent";
/**
 * `takenAt`: hash of the tip when the nodes last took it; null: not known to have arrived. `silence`: why, when it was last sent, the nodes
 * neither took nor refused it; null: they did, or it was not sent since the start.
 */
type Entry = { readonly signed: SignedEvmTx; readonly state: State; takenAt: string | null; silence: string | null };

/** Transactions of one account that no swap stores: withdrawals, approvals, and what fills a nonce. Each is in the store before it counts here. */
export class StoredTxs {
  readonly #deps: HeldNoncesDeps;
  /** By txid, in the order they were signed. */
  readonly #entries = new Map<string, Entry>();

  constructor(deps: HeldNoncesDeps) {
    this.#deps = deps;
  }

  /** Takes up what is stored. Rejects as the store does. */
  async load(): Promise<void> {
    const { chain, store, address, log } = this.#deps;
    for (const { raw, state, txid } of await store.load(chain.chainId, address)) {
      const parsed = parseEvmTx(raw);
      if (parsed.ok && parsed.value.txid === txid) this.#entries.set(txid, { signed: parsed.value, state, takenAt: null, silence: null });
      // No node takes it either. Without the account nothing of it could be claimed or taken back.
      else log.error("account_tx_unreadable", { coin: chain.ticker, txid });
    }
  }

  /** Stores it, or its new state. What is known of earlier answers is forgotten. Rejects as the store does. */
  async put(signed: SignedEvmTx, state: State): Promise<void> {
    const { chain, address, store } = this.#deps;
    await store.put({ chainId: chain.chainId, from: address, nonce: signed.tx.nonce, txid: signed.txid, raw: signed.raw, state });
    this.#entries.set(signed.txid, { signed, state, takenAt: null, silence: null });
  }

  isSent(txid: string): boolean {
    return this.#entries.get(txid)?.state === "sent";
  }

  sent(): readonly SignedEvmTx[] {
    return this.#inState("sent").map(({ signed }) => signed);
  }

  #inState(state: State): readonly Entry[] {
    return [...this.#entries.values()].filter((entry) => entry.state === state);
  }

  /** Sent ones that no pool has, as far as is known, and no dearer one with their nonce took the place of; the least nonce first. */
  missing(): readonly SignedEvmTx[] {
    const account = this.#deps.chain.account(this.#deps.address);
    if (!account) return [];
    return this.#inState("sent")
      .filter(({ signed, takenAt }) => signed.tx.nonce >= account.pendingNonce && takenAt !== account.block.hash && !this.#isOutbid(signed))
      .map(({ signed }) => signed)
      .toSorted(byNonce);
  }

  /** Whether another that was sent has its nonce and pays more. */
  #isOutbid({ tx }: SignedEvmTx): boolean {
    return this.sent().some((other) => other.tx.nonce === tx.nonce && isDearer(other.tx, tx));
  }

  /** Transactions that do the same with the same nonce, in the order they were signed; none that was forgotten. */
  versionsOf({ tx }: SignedEvmTx): readonly SignedEvmTx[] {
    const signed = [...this.#entries.values()].map((entry) => entry.signed);
    return signed.filter((other) => other.tx.nonce === tx.nonce && samePayment(other.tx, tx));
  }

  /** The nodes took it. */
  noteTaken(txid: string): void {
    const { chain, address } = this.#deps;
    const entry = this.#entries.get(txid);
    if (entry) [entry.takenAt, entry.silence] = [chain.account(address)?.block.hash ?? null, null];
  }

  /** The nodes neither took nor refused it. */
  noteSilence(txid: string, message: string): void {
    const entry = this.#entries.get(txid);
    if (entry) entry.silence = message;
  }

  /** Hash of the tip when the nodes last took it; null: nothing is known of that. */
  takenAt(txid: string): string | null {
    return this.#entries.get(txid)?.takenAt ?? null;
  }

  /** Why the nodes neither took nor refused it when it was last sent; null: they did, or pools or blocks have its nonce since. */
  silence(txid: string): string | null {
    const { chain, address } = this.#deps;
    const entry = this.#entries.get(txid);
    const free = chain.account(address)?.pendingNonce ?? 0n;
    return entry && entry.signed.tx.nonce >= free ? entry.silence : null;
  }

  /** Other nodes are used now, and took nothing yet, nor failed at it. */
  forgetAnswers(): void {
    for (const entry of this.#entries.values()) [entry.takenAt, entry.silence] = [null, null];
  }

  /** Forgets the oldest of what was never sent, and what has a nonce far below `used`. Rejects as the store does. */
  async prune(used: bigint): Promise<void> {
    const isDeep = ({ tx }: SignedEvmTx): boolean => tx.nonce + KEEP_BEHIND < used;
    const [unsent, sent] = [this.#inState("signed").map(({ signed }) => signed), this.sent().filter(isDeep).toSorted(byNonce)];
    const surplus = [...allButLast(unsent, MAX_SIGNED), ...unsent.filter(isDeep), ...allButLast(sent, MAX_DEEP)];
    const gone = new Set(surplus.map(({ txid }) => txid));
    if (gone.size === 0) return;
    await this.#deps.store.remove([...gone]);
    for (const txid of gone) this.#entries.delete(txid);
  }
}

const byNonce = (a: SignedEvmTx, b: SignedEvmTx): number => (a.tx.nonce < b.tx.nonce ? -1 : a.tx.nonce > b.tx.nonce ? 1 : 0);
const allButLast = <T>(all: readonly T[], most: number): readonly T[] => all.slice(0, Math.max(0, all.length - most));
