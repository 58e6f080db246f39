import { checksumAddress, type EvmAddress } from "../../../core/evm/address.ts";
import { approveCall } from "../../../core/evm/erc20.ts";
import { greatestFee } from "../../../core/evm/gas.ts";
import { encodeSwapCall } from "../../../core/evm/swapContract.ts";
import type { SignedEvmTx } from "../../../core/evm/tx.ts";
import { fromHex } from "../../../core/util/bytes.ts";
import { err, ok, type Result } from "../../../core/util/result.ts";
import type { CallRequest } from "../../../ports/accountChain.ts";
import type { Log } from "../../../ports/log.ts";
import type { SendError } from "../withdraw.ts";
import { approvalAmong, leastLeft, paidAfter, type TokenAndContract } from "./allowanceAhead.ts";
import { dataBound } from "./dataCost.ts";
import { accountState, type EvmAccount } from "./evmAccount.ts";
import { bidRuleOf, MOST_PRICE, marketBid, priceOf } from "./gasBid.ts";
import { signCall } from "./signCall.ts";

/** Most keys that wait at a time. */
const MAX_NEEDS = 1_000;
/** Approvals in a row after which the allowance was not what they set; then no more are paid for. */
const MAX_FUTILE = 3;
/** How often the questions are asked again because a block came in between. */
const MAX_LOOKS = 3;
/** Hundredths an estimate is raised to where the coins file names none: what it touches may change until then. */
const ESTIMATE_PERCENT = 110n;
/** What an approval takes more that finds nothing in the place of an allowance: 22,100 in place of 5,000 for what it stores (EIP-2929). */
const NEW_ENTRY_GAS = 17_100n;
const MAX_UINT256 = 2n ** 256n - 1n;
/** Gas of one approval, as promises reckon with it: the figure the interface names for QRC-20 (spec, get_trade_fee); usual tokens need half of it. */
export const APPROVAL_GAS = 100_000n;
/** Times so much, as of payments: beyond it the token does something nobody agreed on, and has the account pay for it. */
const MOST_GAS_FACTOR = 10n;
/** Of the payment that is only tried. */
const TRIAL_LOCK_SEC = 3_600;

export type AllowanceKeeperDeps = Pick<EvmAccount, "chain" | "key" | "address" | "gas" | "nonces" | "funds"> & {
  readonly log: Log;
  /** Approves any amount once in place of what payments need. Default false. */
  readonly unlimited?: boolean;
};

/** `granted`: it was told that it may pay. */
type Need = TokenAndContract & { readonly units: bigint; granted: boolean };
/** The last approval of a pair: what it set, and whether nothing could change that afterwards but another grant. */
type Last = { readonly signed: SignedEvmTx; readonly amount: bigint; readonly alone: boolean };
type Pair = { last: Last | null; futile: number };
const pairId = ({ token, contract }: TokenAndContract): string => `${token}/${contract}`;
/** An approval that was estimated. `reset`: of nothing, because the token wants that before another amount. */
type Estimated = { readonly gasLimit: bigint; readonly reset: boolean };

/**
 * Sees to it that swap contracts may take what payments of one account need, before these are signed: an approval is no step
 * of a swap. Each is stored, sent and, where it is stuck, sent again at a higher price as other own transactions
 * (`NonceLedger`, `NonceKeeper`).
 *
 * No payment that was allowed fails for want of allowance. All transactions of an account are mined in the order of their
 * nonces, so it is enough that the allowance lasts along that line:
 * - it is read at a block, and what waiting transactions may take of it in their order is taken off (`leastLeft`); an
 *   approval that waits never adds to it, only its block does;
 * - keys are served in the order they first asked: one may pay when that covers it, all before it and all that may pay;
 * - an approval sets, it does not add: it is of what all keys need that have signed nothing, and of waiting payments that
 *   come after it. Payments before it have been paid out of the old allowance by then;
 * - nothing is set to zero while a key may pay or a payment waits: either could come to stand behind it.
 */
export class AllowanceKeeper {
  readonly #deps: AllowanceKeeperDeps;
  /** By key, in the order they first asked. */
  readonly #needs = new Map<string, Need>();
  readonly #pairs = new Map<string, Pair>();

  constructor(deps: AllowanceKeeperDeps) {
    this.#deps = deps;
  }

  /**
   * Whether the payment of `key` may be signed now; if not, does what is to be done for it. To be asked again at each change.
   * @param units base units of the token, above 0
   * @param holdId hold of `AccountFunds` that pays for the approval; null: what the account has free
   * @returns null: yes, until `done(key)` or `notNow(key)`; else why not yet, a sentence
   */
  async ensure(
    token: EvmAddress,
    contract: EvmAddress,
    key: string,
    units: bigint,
    signal: AbortSignal,
    holdId: string | null = null,
  ): Promise<string | null> {
    if (units <= 0n) throw new RangeError(`an allowance of ${units}`);
    if (!this.#needs.has(key) && this.#needs.size >= MAX_NEEDS) return `${MAX_NEEDS} payments wait for an allowance already`;
    const need: Need = { token, contract, units, granted: this.#needs.get(key)?.granted ?? false };
    this.#needs.set(key, need);
    const answer = await this.#answer(key, need, signal, holdId);
    if (answer !== null) need.granted = false;
    return answer;
  }

  /**
   * The payment of `key` was signed just now, in the same step, or there will be none. From then on the nonce ledger counts it
   * until a block has its nonce; called later, it is counted twice meanwhile, which costs an approval and harms nothing.
   */
  done(key: string): void {
    this.#needs.delete(key);
  }

  /**
   * The payment of `key` is not signed now though it might have been: it is asked for again before. Until then it keeps no other from a new
   * allowance; it may wait for long.
   */
  notNow(key: string): void {
    const need = this.#needs.get(key);
    if (need) need.granted = false;
  }

  async #answer(key: string, need: Need, signal: AbortSignal, holdId: string | null): Promise<string | null> {
    const { chain, address } = this.#deps;
    for (let looks = 0; looks < MAX_LOOKS; looks++) {
      const { block } = accountState(this.#deps);
      const allowance = await chain.allowance(need.token, address, need.contract, signal);
      if (!allowance.ok) return allowance.error.message;
      const isCovered = (): boolean => leastLeft(allowance.value, need, this.#waiting()) >= this.#neededFor(key, need);
      const refused = isCovered() ? await this.#tryPayment(need, block.hash, signal) : null;
      if (this.#needs.get(key) !== need) return "it was asked for again meanwhile, or given up";
      // What waits is known as of the last block seen: an allowance of an older one would count twice what is mined since.
      if (accountState(this.#deps).block.hash !== block.hash) continue;
      if (refused !== null) return refused;
      if (!isCovered()) return this.#approve(need, allowance.value, signal, holdId);
      // In this very step: what is decided for others next must know it.
      need.granted = true;
      this.#pairs.delete(pairId(need));
      return null;
    }
    return "blocks came faster than the nodes answer";
  }

  #waiting(): readonly SignedEvmTx[] {
    return this.#deps.nonces.waiting().map(({ signed }) => signed);
  }

  #pairOf(of: TokenAndContract): Pair {
    const pair = this.#pairs.get(pairId(of)) ?? { last: null, futile: 0 };
    this.#pairs.set(pairId(of), pair);
    return pair;
  }

  #needsOf({ token, contract }: TokenAndContract): readonly (readonly [string, Need])[] {
    return [...this.#needs].filter(([, need]) => need.token === token && need.contract === contract);
  }

  /** The need of a key, of those before it, and of all that may pay. */
  #neededFor(key: string, pair: TokenAndContract): bigint {
    let sum = 0n;
    let isBefore = true;
    for (const [other, { units, granted }] of this.#needsOf(pair)) {
      if (isBefore || granted) sum += units;
      if (other === key) isBefore = false;
    }
    return sum;
  }

  /** What an approval with this nonce is of. */
  #amountAt(nonce: bigint, pair: TokenAndContract): bigint {
    if (this.#deps.unlimited) return MAX_UINT256;
    const sum = this.#needsOf(pair).reduce((n, [, { units }]) => n + units, paidAfter(nonce, pair, this.#waiting()));
    return sum < MAX_UINT256 ? sum : MAX_UINT256;
  }

  /** Whether a payment could come to stand behind an approval that is signed now. */
  #isInUse(pair: TokenAndContract): boolean {
    return this.#needsOf(pair).some(([, { granted }]) => granted) || paidAfter(-1n, pair, this.#waiting()) > 0n;
  }

  /** Why the contract would refuse a payment of this token although it may take it; null: it would not. Nothing is sent. */
  async #tryPayment(need: Need, blockHash: string, signal: AbortSignal): Promise<string | null> {
    const { chain, address } = this.#deps;
    const lockTime = BigInt((chain.status().tip?.timeSec ?? 0) + TRIAL_LOCK_SEC);
    // Nobody could foresee the hash of a block and use it as the id of a payment.
    const common = { id: fromHex(blockHash), secretHash: new Uint8Array(20), receiver: address, lockTime };
    const data = encodeSwapCall({ kind: "erc20Payment", ...common, amount: need.units, token: need.token });
    const tried = await chain.call({ from: address, to: need.contract, value: 0n, data }, signal);
    if (tried.ok) return null;
    const { kind, message } = tried.error;
    return kind === "Reverted" ? `the swap contract cannot take token ${checksumAddress(need.token)}: ${message}` : message;
  }

  async #approve(need: Need, allowance: bigint, signal: AbortSignal, holdId: string | null): Promise<string> {
    const { chain, gas, nonces, funds, log } = this.#deps;
    const token = checksumAddress(need.token);
    const underWay = approvalAmong(need, this.#waiting());
    if (underWay) return `the approval ${underWay.txid} of token ${token} waits for its block`;
    const pair = this.#pairOf(need);
    const { last } = pair;
    if (last?.alone && last.amount !== allowance && nonces.othersAt(last.signed.tx.nonce).length > 0) pair.futile++;
    pair.last = null;
    if (pair.futile >= MAX_FUTILE) return `${pair.futile} approvals of token ${token} did not set its allowance; no more are sent`;
    const estimated = await this.#estimate(need, allowance, signal);
    if (!estimated.ok) return estimated.error;
    const { gasLimit, reset } = estimated.value;
    const prices = chain.gasPrices();
    if (!prices) return `no gas prices of ${chain.ticker} are known`;
    const bid = marketBid(prices, bidRuleOf(gas));
    if (priceOf(bid) > MOST_PRICE) return `the nodes ask ${priceOf(bid)} wei for a unit of gas, which is not paid`;
    const fee = greatestFee(bid, gasLimit) + dataBound(chain).wei;
    let made: Last | null = null;
    const sign = (nonce: bigint): Result<SignedEvmTx, SendError> => {
      const refuse = (message: string): Result<never, SendError> => err({ kind: "Rejected", message });
      // Another call may have been quicker.
      if (approvalAmong(need, this.#waiting())) return refuse(`another approval of token ${token} was just sent`);
      if (reset && this.#isInUse(need)) return refuse(`token ${token} is being paid with; its allowance is reset afterwards`);
      const free = funds.free(null) + (holdId === null ? 0n : funds.gasOf(holdId));
      if (fee > free) return refuse(`an approval of token ${token} may cost ${fee} wei, and ${free} are free`);
      const amount = reset ? 0n : this.#amountAt(nonce, need);
      const alone = !this.#isInUse(need);
      const call = { to: need.token, value: 0n, data: approveCall(need.contract, amount) };
      const signed = signCall(this.#deps, call, { bid, gasLimit, nonce });
      if (holdId !== null) funds.use(holdId, 0n, fee, signed.txid);
      made = { signed, amount, alone };
      return ok(signed);
    };
    const sent = await nonces.signNext(sign, true, signal).finally(() => this.#settle(pair, made));
    if (!sent.ok) return sent.error.message;
    log.info("approval_sent", { coin: chain.ticker, token, contract: checksumAddress(need.contract), txid: sent.value.txid, reset });
    return `the approval ${sent.value.txid} of token ${token} was sent and waits for its block`;
  }

  /** Remembers what was sent; what was not costs nothing. */
  #settle(pair: Pair, made: Last | null): void {
    if (made === null) return;
    const { txid, tx } = made.signed;
    if (this.#deps.nonces.othersAt(tx.nonce).some((other) => other.txid === txid)) pair.last = made;
    else this.#deps.funds.giveBack(txid);
  }

  /** Of what an approval with the next nonce is of; of nothing, where the token refuses that on top of an allowance. */
  async #estimate(need: Need, allowance: bigint, signal: AbortSignal): Promise<Result<Estimated, string>> {
    const { chain, address, gas, nonces } = this.#deps;
    const request = (amount: bigint): CallRequest => ({
      from: address,
      to: need.token,
      value: 0n,
      data: approveCall(need.contract, amount),
    });
    const percent = gas.estimatePercent ?? ESTIMATE_PERCENT;
    const most = APPROVAL_GAS * MOST_GAS_FACTOR + dataBound(chain).gas;
    // Nodes reckon with what is there now. Payments that wait before it may have used that up by then.
    const used = allowance > 0n ? NEW_ENTRY_GAS : 0n;
    const withMargin = (units: bigint, reset: boolean): Result<Estimated, string> =>
      units > most
        ? err(`an approval of token ${checksumAddress(need.token)} needs ${units} gas, far more than the usual ${APPROVAL_GAS}`)
        : ok({ gasLimit: ((units + used) * percent + 99n) / 100n, reset });
    const found = await chain.estimateGas(request(this.#amountAt(nonces.next() ?? 0n, need)), signal);
    if (found.ok) return withMargin(found.value, false);
    if (found.error.kind !== "Reverted") return err(found.error.message);
    const refusal = `token ${checksumAddress(need.token)} refuses an approval: ${found.error.message}`;
    if (allowance === 0n) return err(refusal);
    if (this.#isInUse(need))
      return err(`token ${checksumAddress(need.token)} takes no other allowance until payments under way have used up this one`);
    const zero = await chain.estimateGas(request(0n), signal);
    return zero.ok ? withMargin(zero.value, true) : err(zero.error.kind === "Reverted" ? refusal : zero.error.message);
  }
}
