import { checksumAddress, ZERO_ADDRESS } from "../../../core/evm/address.ts";
import { parseEvmTx } from "../../../core/evm/parseTx.ts";
import type { SignedEvmTx } from "../../../core/evm/tx.ts";
import { equalBytes, hexOf } from "../../../core/util/bytes.ts";
import type { AccountChain, PaymentKey, SwapPayment } from "../../../ports/accountChain.ts";
import type { BlockRef, ChainChange, ChainStatus, SeenOutput, SeenTx } from "../../../ports/chain.ts";
import { steadyTime } from "../../../ports/clock.ts";
import type { SwapChain } from "../../swap/swapCoin.ts";
import type { EvmAccount } from "./evmAccount.ts";
import { type EndKind, KnownCalls, type OwnNonce } from "./knownCalls.ts";
import { type AgreedPayment, agreedPayment } from "./paymentScript.ts";

/** Stands for a transaction that must exist, because the contract says so, and that no node's logs have shown yet. */
const NOT_FOUND_YET = "";

/** Amounts named in one sentence. */
const MAX_TOLD = 3;

/** `payment`: the transaction that made it. */
export type PaymentEnd = { readonly kind: EndKind; readonly payment: string; readonly secret: Uint8Array | null };

/** How long nodes may know that a nonce is used and not yet what used it: their answers come from many machines. */
const DOUBT_MS = 30_000;

type Account = Pick<EvmAccount, "chain" | "address" | "nonces"> & {
  readonly allowances: Pick<EvmAccount["allowances"], "done">;
  readonly clock: Pick<EvmAccount["clock"], "nowMs">;
};
type Watched = AgreedPayment & { readonly script: Uint8Array };
/** `block` and `sinceMs`: since when its nonce is known as used; of the nodes after so many exchanges. */
type Lost = OwnNonce & { readonly block: BlockRef; readonly sinceMs: number; readonly exchanges: number };
/** A transaction as far as it is known. */
type Done = { readonly txid: string; readonly block: BlockRef | null };

/**
 * An account chain as swaps look at it. A script is what `paymentScript` made, its only output the payment that the swap contract
 * holds: with the agreed value where hash and lock time are those agreed on and a token brought all of it, else with none.
 */
export class EvmSwapChain implements SwapChain {
  readonly #account: Account;
  readonly #chain: AccountChain;
  readonly #steadyMs: () => number;
  /** By the hex of the script. */
  readonly #watched = new Map<string, Watched>();
  readonly #calls = new KnownCalls();
  /** Transactions whose absence means something: a whole look has covered them. */
  readonly #followed = new Set<string>();
  /** Own transactions whose nonce another one used, by txid. */
  readonly #lost = new Map<string, Lost>();
  /** Transactions that were seen in a pool or block since the start. */
  readonly #sighted = new Set<string>();

  constructor(account: Account) {
    this.#account = account;
    this.#chain = account.chain;
    this.#steadyMs = steadyTime(account.clock);
  }

  get ticker(): string {
    return this.#chain.ticker;
  }
  status(): ChainStatus {
    return this.#chain.status();
  }
  hasty(): string | null {
    return this.#chain.status().hasty;
  }
  onChange(listener: (change: ChainChange) => void): () => void {
    return this.#chain.onChange(({ all, keys }) => {
      const scripts = [...this.#watched].filter(([, { key }]) => keys.has(key.id)).map(([hex]) => hex);
      listener(scripts.length === 0 ? { all, keys } : { all, keys: new Set([...keys, ...scripts]) });
    });
  }

  async watchScript(script: Uint8Array, fromHeight: number, signal?: AbortSignal): Promise<void> {
    const agreed = agreedPayment(script);
    this.#watched.set(hexOf(script), { ...agreed, script });
    await this.#chain.watchPayment({ ...agreed.key, lockTime: agreed.lockTime }, fromHeight, signal);
  }
  async watchTx(txid: string, fromHeight: number, signal?: AbortSignal): Promise<void> {
    await this.#chain.watchTx(txid, fromHeight, signal);
    this.#followed.add(txid);
  }
  async unwatch({
    scripts = [],
    txids = [],
  }: {
    readonly scripts?: readonly Uint8Array[];
    readonly txids?: readonly string[];
  }): Promise<void> {
    const gone = scripts.map((script) => agreedPayment(script).key);
    for (const script of scripts) this.#watched.delete(hexOf(script));
    for (const txid of txids) {
      this.#followed.delete(txid);
      this.#lost.delete(txid);
      this.#calls.drop(txid);
      this.#sighted.delete(txid);
    }
    for (const { id } of gone) {
      this.#calls.forgetPayment(id);
      this.#account.allowances.done(id);
    }
    const stays = ({ contract, id }: PaymentKey): boolean =>
      [...this.#watched.values()].some(({ key }) => key.id === id && key.contract === contract);
    this.#chain.unwatch({ payments: gone.filter((key) => !stays(key)), txids });
  }

  outputs(script: Uint8Array): readonly SeenOutput[] {
    const watched = this.#watched.get(hexOf(script));
    const payment = watched && this.#chain.payment(watched.key);
    const sent = payment && payment.state !== "uninitialized" ? this.#madeBy(watched, payment) : null;
    if (!payment || !sent) return [];
    const isAgreed = isAsAgreed(watched, payment) && this.#shortfall(watched, payment) === null;
    const { txid, block } = sent;
    const output = { txid, vout: 0, value: isAgreed ? watched.units : 0n, script: watched.script, coinbase: false };
    return [{ ...output, block, spentBy: this.#spentBy(watched, payment) }];
  }

  unseen(script: Uint8Array): string | null {
    const watched = this.#watched.get(hexOf(script));
    const payment = watched && this.#chain.payment(watched.key);
    if (watched && payment?.state === "sent" && isAsAgreed(watched, payment)) {
      const brought = this.#shortfall(watched, payment);
      if (brought !== null) return shortText(watched, brought);
    }
    if (!watched || payment?.events !== "missing") return null;
    const { state, id } = payment;
    if (this.#madeBy(watched, payment)?.block && (state === "sent" || this.#endOf(watched, payment))) return null;
    return `the swap contract calls the payment 0x${id} ${state}, and the logs of no ${this.ticker} node have the transaction that did it: add a node that serves logs (eth_getLogs)`;
  }

  unfound(script: Uint8Array): "unspent" | "claimed" | "refunded" | null {
    const watched = this.#watched.get(hexOf(script));
    const payment = watched && this.#chain.payment(watched.key);
    if (!payment || !isAsAgreed(watched, payment)) return null;
    const sent = this.#sentBy(payment);
    if (sent && this.#chain.tx(sent.txid)) return null;
    if (payment.state === "sent") return "unspent";
    return payment.state === "refunded" ? "refunded" : "claimed";
  }

  /**
   * What the token of the other side's payment told that it brought, where that is not what the payment names; null: it is. The
   * contract's hash has the amount that was called for, and a contract that trusts tokens may have got less: of a token that keeps a part
   * of what it moves. Then nobody can be sure to be paid. As many transfers of exactly the amount count as payments were made.
   */
  #shortfall({ token, units, sender }: Watched, { sent }: SwapPayment): readonly bigint[] | null {
    if (token === ZERO_ADDRESS || sender === this.#account.address || !sent) return null;
    const brought = sent.arrivals.filter((arrival) => arrival.token === token).map(({ amount }) => amount);
    return brought.filter((amount) => amount === units).length >= Math.max(1, sent.payments) ? null : brought;
  }

  /** An own transaction pays under this id, as soon as it is mined. */
  addSender(id: string, txid: string): void {
    this.#calls.addPayer(id, txid);
  }

  /** A swap has stored this own transaction, perhaps long ago, or is about to. */
  addStored(signed: SignedEvmTx): void {
    this.#calls.add(signed);
  }
  /** It never left, or nobody asks for it any more: what has its nonce is another. */
  dropStored(txid: string): void {
    this.#calls.drop(txid);
  }

  remember(raw: Uint8Array, isWhole: boolean): void {
    const parsed = parseEvmTx(raw);
    if (parsed.ok) this.#calls.addTheirs(parsed.value, isWhole);
  }

  /** An id is used once: a call of ours that went through is the one, whether or not the logs tell of it. */
  #sentBy({ sent, id }: SwapPayment): (Done & { readonly block: BlockRef }) | null {
    if (sent) return sent;
    for (const txid of this.#calls.payers(id)) {
      const tx = this.#chain.tx(txid);
      if (tx?.block && tx.receipt?.succeeded) return { txid, block: tx.block };
    }
    return null;
  }

  /**
   * The same; also an own transaction that made it, as the contract says, and of which no node has the receipt: in the block since which
   * none has, null while that is not certain. Its end must be seen all the same. And one of the other side whose bytes a log has: of a
   * token only what was seen to bring all of it, because the contract's hash has what was called for.
   */
  #madeBy(watched: Watched, payment: SwapPayment): Done | null {
    const sent = this.#sentBy(payment);
    if (sent || !isAsAgreed(watched, payment)) return sent;
    const txid = this.#calls.payers(payment.id).find((own) => this.#isUsed(own));
    if (txid !== undefined) return { txid, block: payment.unshown };
    const theirs = this.#calls.theirs(payment.id);
    const isWhole = theirs?.isWhole || watched.token === ZERO_ADDRESS;
    return theirs && payment.unshown && isWhole ? { txid: theirs.txid, block: payment.unshown } : null;
  }

  /** What ended a payment; in the same way also an own call that the contract has carried out. It pays nobody else, whoever made it do so. */
  #endOf(watched: Watched, payment: SwapPayment): Done | null {
    const { state, spent, refunded, unshown, id } = payment;
    const event = state === "spent" ? spent : state === "refunded" ? refunded : null;
    if (event || !unshown || state === "sent" || !isAsAgreed(watched, payment)) return event;
    const txid = this.#calls.enders(id, state === "spent" ? "claim" : "refund").find((own) => this.#isUsed(own));
    return txid === undefined ? null : { txid, block: unshown };
  }

  /** Whether a block has this own transaction, or another one with its nonce. */
  #isUsed(txid: string): boolean {
    const { chain, address } = this.#account;
    const nonce = this.#calls.stored(txid)?.nonce;
    return nonce !== undefined && nonce < (chain.account(address)?.nonce ?? 0n);
  }

  /** The contract's word counts before its logs: a payment it calls spent is spent, whoever did it. */
  #spentBy(watched: Watched, payment: SwapPayment): SeenOutput["spentBy"] {
    if (payment.state === "sent") return null;
    return this.#endOf(watched, payment) ?? { txid: NOT_FOUND_YET, block: payment.block };
  }

  /** A transaction of which no node has the receipt any more, and whose work the contract calls done. */
  #told(txid: string): SeenTx | undefined {
    const own = this.#calls.stored(txid)?.raw;
    for (const watched of this.#watched.values()) {
      const payment = this.#chain.payment(watched.key);
      const theirs = this.#calls.theirs(watched.key.id);
      const raw = own ?? (theirs?.txid === txid ? theirs.raw : undefined);
      if (!payment?.unshown || raw === undefined) continue;
      const done = [this.#madeBy(watched, payment), this.#endOf(watched, payment)].find((by) => by?.txid === txid);
      if (done?.block) return { txid, raw, block: done.block, seenAtMs: 0 };
    }
    return undefined;
  }

  tx(txid: string): SeenTx | undefined {
    const seen = this.#chain.tx(txid);
    if (seen && this.#followed.has(txid)) this.#sighted.add(txid);
    if (seen?.block) {
      this.#lost.delete(txid);
      return seen.receipt?.succeeded === false ? { ...seen, failed: true } : seen;
    }
    const told = this.#told(txid);
    if (told) {
      this.#lost.delete(txid);
      return told;
    }
    // Nobody can say whether it was the one that used its nonce.
    if (this.#chain.isUnread(txid)) return seen;
    return this.#superseded(txid) ?? seen ?? this.#unreadable(txid);
  }

  /**
   * The end of a payment, proven by its receipt, in a transaction whose bytes no node can give: of a type that is not read here. Whoever
   * claims chooses the type, and must not hide the secret with it.
   */
  #unreadable(txid: string): SeenTx | undefined {
    for (const { key } of this.#watched.values()) {
      const payment = this.#chain.payment(key);
      const event = [payment?.spent, payment?.refunded].find((end) => end?.txid === txid);
      if (event) return { txid, raw: new Uint8Array(0), block: event.block, seenAtMs: 0 };
    }
    return undefined;
  }

  /**
   * An own transaction that can never be mined any more: a block has another one with its nonce. Its block is the one in which that
   * was first seen, so that it grows deep as others do, also when the ledger has forgotten the nonce. Of one that was seen before, it is
   * said only once a later block and half a minute have not shown it: while a chain is reorganised, and where one address stands for
   * many machines, nodes know of a nonce before they know the receipt. Of a payment the contract knows better.
   */
  #superseded(txid: string): SeenTx | undefined {
    const { nonces, address } = this.#account;
    const state = this.#chain.account(address);
    const held = nonces.txAt(txid);
    const own = this.#calls.stored(txid) ?? (held && { nonce: held.tx.nonce, raw: held.raw });
    const isNew = own && state && this.#followed.has(txid);
    const { exchanges } = nonces;
    const known = this.#lost.get(txid);
    // Until nodes that were exchanged have been looked at, the account is as the ones before said.
    if (known && known.exchanges !== exchanges && this.#chain.status().state !== "ready") return undefined;
    const noted = known ?? (isNew ? own : null);
    const now = noted && state ? { ...noted, block: state.block, sinceMs: this.#steadyMs(), exchanges } : null;
    const lost = known?.exchanges === exchanges ? known : now;
    if (!lost || !state || state.nonce <= lost.nonce || this.#hasPaid(txid)) {
      this.#lost.delete(txid);
      return undefined;
    }
    // A reorganisation may have taken the block, and another one of the same height or below it used the nonce.
    const block = lost.block.height <= state.block.height ? lost.block : state.block;
    this.#lost.set(txid, { ...lost, block });
    const isDoubtful = state.block.height <= block.height || this.#steadyMs() - lost.sinceMs < DOUBT_MS;
    return isDoubtful && this.#sighted.has(txid) ? undefined : { txid, raw: lost.raw, block, seenAtMs: 0, failed: true };
  }

  /** The contract has what an own transaction pays. Its receipt may come later, and nodes that keep few have it no more after a restart. */
  #hasPaid(txid: string): boolean {
    return [...this.#watched.values()].some((watched) => {
      const payment = this.#calls.payers(watched.key.id).includes(txid) ? this.#chain.payment(watched.key) : undefined;
      return payment !== undefined && isAsAgreed(watched, payment);
    });
  }

  /** The payments that a transaction ended, and how: a contract that calls the swap contract may end many at once. */
  endedBy(txid: string): readonly PaymentEnd[] {
    return [...this.#watched.values()].flatMap((watched): PaymentEnd[] => {
      const payment = this.#chain.payment(watched.key);
      const sent = payment && this.#madeBy(watched, payment);
      if (!sent || this.#endOf(watched, payment)?.txid !== txid) return [];
      return payment.state === "spent"
        ? [{ kind: "claim", payment: sent.txid, secret: payment.spent?.secret ?? null }]
        : [{ kind: "refund", payment: sent.txid, secret: null }];
    });
  }

  /** The payment's id commits to the hash that was agreed on, so a secret that fits the id is the one. */
  shownSecret(script: Uint8Array): Uint8Array | null {
    const watched = this.#watched.get(hexOf(script));
    return watched ? (this.#chain.shownSecret(watched.key)?.secret ?? null) : null;
  }

  /** What the contract says of a payment; undefined while it is not followed. */
  payment(key: PaymentKey): SwapPayment | undefined {
    return this.#chain.payment(key);
  }

  confirmations(block: BlockRef | null): number {
    return this.#chain.confirmations(block);
  }
  /** A block the chain calls final is never reorganised: what a notarization is elsewhere. */
  isNotarized(height: number): boolean {
    const finalized = this.#chain.status().tip?.finalized ?? null;
    return finalized !== null && height <= finalized;
  }
  hasNoFinality(): boolean {
    const { tip } = this.#chain.status();
    return tip !== null && tip.finalized === null;
  }
  async broadcast(raw: Uint8Array, signal?: AbortSignal): ReturnType<SwapChain["broadcast"]> {
    const outcome = await this.#chain.broadcast(raw, signal);
    if (outcome.kind === "accepted" || outcome.kind === "already_known") this.#account.nonces.noteTaken(raw);
    return outcome;
  }
  refresh(signal?: AbortSignal): Promise<void> {
    return this.#chain.refresh(signal);
  }
}

function shortText({ key, units, token }: AgreedPayment, brought: readonly bigint[]): string {
  const told = brought.length === 0 ? "of no transfer" : `of ${brought.slice(0, MAX_TOLD).join(" and ")} units`;
  return `the payment 0x${key.id} names ${units} units, and the token ${checksumAddress(token)} told ${told} to the swap contract: it may keep a part of what it moves and cannot be swapped there`;
}

/** The hash names the payer and all else that was agreed; of a payment that was never made it is zero. */
const isAsAgreed = (agreed: AgreedPayment, { paymentHash, lockTime }: SwapPayment): boolean =>
  equalBytes(paymentHash, agreed.paymentHash) && lockTime === agreed.lockTime;
