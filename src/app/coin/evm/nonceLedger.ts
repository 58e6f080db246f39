import type { EvmAddress } from "../../../core/evm/address.ts";
import { parseErc20Call } from "../../../core/evm/erc20.ts";
import { type GasBid, greatestFee } from "../../../core/evm/gas.ts";
import { parseEvmTx } from "../../../core/evm/parseTx.ts";
import type { EvmTx, SignedEvmTx } from "../../../core/evm/tx.ts";
import { equalBytes } from "../../../core/util/bytes.ts";
import { err, type Result } from "../../../core/util/result.ts";
import type { AccountChain } from "../../../ports/accountChain.ts";
import type { AccountTxStore } from "../../../ports/accountTxStore.ts";
import type { BroadcastOutcome } from "../../../ports/chain.ts";
import type { Log } from "../../../ports/log.ts";
import { broadcastToResult, type SendError } from "../withdraw.ts";

/** Nonces below the chain's that are still remembered: deeper than a reorg goes. */
const KEEP_BEHIND = 64n;
/** Transactions remembered that were handed out and not sent; the oldest go first. */
const MAX_SIGNED = 200;

export type NonceLedgerDeps = {
  readonly chain: AccountChain;
  readonly address: EvmAddress;
  readonly store: AccountTxStore;
  readonly log: Log;
};

type State = "signed" | "sent";
/** `takenAt`: hash of the tip when the nodes last took it; null: not known to have arrived. */
type Entry = { readonly signed: SignedEvmTx; readonly state: State; takenAt: string | null };

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
 * sent: whoever repeats a withdrawal that had no answer must not pay once for each try.
 */
export class NonceLedger {
  readonly #deps: NonceLedgerDeps;
  /** By txid, in the order they were signed. */
  readonly #entries = new Map<string, Entry>();
  #turn: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(deps: NonceLedgerDeps) {
    this.#deps = deps;
  }

  /** Takes up what is stored, drops what is long mined, and sends again what may not have arrived. The account must be watched. */
  async open(signal?: AbortSignal): Promise<void> {
    const { chain, store, address } = this.#deps;
    for (const { raw, state, txid } of await store.load(chain.chainId, address)) {
      const parsed = parseEvmTx(raw);
      // Own bytes that went through this very parser before they were stored.
      if (!parsed.ok || parsed.value.txid !== txid) throw new Error(`the stored transaction ${txid} cannot be read`);
      this.#entries.set(txid, { signed: parsed.value, state, takenAt: null });
    }
    await this.#prune();
    await this.#sendAgain(null, signal);
  }

  /** Takes no more, and resolves when what is under way has ended: whoever opens the account next reads the whole of it. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#turn;
  }

  /** Sends what no pool has, the least nonce first. Ends at the first the nodes do not answer for, and gives it back. */
  async #sendAgain(except: string | null, signal?: AbortSignal): Promise<SignedEvmTx | null> {
    const { chain, address, log } = this.#deps;
    const account = chain.account(address);
    if (!account) return null;
    const missing = [...this.#entries.values()].filter(
      ({ signed, state, takenAt }) =>
        state === "sent" && signed.tx.nonce >= account.pendingNonce && takenAt !== account.block.hash && signed.txid !== except,
    );
    missing.sort((a, b) => (a.signed.tx.nonce < b.signed.tx.nonce ? -1 : a.signed.tx.nonce > b.signed.tx.nonce ? 1 : 0));
    for (const { signed } of missing) {
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
    const message = `no node answers for ${unanswered.txid}, which was sent before with nonce ${unanswered.tx.nonce} and is tried again each time; nothing else was sent`;
    return { kind: "Rejected", message };
  }

  /** The least free nonce; null before the chain has told. */
  next(): bigint | null {
    const account = this.#deps.chain.account(this.#deps.address);
    if (!account) return null;
    const taken = new Set([...this.#entries.values()].filter((e) => e.state === "sent").map((e) => e.signed.tx.nonce));
    let nonce = account.pendingNonce > account.nonce ? account.pendingNonce : account.nonce;
    while (taken.has(nonce)) nonce++;
    return nonce;
  }

  /** What sent transactions that are in no block yet may still take, at most; of a nonce with several, the dearest. */
  outgoing(): { readonly wei: bigint; token(contract: EvmAddress): bigint } {
    const used = this.#deps.chain.account(this.#deps.address)?.nonce ?? 0n;
    const waiting = [...this.#entries.values()].filter((e) => e.state === "sent" && e.signed.tx.nonce >= used).map((e) => e.signed.tx);
    return {
      wei: sumOfDearest(waiting, (tx) => tx.value + greatestFee(bidOf(tx), tx.gasLimit)),
      token: (contract) => sumOfDearest(waiting, (tx) => tokenAmount(tx, contract)),
    };
  }

  /**
   * Signs with the next nonce, stores, and sends if asked. One at a time, so that no two calls propose the same nonce and send it;
   * `sign` is called in its turn, when what was sent before counts as gone, and may refuse.
   */
  signNext<E>(
    sign: (nonce: bigint) => Result<SignedEvmTx, E>,
    send: boolean,
    signal: AbortSignal,
  ): Promise<Result<SignedEvmTx, E | SendError>> {
    return this.#inTurn<SignedEvmTx, E | SendError>(async () => {
      const unanswered = await this.#sendAgain(null, signal);
      const nonce = this.next();
      if (nonce === null)
        return err({ kind: "Transport", message: `the ${this.#deps.chain.ticker} nodes have not told the account's nonce yet` });
      const obstacle = send ? this.#obstacle(unanswered, nonce) : null;
      if (obstacle) return err(obstacle);
      const made = sign(nonce);
      if (!made.ok) return made;
      await this.#put(made.value, "signed");
      if (!send) return made;
      const sent = await this.#send(made.value, signal);
      return sent.ok ? made : sent;
    });
  }

  /** Sends a transaction of this account that was signed before, here or elsewhere. */
  send(signed: SignedEvmTx, signal: AbortSignal): Promise<Result<string, SendError>> {
    return this.#inTurn(async () => {
      const obstacle = this.#obstacle(await this.#sendAgain(signed.txid, signal), signed.tx.nonce);
      return obstacle ? err(obstacle) : this.#send(signed, signal);
    });
  }

  async #send(signed: SignedEvmTx, signal: AbortSignal): Promise<Result<string, SendError>> {
    const refusal = this.#refusal(signed);
    if (refusal !== null) return err({ kind: "Rejected", message: refusal });
    await this.#put(signed, "sent");
    const outcome = await this.#give(signed, signal);
    if (outcome.kind !== "unknown") return broadcastToResult(outcome, signed.txid);
    // Whoever asked must not take it for lost and pay again.
    const again = `transaction ${signed.txid} may be out, and is sent again before any other of this account`;
    return err({ kind: "Transport", message: `${outcome.message.replace(/\.$/, "")}; ${again}` });
  }

  /** To the nodes. It is marked as sent before. */
  async #give(signed: SignedEvmTx, signal: AbortSignal | undefined): Promise<BroadcastOutcome> {
    const { chain, address } = this.#deps;
    const outcome = await chain.broadcast(signed.raw, signal);
    const entry = this.#entries.get(signed.txid);
    if (outcome.kind === "rejected") await this.#put(signed, "signed");
    else if (outcome.kind !== "unknown" && entry) entry.takenAt = chain.account(address)?.block.hash ?? null;
    return outcome;
  }

  /** Why it must not be sent; null: it may. */
  #refusal(signed: SignedEvmTx): string | null {
    const { nonce } = signed.tx;
    if (this.#entries.get(signed.txid)?.state === "sent") return null;
    const used = this.#deps.chain.account(this.#deps.address)?.nonce ?? 0n;
    if (nonce < used) return `nonce ${nonce} has been used by another transaction of this account; make a new one with withdraw`;
    for (const other of this.#entries.values()) {
      if (other.state !== "sent" || other.signed.tx.nonce !== nonce || other.signed.txid === signed.txid) continue;
      if (samePayment(other.signed.tx, signed.tx) && isDearer(signed.tx, other.signed.tx)) continue;
      return `nonce ${nonce} is taken by ${other.signed.txid}, which was sent; make a new one with withdraw`;
    }
    return null;
  }

  async #put(signed: SignedEvmTx, state: State): Promise<void> {
    const { chain, address, store } = this.#deps;
    await store.put({ chainId: chain.chainId, from: address, nonce: signed.tx.nonce, txid: signed.txid, raw: signed.raw, state });
    this.#entries.set(signed.txid, { signed, state, takenAt: null });
    await this.#prune();
  }

  async #prune(): Promise<void> {
    const used = this.#deps.chain.account(this.#deps.address)?.nonce ?? 0n;
    const unsent = [...this.#entries.values()].filter((e) => e.state === "signed");
    const surplus = unsent.slice(0, Math.max(0, unsent.length - MAX_SIGNED));
    const old = [...this.#entries.values()].filter((e) => e.signed.tx.nonce + KEEP_BEHIND < used);
    const gone = [...new Set([...surplus, ...old])].map((e) => e.signed.txid);
    if (gone.length === 0) return;
    await this.#deps.store.remove(gone);
    for (const txid of gone) this.#entries.delete(txid);
  }

  #inTurn<T, E>(work: () => Promise<Result<T, E>>): Promise<Result<T, E | SendError>> {
    const mine = this.#turn.then(async (): Promise<Result<T, E | SendError>> => {
      if (!this.#isClosed) return work();
      return err({ kind: "Rejected", message: `the ${this.#deps.chain.ticker} account was just disabled; nothing was sent` });
    });
    // The next one goes on whatever came of this one; the caller of this one is told.
    this.#turn = mine.catch(() => undefined);
    return mine;
  }
}

/** How a transaction of any type bids. */
const bidOf = (tx: EvmTx): GasBid =>
  tx.type === "eip1559"
    ? { kind: "eip1559", maxFeePerGas: tx.maxFeePerGas, maxPriorityFeePerGas: tx.maxPriorityFeePerGas }
    : { kind: "legacy", gasPrice: tx.gasPrice };

function sumOfDearest(txs: readonly EvmTx[], cost: (tx: EvmTx) => bigint): bigint {
  const byNonce = new Map<bigint, bigint>();
  for (const tx of txs) {
    const found = cost(tx);
    if (found > (byNonce.get(tx.nonce) ?? 0n)) byNonce.set(tx.nonce, found);
  }
  return [...byNonce.values()].reduce((sum, n) => sum + n, 0n);
}

function tokenAmount(tx: EvmTx, contract: EvmAddress): bigint {
  if (tx.to !== contract) return 0n;
  const call = parseErc20Call(tx.data);
  return call.ok && call.value.kind === "transfer" ? call.value.amount : 0n;
}

const samePayment = (a: EvmTx, b: EvmTx): boolean => a.to === b.to && a.value === b.value && equalBytes(a.data, b.data);

function isDearer(later: EvmTx, earlier: EvmTx): boolean {
  const [a, b] = [bidOf(later), bidOf(earlier)];
  const figures = (bid: GasBid): readonly [bigint, bigint] =>
    bid.kind === "legacy" ? [bid.gasPrice, bid.gasPrice] : [bid.maxFeePerGas, bid.maxPriorityFeePerGas];
  const [[maxA, tipA], [maxB, tipB]] = [figures(a), figures(b)];
  return maxA > maxB && tipA > tipB;
}
