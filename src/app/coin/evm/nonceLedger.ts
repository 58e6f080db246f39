import type { SignedEvmTx } from "../../../core/evm/tx.ts";
import { OneByOne } from "../../../core/util/oneByOne.ts";
import { err, ok, type Result } from "../../../core/util/result.ts";
import type { BroadcastOutcome } from "../../../ports/chain.ts";
import { Aborted } from "../../../ports/clock.ts";
import { broadcastToResult, type SendError } from "../withdraw.ts";
import { whyInNoBlock } from "./blockGas.ts";
import { HeldNonces } from "./heldNonces.ts";
import { isDearer, isFiller, samePayment } from "./replacement.ts";

/**
 * Nonces that a transaction may leave free below itself: what was signed before it may have been refused since. Each is filled at the account's
 * expense (`NonceKeeper`), and geth keeps no more than some tens of what waits behind a gap.
 */
const MOST_SKIPPED = 16n;

/**
 * Signs and sends with the nonces of one account. Every own transaction is stored before it leaves this node, so that a crash between
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
 */
export class NonceLedger extends HeldNonces {
  readonly #turns = new OneByOne();
  /** What something else was last not sent for. */
  #heldUpBy: string | null = null;

  /** Takes up what is stored, drops what is long mined, and sends again what may not have arrived. The account must be watched. */
  async open(signal?: AbortSignal): Promise<void> {
    await this.stored.load();
    await this.#prune();
    await this.#sendAgain(null, signal);
  }

  /** Takes no more, and resolves when what is under way has ended: whoever opens the account next reads the whole of it. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.#turns.run(async () => undefined);
  }

  /**
   * Sends what no pool has, the least nonce first, but what has the nonce `except`. Ends at the first the nodes do not answer
   * for, and gives it back.
   */
  async #sendAgain(except: bigint | null, signal?: AbortSignal): Promise<SignedEvmTx | null> {
    const { chain, log } = this.deps;
    for (const signed of this.stored.missing()) {
      if (signed.tx.nonce === except) continue;
      const outcome = await this.#give(signed, signal);
      log.info("sent_again", { coin: chain.ticker, txid: signed.txid, nonce: String(signed.tx.nonce), outcome: outcome.kind });
      if (outcome.kind === "unknown") return signed;
    }
    return null;
  }

  /** Why nothing is sent now; null: it may be. */
  #obstacle(unanswered: SignedEvmTx | null, nonce: bigint): SendError | null {
    const { state, error } = this.deps.chain.status();
    if (state === "unreachable")
      return { kind: "Rejected", message: `${(error ?? "the nodes are away").replace(/\.$/, "")}; nothing was sent` };
    if (unanswered === null || unanswered.tx.nonce >= nonce) return null;
    const { txid, tx } = unanswered;
    this.#heldUpBy = txid;
    const said = (this.stored.silence(txid) ?? "no answer").replace(/\.$/, "");
    const message = `no node takes or refuses ${txid}, which was sent before with nonce ${tx.nonce} (${said}); it is tried again each time, and where that goes on for ten minutes an empty transfer to the own address takes its place; nothing else was sent`;
    return { kind: "Rejected", message };
  }

  /** Whether something was not sent because of one that is unanswered still. */
  get isHeldUp(): boolean {
    return this.#heldUpBy !== null && this.isUnanswered(this.#heldUpBy);
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
        return err({ kind: "Transport", message: `the ${this.deps.chain.ticker} nodes have not told the account's nonce yet` });
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
    if (this.swapTxs.get(signed.txid)) return broadcastToResult(await this.deps.chain.broadcast(signed.raw, signal), signed.txid);
    this.storing = signed;
    try {
      await this.#put(signed, "sent");
    } finally {
      this.storing = null;
    }
    const outcome = await this.#give(signed, signal);
    if (outcome.kind !== "unknown") return broadcastToResult(outcome, signed.txid);
    // Whoever asked must not take it for lost and pay again.
    const again = `transaction ${signed.txid} may be out, and is sent again before any other of this account`;
    return err({ kind: "Transport", message: `${outcome.message.replace(/\.$/, "")}; ${again}` });
  }

  /** To the nodes. It is marked as sent before. */
  async #give(signed: SignedEvmTx, signal: AbortSignal | undefined): Promise<BroadcastOutcome> {
    const outcome = await this.deps.chain.broadcast(signed.raw, signal);
    if (outcome.kind === "rejected") await this.#put(signed, "signed");
    else if (outcome.kind === "unknown") this.stored.noteSilence(signed.txid, outcome.message);
    else this.stored.noteTaken(signed.txid);
    return outcome;
  }

  /** Why it must not be sent; null: it may. */
  #refusal(signed: SignedEvmTx): string | null {
    const { nonce } = signed.tx;
    if (this.stored.isSent(signed.txid)) return null;
    const inNoBlock = whyInNoBlock(this.deps.chain, signed.tx);
    if (inNoBlock !== null) return inNoBlock;
    if (nonce < this.used()) return `nonce ${nonce} has been used by another transaction of this account; make a new one with withdraw`;
    const next = this.next();
    if (next !== null && nonce - next > MOST_SKIPPED)
      return `nonce ${nonce} is far above ${next}, the next of this account, and would wait for all between; make a new one with withdraw`;
    // Of several versions the dearest is what was sent last.
    const isUnanswered = (other: SignedEvmTx): boolean =>
      this.versionsOf(other).some(({ txid, tx }) => this.isUnanswered(txid) && (txid === other.txid || isDearer(tx, other.tx)));
    const isReplaceable = (other: SignedEvmTx): boolean => this.isMoot(other.txid) || isUnanswered(other);
    const mayFill = (other: SignedEvmTx): boolean =>
      isFiller(signed) && (this.isGivenUp(other.txid) || (isReplaceable(other) && isDearer(signed.tx, other.tx)));
    for (const { signed: other, ofSwap } of this.taking()) {
      if (other.tx.nonce !== nonce || other.txid === signed.txid || mayFill(other)) continue;
      if (!ofSwap && samePayment(other.tx, signed.tx) && isDearer(signed.tx, other.tx)) continue;
      return `nonce ${nonce} is taken by ${other.txid}, which ${ofSwap ? "belongs to a swap" : "was sent"}; make a new one with withdraw`;
    }
    return null;
  }

  async #put(signed: SignedEvmTx, state: "signed" | "sent"): Promise<void> {
    await this.stored.put(signed, state);
    await this.#prune();
  }

  async #prune(): Promise<void> {
    this.pruneSwapTxs();
    await this.stored.prune(this.used());
  }

  #inTurn<T, E>(work: () => Promise<Result<T, E>>): Promise<Result<T, E | SendError>> {
    return this.#turns.run(async (): Promise<Result<T, E | SendError>> => {
      if (!this.isClosed) return work();
      return err({ kind: "Rejected", message: `the ${this.deps.chain.ticker} account was just disabled; nothing was sent` });
    });
  }
}
