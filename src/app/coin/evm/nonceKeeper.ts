import type { EvmAddress } from "../../../core/evm/address.ts";
import { MOST_BESIDE } from "../../../core/evm/dataCost.ts";
import { parseErc20Call } from "../../../core/evm/erc20.ts";
import { greatestFee, replacementBid } from "../../../core/evm/gas.ts";
import { parseSwapCall, type SwapCall } from "../../../core/evm/swapContract.ts";
import type { SignedEvmTx } from "../../../core/evm/tx.ts";
import { err, ok } from "../../../core/util/result.ts";
import type { AccountState } from "../../../ports/accountChain.ts";
import { steadyTime } from "../../../ports/clock.ts";
import type { Log } from "../../../ports/log.ts";
import { fitAccount, fitBlock, isAboveBlock } from "./blockGas.ts";
import { dataBound, dataGasToSign } from "./dataCost.ts";
import type { EvmAccount } from "./evmAccount.ts";
import { BASE_FEE_BLOCKS, bidRuleOf, isBelowBlock, isBelowMarket, MOST_PRICE, marketBid, priceOf } from "./gasBid.ts";
import type { WaitingTx } from "./heldNonces.ts";
import { bidOf, greatestCost } from "./outgoing.ts";
import { isDearer, isFiller, raisedBid } from "./replacement.ts";
import { type Call, signCall } from "./signCall.ts";

/**
 * How long a nonce must lie free below others before it is filled. Long enough for whoever freed it to use it again, and after
 * a start for swaps to take up what they stored; the next transaction of any kind takes it anyway.
 */
const HOLE = { blocks: 3, ms: 120_000 } as const;
/**
 * How long what the pools are said to have, and nothing here knows, may hold up own transactions. Another wallet with this key gets so
 * long; then it may be replaced, and a node that only says so has held up nobody for ever. So is a dex fee that nobody needs any more, a payment that
 * gives way, and what nodes neither take nor refuse.
 */
const HIDDEN = { blocks: 10, ms: 600_000 } as const;
/** Each costs the gas of a transfer: a lie must not cost more. */
const MOST_FILLED = 16n;
/** How long a bid is left alone: a market bid stays valid for so many blocks whatever they hold. On fast chains time decides. */
const RAISE = { blocks: BASE_FEE_BLOCKS, ms: 30_000 } as const;
/**
 * How far a price may be raised above the one it was first sent with. A base fee rises by an eighth a block at most, so it is
 * past this only after 33 full blocks beyond those the first bid was made for. A raise is at least an eighth, so there are no
 * more than 33 of them.
 */
const MOST_RAISE = 50n;
/** Hundredths an estimate is raised to: what a chain reckons besides the plain 21,000 may change until then. */
const ESTIMATE_PERCENT = 110n;

const ample = (gas: bigint): bigint => (gas * ESTIMATE_PERCENT + 99n) / 100n;

/** What a transfer to an account without code needs. */
const PLAIN_GAS = 21_000n;

export type NonceKeeperDeps = Pick<EvmAccount, "chain" | "key" | "address" | "gas" | "nonces" | "funds" | "clock"> & { readonly log: Log };

/** For so long somebody who said that it waits for the line counts as waiting; it says so again. */
const AWAITED_MS = 120_000;

/** Each asks the nodes, who may leave that open for ten seconds: one after the other, the last swap would miss its deadline. */
const RENEWED_AT_ONCE = 16;

/** Since when the same nonce is in the same trouble. */
type Since = { readonly nonce: bigint; readonly height: number; readonly ms: number };

/**
 * Keeps the line of one account's nonces moving: a nonce that nothing has below others, or whose swap gave it up, is filled with an
 * empty transfer to the account itself, and an own transaction at the head of the line whose bid fell below the market while swaps wait behind it
 * is sent again at a higher price; one that nodes neither take nor refuse is sent again, and replaced in the end. Looks at each new block and does at most one thing for it. What belongs to a swap is left
 * to the swap for as long as that needs it; while it waits for its other coin, the keeper sends what it had sent before, as dear as the swap would.
 */
export class NonceKeeper {
  readonly #deps: NonceKeeperDeps;
  /** Of waits: a wall clock that is set back makes none longer. */
  readonly #steadyMs: () => number;
  readonly #closing = new AbortController();
  #work: Promise<void> | null = null;
  #seen: string | null = null;
  #hole: Since | null = null;
  #head: Since | null = null;
  #hidden: Since | null = null;
  #unanswered: Since | null = null;
  /** Payments that nobody has and their swaps do not send now, or that no block takes at their price, while claims or refunds wait behind them. */
  #yielding: readonly string[] = [];
  #stop: (() => void) | null = null;
  #awaitedAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: NonceKeeperDeps) {
    this.#deps = deps;
    this.#steadyMs = steadyTime(deps.clock);
  }

  start(): void {
    this.#stop ??= this.#deps.chain.onChange(() => this.#look());
  }

  /**
   * A swap waits for the line to move before it signs: a claim that would stand behind something stuck must not show its secret. The
   * line shows nothing of it.
   */
  awaitLine(): void {
    this.#awaitedAtMs = this.#steadyMs();
  }

  /** Does nothing any more when it resolves. */
  async close(): Promise<void> {
    this.#stop?.();
    this.#closing.abort();
    await this.#work;
  }

  #look(): void {
    const { chain, address, log } = this.#deps;
    const account = chain.account(address);
    if (this.#work !== null || this.#closing.signal.aborted || !account || chain.status().state !== "ready") return;
    if (account.block.hash === this.#seen) return;
    this.#seen = account.block.hash;
    this.#work = this.#tend(account, this.#closing.signal)
      .catch((error: unknown) => {
        if (!this.#closing.signal.aborted) log.error("nonces_not_tended", { coin: chain.ticker, error });
      })
      .finally(() => {
        this.#work = null;
      });
  }

  async #tend(account: AccountState, signal: AbortSignal): Promise<void> {
    const { nonces } = this.#deps;
    await this.#seeToEntrusted(account, signal);
    const all = nonces.waiting();
    const waiting = all.filter(({ signed }) => !nonces.isGivenUp(signed.txid));
    const givenUp = all.filter((tx) => !waiting.includes(tx)).map(({ signed }) => signed.tx.nonce);
    const free = freeToFill(account, waiting, givenUp);
    this.#hole = free === null ? null : this.#since(this.#hole, free, account);
    if (this.#hole && this.#isOver(this.#hole, HOLE, account)) {
      // Whatever comes of it, the next try waits as long again.
      this.#hole = null;
      await this.#fill(free ?? 0n, signal);
      return;
    }
    const isAwaited = nonces.isHeldUp || this.#steadyMs() - this.#awaitedAtMs < AWAITED_MS;
    const hidden = hiddenBelowOthers(account, waiting, isAwaited);
    this.#hidden = hidden === null ? null : this.#since(this.#hidden, hidden.from, account);
    if (hidden && this.#hidden && this.#isOver(this.#hidden, HIDDEN, account)) {
      this.#hidden = null;
      this.#deps.nonces.doubt(hidden.to);
      this.#deps.log.warn("nonces_not_believed", { coin: this.#deps.chain.ticker, from: String(hidden.from), to: String(hidden.to) });
      for (let nonce = hidden.from; nonce < hidden.to && nonce < hidden.from + MOST_FILLED; nonce++) await this.#fill(nonce, signal);
      return;
    }
    const isMoot = ({ signed }: WaitingTx): boolean => nonces.isMoot(signed.txid);
    const head = headOf(account, waiting, isMoot, isAwaited);
    this.#head = head === null ? null : this.#since(this.#head, head.tx.nonce, account);
    const isUnanswered = head !== null && nonces.isUnanswered(head.txid) && !isFiller(head);
    this.#unanswered = isUnanswered ? this.#since(this.#unanswered, head.tx.nonce, account) : null;
    if (head === null || this.#head === null) return;
    if (this.#unanswered && this.#isOver(this.#unanswered, HIDDEN, account)) {
      this.#unanswered = null;
      // Since it was last sent the nodes may have been away, or its price below the market.
      await nonces.repeat(signal);
      if (nonces.isUnanswered(head.txid)) await this.#raise(head, signal, true);
      return;
    }
    const prices = this.#deps.chain.gasPrices();
    const isWaiting = prices !== null && (isBelowMarket(bidOf(head.tx), prices) || isAboveBlock(this.#deps.chain, head.tx.gasLimit));
    if (isWaiting || nonces.isMoot(head.txid)) {
      // Not as it is: nodes may refuse now what they took before, and its nonce would count as free.
      // Nor a payment for every rise of the price: its trade would come to nothing.
      if (!this.#isOver(this.#head, isWaiting && !isPayment(head) ? RAISE : HIDDEN, account)) return;
      this.#head = null;
      await this.#raise(head, signal, nonces.isMoot(head.txid));
    } else if (account.pendingNonce === head.tx.nonce) {
      // No pool has it.
      await this.#deps.nonces.repeat(signal);
    }
  }

  /**
   * What swaps that wait for their other coin have left: it is made dearer where that is due, or anew where it has missed its nonce, goes out when its turn
   * has come, and is given up when its time is over. So, until it may leave or is seen, is a payment that stays here with a claim or refund behind it: that
   * may be out, and whoever read its secret does not wait. So is one that is too cheap for a block. Its nonce is filled after a while.
   */
  async #seeToEntrusted({ pendingNonce }: AccountState, signal: AbortSignal): Promise<void> {
    const { chain, clock, nonces, log } = this.#deps;
    const renewals = nonces.renewals().values();
    const mayLeave = new Set<string | null>();
    const renewInTurn = async (): Promise<void> => {
      for (const renew of renewals) {
        if (signal.aborted) return;
        mayLeave.add(await renew());
      }
    };
    await Promise.all(Array.from({ length: RENEWED_AT_ONCE }, renewInTurn));
    if (signal.aborted) return;
    // Its swap may run again.
    for (const txid of this.#yielding) nonces.takeBack(txid);
    this.#yielding = [];
    for (const { signed, untilMs, renew } of nonces.entrusted()) {
      const { txid, raw, tx } = signed;
      // What pools have may be the version before.
      const isBehind = renew !== null && tx.nonce < pendingNonce && !nonces.isOut(txid);
      const isSent = renew === null || mayLeave.has(txid);
      if (untilMs !== null && clock.nowMs() >= untilMs) nonces.giveUp(txid, true);
      else if (renew !== null && isPayment(signed) && (nonces.isOut(txid) ? this.isStuck(signed) : this.#isNeededBehind(tx.nonce))) {
        nonces.giveUp(txid, false);
        this.#yielding = [...this.#yielding, txid];
      } else if ((tx.nonce === pendingNonce || isBehind) && isSent) {
        const outcome = await chain.broadcast(raw, signal);
        if (outcome.kind === "accepted" || outcome.kind === "already_known") nonces.noteTaken(raw);
        log.info("sent_for_swap", { coin: chain.ticker, txid, nonce: String(tx.nonce), outcome: outcome.kind });
      }
    }
  }

  #since(before: Since | null, nonce: bigint, { block }: AccountState): Since {
    return before?.nonce === nonce ? before : { nonce, height: block.height, ms: this.#steadyMs() };
  }

  #isOver({ height, ms }: Since, wait: { readonly blocks: number; readonly ms: number }, { block }: AccountState): boolean {
    return this.#steadyMs() - ms >= wait.ms && block.height - height >= wait.blocks;
  }

  async #fill(nonce: bigint, signal: AbortSignal): Promise<void> {
    const { chain, address, gas, nonces, log } = this.#deps;
    const call = emptyTo(address);
    const [prices, needed] = [chain.gasPrices(), await this.#gasForNothing(signal)];
    if (!prices) return;
    const bid = marketBid(prices, bidRuleOf(gas));
    const filled = await nonces.signNext(
      (next) => {
        if (next !== nonce) return err({ kind: "Rejected", message: "it is free no longer" });
        const free = this.#countedAt(nonce) + this.#freeFor(nonce) - dataBound(chain).wei;
        const gasLimit = fitBlock(chain, fitAccount(free, priceOf(bid), needed));
        const fee = greatestFee(bid, gasLimit);
        if (priceOf(bid) > MOST_PRICE || fee > free) return err({ kind: "Rejected", message: `${fee} wei for gas are too much` });
        return ok(signCall(this.#deps, call, { bid, gasLimit, nonce }));
      },
      true,
      signal,
      true,
    );
    const outcome = filled.ok ? { txid: filled.value.txid } : { error: filled.error };
    log.info("nonce_filled", { coin: chain.ticker, nonce: String(nonce), ...outcome });
  }

  /** Gas of an empty transfer: what it may need, and what it has at least where the account cannot pay for that. */
  async #gasForNothing(signal: AbortSignal): Promise<{ readonly wanted: bigint; readonly least: bigint }> {
    const { chain, address } = this.#deps;
    const units = await chain.estimateGas({ from: address, ...emptyTo(address) }, signal, PLAIN_GAS + MOST_BESIDE);
    // An account whose code refuses coins (EIP-7702) refuses its own, too: the transaction fails, and has used the nonce.
    // Nor does the line stand still for as long as too few nodes estimate, or one of two names more than the account has.
    const wanted = ample(units.ok ? units.value : PLAIN_GAS + dataGasToSign(chain));
    const least = ample(PLAIN_GAS + dataBound(chain).gas);
    return { wanted, least: wanted < least ? wanted : least };
  }

  /** What the line counts for a nonce already, for what was given up, too: of all that have it one is mined. */
  #countedAt(nonce: bigint): bigint {
    const costs = this.#deps.nonces.othersAt(nonce).map(({ tx }) => greatestCost(tx));
    return costs.reduce((most, cost) => (cost > most ? cost : most), 0n);
  }

  /** What a transaction with this nonce may take: what is held to make a claim or refund dearer must not keep it waiting behind that. */
  #freeFor(nonce: bigint): bigint {
    const { funds } = this.#deps;
    return this.#isNeededBehind(nonce) ? funds.freeForLine() : funds.free(null);
  }

  /** Whether a claim or refund waits behind a transaction that no block of now takes at its price. */
  isStuck({ tx }: SignedEvmTx): boolean {
    const prices = this.#deps.chain.gasPrices();
    return prices !== null && isBelowBlock(bidOf(tx), prices) && this.#isNeededBehind(tx.nonce);
  }

  /** Whether a claim or refund waits behind it. */
  #isNeededBehind(nonce: bigint): boolean {
    const { nonces } = this.#deps;
    const isNeeded = ({ signed, ofSwap }: WaitingTx): boolean =>
      ofSwap && signed.tx.nonce > nonce && !nonces.isMoot(signed.txid) && isSpend(signed);
    return nonces.waiting().some(isNeeded);
  }

  /** @param isForNothing an empty transfer takes its place */
  async #raise(head: SignedEvmTx, signal: AbortSignal, isForNothing: boolean): Promise<void> {
    const { chain, address, gas, nonces, log } = this.#deps;
    const prices = chain.gasPrices();
    if (!prices) return;
    const { tx } = head;
    const old = bidOf(tx);
    const [first = head] = nonces.versionsOf(head);
    const counted = this.#countedAt(tx.nonce);
    // The value that is not sent pays for it, and the gas that nothing does not need.
    const call = isForNothing ? emptyTo(address) : tx;
    const needed = isForNothing ? await this.#gasForNothing(signal) : { wanted: tx.gasLimit, least: tx.gasLimit };
    const atMost = (gasLimit: bigint): bigint => (gasLimit < tx.gasLimit ? gasLimit : tx.gasLimit);
    const [market, free] = [marketBid(prices, bidRuleOf(gas)), this.#freeFor(tx.nonce) + counted - call.value];
    const asked = { wanted: atMost(needed.wanted), least: atMost(needed.least) };
    const gasLimit = fitBlock(chain, fitAccount(free, priceOf(replacementBid(old, market)), asked));
    const most = [priceOf(bidOf(first.tx)) * MOST_RAISE, MOST_PRICE, free / gasLimit].reduce((a, b) => (a < b ? a : b));
    const bid = raisedBid(old, market, most);
    const line = { coin: chain.ticker, nonce: String(tx.nonce), txid: head.txid };
    if (bid === null) {
      log.warn("stuck_at_most_price", { ...line, most: String(most) });
      return;
    }
    const accessList = tx.type === "legacy" || isForNothing ? [] : tx.accessList;
    const raised = signCall(this.#deps, call, { bid, gasLimit, nonce: tx.nonce, accessList });
    const more = greatestCost(raised.tx) - counted;
    const sent = await nonces.send(raised, signal, () => (more > this.#freeFor(tx.nonce) ? "its fee would take what is promised" : null));
    log.info("sent_dearer", { ...line, by: raised.txid, ...(sent.ok ? {} : { error: sent.error }) });
  }
}

/**
 * The nonce that holds up others: the pools have everything before it and not it, nothing of ours has it, and something of
 * ours has a later one, or what had it was given up. What the pools hold beyond it cannot be asked for.
 */
function freeToFill({ pendingNonce }: AccountState, waiting: readonly WaitingTx[], givenUp: readonly bigint[]): bigint | null {
  const nonces = waiting.map(({ signed }) => signed.tx.nonce);
  const isWanted = givenUp.includes(pendingNonce) || nonces.some((nonce) => nonce > pendingNonce);
  return isWanted && !nonces.includes(pendingNonce) ? pendingNonce : null;
}

/** Nonces from the chain's on that the pools are said to have, nothing of ours has, and something of ours waits behind, or would. */
function hiddenBelowOthers(
  { nonce, pendingNonce }: AccountState,
  waiting: readonly WaitingTx[],
  isAwaited: boolean,
): { readonly from: bigint; readonly to: bigint } | null {
  const behind = [...waiting.map(({ signed }) => signed.tx.nonce), ...(isAwaited ? [pendingNonce] : [])];
  const least = behind.reduce<bigint | null>((a, b) => (a === null || b < a ? b : a), null);
  return least !== null && least > nonce && pendingNonce > nonce ? { from: nonce, to: least } : null;
}

const emptyTo = (to: EvmAddress): Call => ({ to, value: 0n, data: new Uint8Array(0) });

/** The dearest own transaction at the head of the line, if swaps wait for it; null also where a swap that needs it has the head. */
function headOf(
  { nonce }: AccountState,
  waiting: readonly WaitingTx[],
  isMoot: (tx: WaitingTx) => boolean,
  isAwaited: boolean,
): SignedEvmTx | null {
  const here = waiting.filter(({ signed }) => signed.tx.nonce === nonce);
  const needed = waiting.filter((tx) => !isMoot(tx));
  if (here.some((tx) => tx.ofSwap && !isMoot(tx)) || !(isAwaited || needed.some(isForSwaps))) return null;
  return here.map(({ signed }) => signed).reduce<SignedEvmTx | null>((a, b) => (a === null || isDearer(b.tx, a.tx) ? b : a), null);
}

function callOf({ tx }: SignedEvmTx): SwapCall["kind"] | null {
  const call = parseSwapCall(tx.data);
  return call.ok ? call.value.kind : null;
}

/** Whether it is a claim or refund. */
const isSpend = (signed: SignedEvmTx): boolean => ["receiverSpend", "senderRefund"].includes(callOf(signed) ?? "");

const isPayment = (signed: SignedEvmTx): boolean => ["ethPayment", "erc20Payment"].includes(callOf(signed) ?? "");

/** Of a swap, an approval, which swaps wait for, or a filler. */
function isForSwaps({ signed, ofSwap }: WaitingTx): boolean {
  if (ofSwap || isFiller(signed)) return true;
  const call = parseErc20Call(signed.tx.data);
  return call.ok && call.value.kind === "approve";
}
