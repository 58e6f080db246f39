import type { EvmAddress } from "../../../core/evm/address.ts";
import type { SignedEvmTx } from "../../../core/evm/tx.ts";
import { err, ok, type Result } from "../../../core/util/result.ts";
import type { AccountChain } from "../../../ports/accountChain.ts";
import type { Clock } from "../../../ports/clock.ts";
import { TimedHolds } from "../timedHolds.ts";
import { dataBound } from "./dataCost.ts";
import type { NonceLedger } from "./nonceLedger.ts";
import { greatestCost, outgoingOf, tokenAmount } from "./outgoing.ts";

/** Most holds at a time; beyond that nothing more is promised. */
const MAX_HOLDS = 1_000;

/** A token's contract, or null for the platform coin. Amounts of it in base units. */
export type Asset = EvmAddress | null;

/** What a swap asks for. */
export type FundsRequest = {
  readonly asset: Asset;
  /** One for each payment; none where a swap only needs gas here. */
  readonly amounts: readonly bigint[];
  /** Wei for all steps still to come. */
  readonly gas: bigint;
  /** Where there is less, all there is will do: promised before, it is given to nobody else. */
  readonly orLessGas?: boolean;
};

/** What is missing, base units of `asset`. */
export type Short = { readonly kind: "NotEnough"; readonly asset: Asset; readonly available: bigint; readonly required: bigint };

/** What a signed transaction took of a hold. */
type Used = { readonly amount: bigint; readonly gas: bigint };
type Hold = {
  readonly asset: Asset;
  amounts: bigint[];
  gas: bigint;
  /** By txid. */
  readonly used: Map<string, Used>;
};

export type AccountFundsDeps = {
  readonly chain: AccountChain;
  readonly address: EvmAddress;
  readonly nonces: Pick<NonceLedger, "outgoing" | "othersAt">;
  readonly clock: Clock;
};

const NONE: ReadonlySet<string> = new Set();
const sumOf = (values: readonly bigint[]): bigint => values.reduce((n, v) => n + v, 0n);

/**
 * What of one account, the platform coin and its tokens together, is promised to swaps and not yet signed for. What was
 * signed for is counted by the `NonceLedger` until a block has it. In memory and synchronous: two callers never see the same
 * coins free. A swap that is taken up again asks again.
 */
export class AccountFunds {
  readonly #deps: AccountFundsDeps;
  readonly #holds: TimedHolds<Hold>;
  readonly #listeners = new Set<() => void>();

  constructor(deps: AccountFundsDeps) {
    this.#deps = deps;
    this.#holds = new TimedHolds(deps.clock, () => this.#changed());
  }

  /** Fires when something is held or no longer held. Returns the unsubscriber. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * What holds promise of an asset: payments, and of the platform coin the gas of all of them.
   * @param without ids of holds that are left out
   */
  held(asset: Asset, without: ReadonlySet<string> = NONE): bigint {
    let sum = 0n;
    for (const [id, hold] of this.#holds.entries()) {
      if (without.has(id)) continue;
      if (hold.asset === asset) sum += sumOf(hold.amounts);
      if (asset === null) sum += hold.gas;
    }
    return sum;
  }

  /**
   * What is neither promised nor on its way; never below 0, and 0 while the chain has not told.
   * @param without ids of holds that count as not promised
   */
  free(asset: Asset, without?: ReadonlySet<string>): bigint {
    const { chain, address, nonces } = this.#deps;
    const balance = (asset === null ? chain.account(address)?.balance : chain.token(asset, address)?.balance) ?? 0n;
    const out = nonces.outgoing();
    const free = balance - (asset === null ? out.wei : out.token(asset)) - this.held(asset, without);
    return free > 0n ? free : 0n;
  }

  /**
   * Wei for what claims and refunds wait behind, at most: what is free, and half of the gas that is promised, which serves nobody while they
   * wait. The other half is left for them.
   */
  freeForLine(): bigint {
    const balance = this.#deps.chain.account(this.#deps.address)?.balance ?? 0n;
    const gas = sumOf([...this.#holds.values()].map((hold) => hold.gas));
    const left = balance - this.#deps.nonces.outgoing().wei - this.held(null) + gas / 2n;
    return left > 0n ? left : 0n;
  }

  /**
   * Promises payments and their gas, all or nothing.
   * @param ttlMs after which the hold ends by itself; null: never
   * @returns its id, or what is missing; of a token and gas that are both missing, the token
   */
  hold({ asset, amounts, gas: wanted, orLessGas }: FundsRequest, ttlMs: number | null): Result<string, Short> {
    const gas = orLessGas ? this.#gasLeft(asset, amounts, wanted) : wanted;
    if (gas < 0n || amounts.some((amount) => amount < 0n)) throw new RangeError("a hold of less than nothing");
    const needs: readonly [Asset, bigint][] =
      asset === null
        ? [[null, sumOf(amounts) + gas]]
        : [
            [asset, sumOf(amounts)],
            [null, gas],
          ];
    for (const [of, required] of needs) {
      const available = this.#holds.size < MAX_HOLDS ? this.free(of) : 0n;
      if (required > available) return err({ kind: "NotEnough", asset: of, available, required });
    }
    return ok(this.#holds.add({ asset, amounts: [...amounts], gas, used: new Map() }, ttlMs));
  }

  /** What there is of the gas beside the amounts. */
  #gasLeft(asset: Asset, amounts: readonly bigint[], wanted: bigint): bigint {
    const left = this.free(null) - (asset === null ? sumOf(amounts) : 0n);
    if (left >= wanted) return wanted;
    return left > 0n ? left : 0n;
  }

  /** Why a transaction that was signed before would take what was promised since, a sentence; null: it would not. */
  refusal({ tx, txid }: SignedEvmTx): string | null {
    const there = this.#deps.nonces.othersAt(tx.nonce);
    if (there.some((other) => other.txid === txid)) return null;
    const beside = dataBound(this.#deps.chain).wei;
    const counted = outgoingOf(
      there.map((other) => other.tx),
      beside,
    );
    const isShort = (asset: Asset, more: bigint): boolean => this.held(asset) > 0n && more > this.free(asset);
    const takes =
      isShort(null, greatestCost(tx) + beside - counted.wei) ||
      (tx.to !== null && isShort(tx.to, tokenAmount(tx, tx.to) - counted.token(tx.to)));
    return takes ? "it takes coins that are promised to swaps; make a new one with withdraw" : null;
  }

  /** The hold no longer ends by itself. */
  keep(id: string): void {
    this.#holds.keep(id);
  }

  release(id: string): void {
    this.#holds.release(id);
  }

  /** Wei a hold still has for gas; 0 when there is no such hold. */
  gasOf(id: string): bigint {
    return this.#holds.get(id)?.gas ?? 0n;
  }

  /**
   * A transaction was signed for a hold: in the same step as its nonce was taken, so that nobody sees its coins twice or not
   * at all. Without effect the second time for a txid, and for a hold that is gone.
   * @param amount the payment it makes, one of the hold's; 0 for a claim, a refund, an approval
   * @param gasWei its greatest fee, with what data costs beside gas; of a transaction that replaces another, what that is above the other's
   */
  use(id: string, amount: bigint, gasWei: bigint, txid: string): void {
    const hold = this.#holds.get(id);
    if (!hold || hold.used.has(txid)) return;
    const at = hold.amounts.indexOf(amount);
    if (at >= 0) hold.amounts.splice(at, 1);
    const gas = gasWei < hold.gas ? gasWei : hold.gas;
    hold.gas -= gas;
    hold.used.set(txid, { amount: at >= 0 ? amount : 0n, gas });
    this.#changed();
  }

  /** A transaction was never sent and its nonce is free again: what it took of its hold is promised again. */
  giveBack(txid: string): void {
    for (const hold of this.#holds.values()) {
      const used = hold.used.get(txid);
      if (!used) continue;
      hold.used.delete(txid);
      if (used.amount > 0n) hold.amounts.push(used.amount);
      hold.gas += used.gas;
      this.#changed();
    }
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
