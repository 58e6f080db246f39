import type { EvmAddress } from "../../../core/evm/address.ts";
import { evmTxid, parseEvmTx } from "../../../core/evm/parseTx.ts";
import type { SignedEvmTx } from "../../../core/evm/tx.ts";
import type { AccountChain } from "../../../ports/accountChain.ts";
import type { AccountTxStore } from "../../../ports/accountTxStore.ts";
import type { Log } from "../../../ports/log.ts";
import { dataBound } from "./dataCost.ts";
import { type Outgoing, outgoingOf } from "./outgoing.ts";
import { samePayment } from "./replacement.ts";
import { KEEP_BEHIND, StoredTxs } from "./storedTxs.ts";
import { type EntrustedTx, SwapTxs } from "./swapTxs.ts";

/**
 * Transactions of this account in the nodes' pools that nothing here knows of, at most. geth keeps 16 of one account for sure; a node that
 * names more has nothing, or lies, and whatever is signed behind them would wait for ever.
 */
export const MOST_UNKNOWN = 16;

export type HeldNoncesDeps = {
  readonly chain: AccountChain;
  readonly address: EvmAddress;
  readonly store: AccountTxStore;
  readonly log: Log;
};

/** An own transaction whose nonce no block has used. `ofSwap`: its swap sends and replaces it, nobody else. */
export type WaitingTx = { readonly signed: SignedEvmTx; readonly ofSwap: boolean };

/**
 * Who has which nonce of one account: what was sent, by its store, and what swaps signed.
 *
 * Transactions of swaps have their nonce from the moment they are signed (`take`), in memory: their swap stores them before it
 * sends them, gives them here again after a restart (`adopt`), and sends and replaces them itself. Nothing else is sent with
 * a nonce one of them has. They must be adopted before the first withdrawal after a start.
 */
export class HeldNonces {
  protected readonly deps: HeldNoncesDeps;
  protected readonly stored: StoredTxs;
  protected readonly swapTxs = new SwapTxs();
  /** On its way into the store: `take` comes at any moment, and must not give its nonce away meanwhile. */
  protected storing: SignedEvmTx | null = null;
  protected isClosed = false;
  /** What the pools are said to hold below is not believed. */
  #doubtBelow = 0n;
  #exchanges = 0;

  constructor(deps: HeldNoncesDeps) {
    this.deps = deps;
    this.stored = new StoredTxs(deps);
  }

  /** The least free nonce; null before the chain has told. @param isFiller what was given up counts as free */
  next(isFiller = false): bigint | null {
    const account = this.deps.chain.account(this.deps.address);
    if (!account) return null;
    const counting = this.taking().filter(({ signed }) => !isFiller || !this.isGivenUp(signed.txid));
    const taken = new Set(counting.map(({ signed }) => signed.tx.nonce));
    const isBelieved = account.nonce >= this.#doubtBelow && this.unknown().length <= MOST_UNKNOWN;
    let nonce = isBelieved && account.pendingNonce > account.nonce ? account.pendingNonce : account.nonce;
    while (taken.has(nonce)) nonce++;
    return nonce;
  }

  /** Nonces that the nodes' pools are said to have and nothing of ours has, the least first. */
  unknown(): readonly bigint[] {
    const account = this.deps.chain.account(this.deps.address);
    if (!account) return [];
    const taken = new Set(this.taking().map(({ signed }) => signed.tx.nonce));
    const unknown: bigint[] = [];
    for (let nonce = account.nonce; nonce < account.pendingNonce; nonce++) if (!taken.has(nonce)) unknown.push(nonce);
    return unknown;
  }

  /** What the pools are said to have below `nonce` was waited for in vain: these nonces are given away again. */
  doubt(nonce: bigint): void {
    this.#doubtBelow = nonce;
  }

  /** Everything that has a nonce, also used ones that are still remembered. */
  protected taking(): readonly WaitingTx[] {
    const sent = [...this.stored.sent(), ...(this.storing ? [this.storing] : [])];
    return [...sent.map((signed) => ({ signed, ofSwap: false })), ...this.swapTxs.all().map((signed) => ({ signed, ofSwap: true }))];
  }

  /** Own transactions that have a nonce no block has used, as the chain was last seen: sent ones, and all of swaps. */
  waiting(): readonly WaitingTx[] {
    const used = this.used();
    return this.taking().filter(({ signed }) => signed.tx.nonce >= used);
  }

  /** What `waiting` may still take, at most, but for what has the nonce `except`; of a nonce with several, the dearest. */
  outgoing(except: bigint | null = null): Outgoing {
    return outgoingOf(
      this.waiting().flatMap(({ signed: { tx } }) => (tx.nonce === except ? [] : [tx])),
      dataBound(this.deps.chain).wei,
    );
  }

  /**
   * A transaction of a swap with the least free nonce, which is its own from now on; not stored, not sent. Null: the chain has
   * not told the account's nonce yet, the account is closing, or too many are held.
   */
  take(sign: (nonce: bigint) => SignedEvmTx): SignedEvmTx | null {
    this.pruneSwapTxs();
    const nonce = this.isClosed || this.swapTxs.isFull ? null : this.next();
    if (nonce === null) return null;
    const signed = sign(nonce);
    this.#mustBeOwn(signed);
    if (signed.tx.nonce !== nonce) throw new Error(`signed with nonce ${signed.tx.nonce} in place of ${nonce}`);
    this.swapTxs.add(signed);
    return signed;
  }

  /**
   * Takes the nonce of a swap's stored transaction: after a restart, or of another version of one that is held. Idempotent,
   * and not bounded: what is stored may be sent at any time. @throws on bytes that are no transaction of this account
   */
  adopt(raw: Uint8Array): void {
    const parsed = parseEvmTx(raw);
    if (!parsed.ok) throw new Error(`a swap's transaction of ${this.deps.chain.ticker} cannot be read`);
    this.#mustBeOwn(parsed.value);
    this.swapTxs.add(parsed.value);
    this.pruneSwapTxs();
  }

  /** A swap's transaction was never sent and never will be: its nonce is free again if nothing else has it. */
  free(txid: string): void {
    this.swapTxs.remove(txid);
  }

  /**
   * A swap's transaction came to nothing: its swap goes on, or is over, without it. Others may have it and bring it back, so nothing of
   * value gets its nonce, and nothing of value waits for it: the keeper fills it at once where the nodes refuse it, else once it has held
   * up others for long.
   */
  giveUp(txid: string, isRefused: boolean): void {
    this.swapTxs.giveUp(txid, isRefused);
  }

  /** Its swap needs it again. */
  takeBack(txid: string): void {
    this.swapTxs.takeBack(txid);
  }

  /** Its swap waits for its other coin, and cannot see to it: the account's keeper does, until `handBack`. See `EntrustedTx`. */
  entrust(txid: string, untilMs: number | null, renew: EntrustedTx["renew"] = null): void {
    this.swapTxs.entrust(txid, { untilMs, renew });
  }

  handBack(txid: string): void {
    this.swapTxs.handBack(txid);
  }

  /** What has versions of entrusted transactions made, of those, too, that have missed their nonce; of none that went through in any version. */
  renewals(): readonly NonNullable<EntrustedTx["renew"]>[] {
    const isDone = ({ tx }: SignedEvmTx): boolean =>
      this.othersAt(tx.nonce).some((other) => samePayment(other.tx, tx) && this.deps.chain.tx(other.txid)?.receipt?.succeeded === true);
    return this.swapTxs.entrusted().flatMap(({ signed, renew }) => (renew && !isDone(signed) ? [renew] : []));
  }

  /** Those whose nonce no block has used. */
  entrusted(): readonly EntrustedTx[] {
    const used = this.used();
    return this.swapTxs.entrusted().filter(({ signed }) => signed.tx.nonce >= used);
  }

  /** Whether it was given up, refused or not. */
  isMoot(txid: string): boolean {
    return this.swapTxs.isMoot(txid);
  }

  /** Whether it was given up and refused, and is in no pool and no block again. */
  isGivenUp(txid: string): boolean {
    return this.swapTxs.isRefused(txid) && this.deps.chain.tx(txid) === undefined;
  }

  /** Whether nodes have it: a pool or a block shows it, or they took it since the last block. */
  isOut(txid: string): boolean {
    const { chain, address } = this.deps;
    const takenAt = this.#takenAt(txid);
    return chain.tx(txid) !== undefined || (takenAt !== null && takenAt === chain.account(address)?.block.hash);
  }

  /** Whether nodes have it, or took it once, in any version: what is in it is known. */
  hasLeft({ tx }: SignedEvmTx): boolean {
    const isKnown = (txid: string): boolean => this.deps.chain.tx(txid) !== undefined || this.#takenAt(txid) !== null;
    return this.swapTxs.all().some((other) => samePayment(other.tx, tx) && isKnown(other.txid));
  }

  #takenAt(txid: string): string | null {
    return this.stored.takenAt(txid) ?? this.swapTxs.takenAt(txid);
  }

  /** Whether nodes neither took nor refused it when it was last sent, and neither pools nor blocks have its nonce since. */
  isUnanswered(txid: string): boolean {
    return this.stored.silence(txid) !== null;
  }

  /** Nodes took these bytes, which their swap sends itself. */
  noteTaken(raw: Uint8Array): void {
    const txid = evmTxid(raw);
    const at = this.deps.chain.account(this.deps.address)?.block.hash;
    if (at !== undefined) this.swapTxs.noteTaken(txid, at);
  }

  /** How often the nodes were exchanged: what was noted of them before says nothing of those used now. */
  get exchanges(): number {
    return this.#exchanges;
  }
  /** Other nodes are used now, and took nothing yet, nor failed at it. What the pools are said to hold is a look's, which is made anew. */
  nodesExchanged(): void {
    this.#exchanges++;
    this.swapTxs.forgetTaken();
    this.stored.forgetAnswers();
  }

  /** A swap's transaction that is held; null also when its nonce was used so long ago that it was forgotten. */
  txAt(txid: string): SignedEvmTx | null {
    return this.swapTxs.get(txid);
  }

  /** Everything of this account that has this nonce: sent, or of a swap. At most one of them is ever mined. */
  othersAt(nonce: bigint): readonly SignedEvmTx[] {
    return this.taking()
      .map(({ signed }) => signed)
      .filter(({ tx }) => tx.nonce === nonce);
  }

  /** Transactions that do the same with the same nonce, in the order they were signed; none that was forgotten. */
  versionsOf(signed: SignedEvmTx): readonly SignedEvmTx[] {
    return this.stored.versionsOf(signed);
  }

  #mustBeOwn({ txid, tx, from }: SignedEvmTx): void {
    const { chain, address } = this.deps;
    if (from !== address || tx.chainId !== chain.chainId) throw new Error(`${txid} is no transaction of this ${chain.ticker} account`);
  }

  protected used(): bigint {
    return this.deps.chain.account(this.deps.address)?.nonce ?? 0n;
  }

  protected pruneSwapTxs(): void {
    this.swapTxs.dropBelow(this.used() - KEEP_BEHIND);
  }
}
