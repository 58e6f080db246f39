import type { EvmAddress } from "../../../core/evm/address.ts";
import { evmTxid, parseEvmTx } from "../../../core/evm/parseTx.ts";
import type { SignedEvmTx } from "../../../core/evm/tx.ts";
import { OneByOne } from "../../../core/util/oneByOne.ts";
import { err, ok, type Result } from "../../../core/util/result.ts";
import type { AccountChain } from "../../../ports/accountChain.ts";
import type { AccountTxStore } from "../../../ports/accountTxStore.ts";
import type { BroadcastOutcome } from "../../../ports/chain.ts";
import { Aborted } from "../../../ports/clock.ts";
import type { Log } from "../../../ports/log.ts";
import { broadcastToResult, type SendError } from "../withdraw.ts";
import { whyInNoBlock } from "./blockGas.ts";
import { dataBound } from "./dataCost.ts";
import { type Outgoing, outgoingOf } from "./outgoing.ts";
import { isDearer, isFiller, samePayment } from "./replacement.ts";
import { KEEP_BEHIND, StoredTxs } from "./storedTxs.ts";
import { type EntrustedTx, SwapTxs } from "./swapTxs.ts";

/**
 * Transactions of this account in the nodes' pools that nothing here knows of, at most. geth keeps 16 of one account for sure; a node that
 * names more has nothing, or lies, and whatever is signed behind them would wait for ever.
 */
export const MOST_UNKNOWN = 16;

/**
 * Nonces that a transaction may leave free below itself: what was signed before it may have been refused since. Each is filled at the account's
 * expense (`NonceKeeper`), and geth keeps no more than some tens of what waits behind a gap.
 */
const MOST_SKIPPED = 16n;

export type NonceLedgerDeps = {
  readonly chain: AccountChain;
  readonly address: EvmAddress;
  readonly store: AccountTxStore;
  readonly log: Log;
};

/** An own transaction whose nonce no block has used. `ofSwap`: its swap sends and replaces it, nobody else. */
export type WaitingTx = { readonly signed: SignedEvmTx; readonly ofSwap: boolean };

/**
 * Who has which nonce of one account. Every own transaction is stored before it leaves this node, so that a crash between
 * signing and sending forgets nothing.
 *
 * A nonce is taken when its transaction is sent through this node, not when it is signed: KDF's `withdraw` only signs, and
 * its caller may never send. So `withdraw` proposes the least nonce that neither the chain, nor the nodes' pools, nor a sent
 * transaction of ours has; two withdrawals signed one after the other propose the same one, and the second to be sent is
 * refused. Two sent transactions share a nonce only when the later is the same payment at a higher price: that one replaces
 * the other, and at most one of them can be mined. A refusal by all nodes frees the nonce; an answer that never came does not.
 *
 * Whatever was sent and is in no pool (it never arrived, or was dropped) holds up all that come after it. So it is sent once
 * more when the account is opened and before anything new is signed or sent; while no node answers for it, nothing after it is
 * sent: whoever repeats a withdrawal that had no answer must not pay once for each try. Where that goes on for long, an empty transfer takes its
 * nonce (`NonceKeeper`), at a higher price: at most one of the two is ever mined.
 *
 * Transactions of swaps have their nonce from the moment they are signed (`take`), in memory: their swap stores them before it
 * sends them, gives them here again after a restart (`adopt`), and sends and replaces them itself. Nothing else is sent with
 * a nonce one of them has. They must be adopted before the first withdrawal after a start.
 */
export class NonceLedger {
  readonly #deps: NonceLedgerDeps;
  readonly #stored: StoredTxs;
  readonly #swapTxs = new SwapTxs();
  /** On its way into the store: `take` comes at any moment, and must not give its nonce away meanwhile. */
  #storing: SignedEvmTx | null = null;
  readonly #turns = new OneByOne();
  #isClosed = false;
  /** What the pools are said to hold below is not believed. */
  #doubtBelow = 0n;
  #exchanges = 0;
  /** What something else was last not sent for. */
  #heldUpBy: string | null = null;

  constructor(deps: NonceLedgerDeps) {
    this.#deps = deps;
    this.#stored = new StoredTxs(deps);
  }

  /** Takes up what is stored, drops what is long mined, and sends again what may not have arrived. The account must be watched. */
  async open(signal?: AbortSignal): Promise<void> {
    await this.#stored.load();
    await this.#prune();
    await this.#sendAgain(null, signal);
  }

  /** Takes no more, and resolves when what is under way has ended: whoever opens the account next reads the whole of it. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#turns.run(async () => undefined);
  }

  /**
   * Sends what no pool has, the least nonce first, but what has the nonce `except`. Ends at the first the nodes do not answer
   * for, and gives it back.
   */
  async #sendAgain(except: bigint | null, signal?: AbortSignal): Promise<SignedEvmTx | null> {
    const { chain, log } = this.#deps;
    for (const signed of this.#stored.missing()) {
      if (signed.tx.nonce === except) continue;
      const outcome = await this.#give(signed, signal);
      log.info("sent_again", { coin: chain.ticker, txid: signed.txid, nonce: String(signed.tx.nonce), outcome: outcome.kind });
      if (outcome.kind === "unknown") return signed;
    }
    return null;
  }

  /** Why nothing is sent now; null: it may be. */
  #obstacle(unanswered: SignedEvmTx | null, nonce: bigint): SendError | null {
    const { state, error } = this.#deps.chain.status();
    if (state === "unreachable")
      return { kind: "Rejected", message: `${(error ?? "the nodes are away").replace(/\.$/, "")}; nothing was sent` };
    if (unanswered === null || unanswered.tx.nonce >= nonce) return null;
    const { txid, tx } = unanswered;
    this.#heldUpBy = txid;
    const said = (this.#stored.silence(txid) ?? "no answer").replace(/\.$/, "");
    const message = `no node takes or refuses ${txid}, which was sent before with nonce ${tx.nonce} (${said}); it is tried again each time, and where that goes on for ten minutes an empty transfer to the own address takes its place; nothing else was sent`;
    return { kind: "Rejected", message };
  }

  /** The least free nonce; null before the chain has told. @param isFiller what was given up counts as free */
  next(isFiller = false): bigint | null {
    const account = this.#deps.chain.account(this.#deps.address);
    if (!account) return null;
    const counting = this.#taking().filter(({ signed }) => !isFiller || !this.isGivenUp(signed.txid));
    const taken = new Set(counting.map(({ signed }) => signed.tx.nonce));
    const isBelieved = account.nonce >= this.#doubtBelow && this.unknown().length <= MOST_UNKNOWN;
    let nonce = isBelieved && account.pendingNonce > account.nonce ? account.pendingNonce : account.nonce;
    while (taken.has(nonce)) nonce++;
    return nonce;
  }

  /** Nonces that the nodes' pools are said to have and nothing of ours has, the least first. */
  unknown(): readonly bigint[] {
    const account = this.#deps.chain.account(this.#deps.address);
    if (!account) return [];
    const taken = new Set(this.#taking().map(({ signed }) => signed.tx.nonce));
    const unknown: bigint[] = [];
    for (let nonce = account.nonce; nonce < account.pendingNonce; nonce++) if (!taken.has(nonce)) unknown.push(nonce);
    return unknown;
  }

  /** What the pools are said to have below `nonce` was waited for in vain: these nonces are given away again. */
  doubt(nonce: bigint): void {
    this.#doubtBelow = nonce;
  }

  /** Everything that has a nonce, also used ones that are still remembered. */
  #taking(): readonly WaitingTx[] {
    const sent = [...this.#stored.sent(), ...(this.#storing ? [this.#storing] : [])];
    return [...sent.map((signed) => ({ signed, ofSwap: false })), ...this.#swapTxs.all().map((signed) => ({ signed, ofSwap: true }))];
  }

  /** Own transactions that have a nonce no block has used, as the chain was last seen: sent ones, and all of swaps. */
  waiting(): readonly WaitingTx[] {
    const used = this.#used();
    return this.#taking().filter(({ signed }) => signed.tx.nonce >= used);
  }

  /** What `waiting` may still take, at most, but for what has the nonce `except`; of a nonce with several, the dearest. */
  outgoing(except: bigint | null = null): Outgoing {
    return outgoingOf(
      this.waiting().flatMap(({ signed: { tx } }) => (tx.nonce === except ? [] : [tx])),
      dataBound(this.#deps.chain).wei,
    );
  }

  /**
   * A transaction of a swap with the least free nonce, which is its own from now on; not stored, not sent. Null: the chain has
   * not told the account's nonce yet, the account is closing, or too many are held.
   */
  take(sign: (nonce: bigint) => SignedEvmTx): SignedEvmTx | null {
    this.#pruneSwapTxs();
    const nonce = this.#isClosed || this.#swapTxs.isFull ? null : this.next();
    if (nonce === null) return null;
    const signed = sign(nonce);
    this.#mustBeOwn(signed);
    if (signed.tx.nonce !== nonce) throw new Error(`signed with nonce ${signed.tx.nonce} in place of ${nonce}`);
    this.#swapTxs.add(signed);
    return signed;
  }

  /**
   * Takes the nonce of a swap's stored transaction: after a restart, or of another version of one that is held. Idempotent,
   * and not bounded: what is stored may be sent at any time. @throws on bytes that are no transaction of this account
   */
  adopt(raw: Uint8Array): void {
    const parsed = parseEvmTx(raw);
    if (!parsed.ok) throw new Error(`a swap's transaction of ${this.#deps.chain.ticker} cannot be read`);
    this.#mustBeOwn(parsed.value);
    this.#swapTxs.add(parsed.value);
    this.#pruneSwapTxs();
  }

  /** A swap's transaction was never sent and never will be: its nonce is free again if nothing else has it. */
  free(txid: string): void {
    this.#swapTxs.remove(txid);
  }

  /**
   * A swap's transaction came to nothing: its swap goes on, or is over, without it. Others may have it and bring it back, so nothing of
   * value gets its nonce, and nothing of value waits for it: the keeper fills it at once where the nodes refuse it, else once it has held
   * up others for long.
   */
  giveUp(txid: string, isRefused: boolean): void {
    this.#swapTxs.giveUp(txid, isRefused);
  }

  /** Its swap needs it again. */
  takeBack(txid: string): void {
    this.#swapTxs.takeBack(txid);
  }

  /** Its swap waits for its other coin, and cannot see to it: the account's keeper does, until `handBack`. See `EntrustedTx`. */
  entrust(txid: string, untilMs: number | null, renew: EntrustedTx["renew"] = null): void {
    this.#swapTxs.entrust(txid, { untilMs, renew });
  }

  handBack(txid: string): void {
    this.#swapTxs.handBack(txid);
  }

  /** What has versions of entrusted transactions made, of those, too, that have missed their nonce; of none that went through in any version. */
  renewals(): readonly NonNullable<EntrustedTx["renew"]>[] {
    const isDone = ({ tx }: SignedEvmTx): boolean =>
      this.othersAt(tx.nonce).some((other) => samePayment(other.tx, tx) && this.#deps.chain.tx(other.txid)?.receipt?.succeeded === true);
    return this.#swapTxs.entrusted().flatMap(({ signed, renew }) => (renew && !isDone(signed) ? [renew] : []));
  }

  /** Those whose nonce no block has used. */
  entrusted(): readonly EntrustedTx[] {
    const used = this.#used();
    return this.#swapTxs.entrusted().filter(({ signed }) => signed.tx.nonce >= used);
  }

  /** Whether it was given up, refused or not. */
  isMoot(txid: string): boolean {
    return this.#swapTxs.isMoot(txid);
  }

  /** Whether it was given up and refused, and is in no pool and no block again. */
  isGivenUp(txid: string): boolean {
    return this.#swapTxs.isRefused(txid) && this.#deps.chain.tx(txid) === undefined;
  }

  /** Whether nodes have it: a pool or a block shows it, or they took it since the last block. */
  isOut(txid: string): boolean {
    const { chain, address } = this.#deps;
    const takenAt = this.#takenAt(txid);
    return chain.tx(txid) !== undefined || (takenAt !== null && takenAt === chain.account(address)?.block.hash);
  }

  /** Whether nodes have it, or took it once, in any version: what is in it is known. */
  hasLeft({ tx }: SignedEvmTx): boolean {
    const isKnown = (txid: string): boolean => this.#deps.chain.tx(txid) !== undefined || this.#takenAt(txid) !== null;
    return this.#swapTxs.all().some((other) => samePayment(other.tx, tx) && isKnown(other.txid));
  }

  #takenAt(txid: string): string | null {
    return this.#stored.takenAt(txid) ?? this.#swapTxs.takenAt(txid);
  }

  /** Whether nodes neither took nor refused it when it was last sent, and neither pools nor blocks have its nonce since. */
  isUnanswered(txid: string): boolean {
    return this.#stored.silence(txid) !== null;
  }

  /** Whether something was not sent because of one that is unanswered still. */
  get isHeldUp(): boolean {
    return this.#heldUpBy !== null && this.isUnanswered(this.#heldUpBy);
  }

  /** Nodes took these bytes, which their swap sends itself. */
  noteTaken(raw: Uint8Array): void {
    const txid = evmTxid(raw);
    const at = this.#deps.chain.account(this.#deps.address)?.block.hash;
    if (at !== undefined) this.#swapTxs.noteTaken(txid, at);
  }

  /** How often the nodes were exchanged: what was noted of them before says nothing of those used now. */
  get exchanges(): number {
    return this.#exchanges;
  }
  /** Other nodes are used now, and took nothing yet, nor failed at it. What the pools are said to hold is a look's, which is made anew. */
  nodesExchanged(): void {
    this.#exchanges++;
    this.#swapTxs.forgetTaken();
    this.#stored.forgetAnswers();
  }

  /** A swap's transaction that is held; null also when its nonce was used so long ago that it was forgotten. */
  txAt(txid: string): SignedEvmTx | null {
    return this.#swapTxs.get(txid);
  }

  /** Everything of this account that has this nonce: sent, or of a swap. At most one of them is ever mined. */
  othersAt(nonce: bigint): readonly SignedEvmTx[] {
    return this.#taking()
      .map(({ signed }) => signed)
      .filter(({ tx }) => tx.nonce === nonce);
  }

  /** Transactions that do the same with the same nonce, in the order they were signed; none that was forgotten. */
  versionsOf(signed: SignedEvmTx): readonly SignedEvmTx[] {
    return this.#stored.versionsOf(signed);
  }

  #mustBeOwn({ txid, tx, from }: SignedEvmTx): void {
    const { chain, address } = this.#deps;
    if (from !== address || tx.chainId !== chain.chainId) throw new Error(`${txid} is no transaction of this ${chain.ticker} account`);
  }

  #used(): bigint {
    return this.#deps.chain.account(this.#deps.address)?.nonce ?? 0n;
  }

  #pruneSwapTxs(): void {
    this.#swapTxs.dropBelow(this.#used() - KEEP_BEHIND);
  }

  /** Sends once more what no pool has, in its turn. */
  repeat(signal: AbortSignal): Promise<Result<undefined, SendError>> {
    return this.#inTurn(async () => {
      await this.#sendAgain(null, signal);
      return ok(undefined);
    });
  }

  /**
   * Signs with the next nonce, stores, and sends if asked. One at a time, so that no two calls propose the same nonce and send it;
   * `sign` is called in its turn, when what was sent before counts as gone, and may refuse.
   * @param isFiller it may have the nonce of what was given up
   */
  signNext<E>(
    sign: (nonce: bigint) => Result<SignedEvmTx, E>,
    send: boolean,
    signal: AbortSignal,
    isFiller = false,
  ): Promise<Result<SignedEvmTx, E | SendError>> {
    return this.#inTurn<SignedEvmTx, E | SendError>(async () => {
      const unanswered = await this.#sendAgain(null, signal);
      // What nobody waits for any more must not be marked as sent: it would be, by whatever is sent next.
      if (signal.aborted) throw new Aborted();
      const nonce = this.next(isFiller);
      if (nonce === null)
        return err({ kind: "Transport", message: `the ${this.#deps.chain.ticker} nodes have not told the account's nonce yet` });
      const obstacle = send ? this.#obstacle(unanswered, nonce) : null;
      if (obstacle) return err(obstacle);
      const made = sign(nonce);
      if (!made.ok) return made;
      if (!send) {
        await this.#put(made.value, "signed");
        return made;
      }
      const sent = await this.#send(made.value, signal);
      return sent.ok ? made : sent;
    });
  }

  /**
   * Sends a transaction of this account that was signed before, here or elsewhere.
   * @param refuse called in its turn; why it must not be sent, a sentence, or null
   */
  send(signed: SignedEvmTx, signal: AbortSignal, refuse: () => string | null = () => null): Promise<Result<string, SendError>> {
    return this.#inTurn(async () => {
      const obstacle = this.#obstacle(await this.#sendAgain(signed.tx.nonce, signal), signed.tx.nonce);
      if (obstacle) return err(obstacle);
      if (signal.aborted) throw new Aborted();
      const refusal = refuse();
      return refusal === null ? this.#send(signed, signal) : err({ kind: "Rejected", message: refusal });
    });
  }

  async #send(signed: SignedEvmTx, signal: AbortSignal): Promise<Result<string, SendError>> {
    const refusal = this.#refusal(signed);
    if (refusal !== null) return err({ kind: "Rejected", message: refusal });
    // Its swap has stored it, and decides what its nonce is used for.
    if (this.#swapTxs.get(signed.txid)) return broadcastToResult(await this.#deps.chain.broadcast(signed.raw, signal), signed.txid);
    this.#storing = signed;
    try {
      await this.#put(signed, "sent");
    } finally {
      this.#storing = null;
    }
    const outcome = await this.#give(signed, signal);
    if (outcome.kind !== "unknown") return broadcastToResult(outcome, signed.txid);
    // Whoever asked must not take it for lost and pay again.
    const again = `transaction ${signed.txid} may be out, and is sent again before any other of this account`;
    return err({ kind: "Transport", message: `${outcome.message.replace(/\.$/, "")}; ${again}` });
  }

  /** To the nodes. It is marked as sent before. */
  async #give(signed: SignedEvmTx, signal: AbortSignal | undefined): Promise<BroadcastOutcome> {
    const outcome = await this.#deps.chain.broadcast(signed.raw, signal);
    if (outcome.kind === "rejected") await this.#put(signed, "signed");
    else if (outcome.kind === "unknown") this.#stored.noteSilence(signed.txid, outcome.message);
    else this.#stored.noteTaken(signed.txid);
    return outcome;
  }

  /** Why it must not be sent; null: it may. */
  #refusal(signed: SignedEvmTx): string | null {
    const { nonce } = signed.tx;
    if (this.#stored.isSent(signed.txid)) return null;
    const inNoBlock = whyInNoBlock(this.#deps.chain, signed.tx);
    if (inNoBlock !== null) return inNoBlock;
    if (nonce < this.#used()) return `nonce ${nonce} has been used by another transaction of this account; make a new one with withdraw`;
    const next = this.next();
    if (next !== null && nonce - next > MOST_SKIPPED)
      return `nonce ${nonce} is far above ${next}, the next of this account, and would wait for all between; make a new one with withdraw`;
    // Of several versions the dearest is what was sent last.
    const isUnanswered = (other: SignedEvmTx): boolean =>
      this.versionsOf(other).some(({ txid, tx }) => this.isUnanswered(txid) && (txid === other.txid || isDearer(tx, other.tx)));
    const isReplaceable = (other: SignedEvmTx): boolean => this.isMoot(other.txid) || isUnanswered(other);
    const mayFill = (other: SignedEvmTx): boolean =>
      isFiller(signed) && (this.isGivenUp(other.txid) || (isReplaceable(other) && isDearer(signed.tx, other.tx)));
    for (const { signed: other, ofSwap } of this.#taking()) {
      if (other.tx.nonce !== nonce || other.txid === signed.txid || mayFill(other)) continue;
      if (!ofSwap && samePayment(other.tx, signed.tx) && isDearer(signed.tx, other.tx)) continue;
      return `nonce ${nonce} is taken by ${other.txid}, which ${ofSwap ? "belongs to a swap" : "was sent"}; make a new one with withdraw`;
    }
    return null;
  }

  async #put(signed: SignedEvmTx, state: "signed" | "sent"): Promise<void> {
    await this.#stored.put(signed, state);
    await this.#prune();
  }

  async #prune(): Promise<void> {
    this.#pruneSwapTxs();
    await this.#stored.prune(this.#used());
  }

  #inTurn<T, E>(work: () => Promise<Result<T, E>>): Promise<Result<T, E | SendError>> {
    return this.#turns.run(async (): Promise<Result<T, E | SendError>> => {
      if (!this.#isClosed) return work();
      return err({ kind: "Rejected", message: `the ${this.#deps.chain.ticker} account was just disabled; nothing was sent` });
    });
  }
}
