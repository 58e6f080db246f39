import type { SimEvmChain } from "../../../sim/world/evm/simEvmChain.ts";
import { type EvmAddress, ZERO_ADDRESS } from "../../../src/core/evm/address.ts";
import { parseEvmTx } from "../../../src/core/evm/parseTx.ts";
import { parseSwapCall } from "../../../src/core/evm/swapContract.ts";
import type { SignedEvmTx } from "../../../src/core/evm/tx.ts";
import { fromHex, toHex } from "../../../src/core/util/bytes.ts";
import { CONGESTED_FACTOR, type Leg, type MatrixChain, type Purse } from "./matrixChain.ts";

/** Longer than any swap: it ends when the weather says so. */
const LONG_MS = 86_400_000;

/** A chain of accounts, under one or two coins of a swap. */
export class AccountChainOfSwap implements MatrixChain {
  readonly sim: SimEvmChain;

  constructor(sim: SimEvmChain) {
    this.sim = sim;
  }

  mine(blocks: number): void {
    this.sim.mine(blocks);
  }
  lockTimeSec(): number {
    return this.sim.tip.timeSec;
  }
  depth(txid: string): number {
    const found = this.sim.find(txid);
    return found?.block && found.receipt?.succeeded ? this.sim.tip.height - found.block.height + 1 : 0;
  }
  isWaiting(txid: string): boolean {
    return this.sim.pool.get(txid) !== undefined;
  }
  hold(txid: string): void {
    this.sim.held.add(txid);
  }
  forget(txid: string): void {
    this.sim.pool.remove(txid);
  }
  force(raw: Uint8Array): void {
    const parsed = parseEvmTx(raw);
    if (!parsed.ok) throw new Error("own bytes cannot be read");
    const { from, tx, txid } = parsed.value;
    for (const id of this.sim.pool.ids()) {
      const other = this.sim.pool.get(id);
      if (id !== txid && other?.from === from && other.tx.nonce === tx.nonce) this.sim.pool.remove(id);
    }
    this.sim.send(raw);
  }
  congest(isFull: boolean): void {
    this.sim.leastPrice = isFull ? CONGESTED_FACTOR * this.sim.usualPrice : 0n;
    if (isFull) this.sim.spike(CONGESTED_FACTOR, LONG_MS);
    else this.sim.spike(1n, 0);
  }
  reorg(depth: number, forget: readonly string[]): void {
    const done = this.sim.reorg(depth, { forget });
    if (!done.ok) throw new Error(done.error.kind);
  }
  strange(): Uint8Array {
    for (let height = 0; height <= this.sim.tip.height; height++) {
      const found = this.sim.at(height)?.txs.find(({ signed }) => signed.from === this.sim.faucetAddress);
      if (found) return found.signed.raw;
    }
    return new Uint8Array(10);
  }
  isOf(raw: string, { account }: Purse): boolean {
    const parsed = parseEvmTx(fromHex(raw));
    return !parsed.ok || parsed.value.from === account;
  }
  stop(): void {
    this.sim.autoMine(null);
  }

  /** Wei an account has paid for gas so far. */
  gasPaid(account: EvmAddress): bigint {
    let sum = 0n;
    for (let height = 0; height <= this.sim.tip.height; height++) {
      for (const { signed } of this.sim.at(height)?.txs ?? []) if (signed.from === account) sum += this.sim.feeOf(signed.txid);
    }
    return sum;
  }
}

const endedId = ({ tx }: SignedEvmTx): string | null => {
  const call = parseSwapCall(tx.data);
  return call.ok && (call.value.kind === "receiverSpend" || call.value.kind === "senderRefund") ? toHex(call.value.id) : null;
};

/** The platform coin of an account chain, or a token on it. */
export class AccountLeg implements Leg {
  readonly chain: AccountChainOfSwap;
  readonly decimals: number;
  readonly #token: EvmAddress;

  /** @param token null: the platform coin */
  constructor(chain: AccountChainOfSwap, token: EvmAddress | null) {
    this.chain = chain;
    this.#token = token ?? ZERO_ADDRESS;
    this.decimals = token === null ? 18 : (chain.sim.tokens.get(token)?.decimals ?? 0);
  }

  balance({ account }: Purse): bigint {
    const { sim } = this.chain;
    return this.#token === ZERO_ADDRESS ? sim.balance(account) : sim.tokenBalance(this.#token, account);
  }
  endOf(payment: string): string | null {
    const at = this.#paid(payment);
    const { sim } = this.chain;
    const end = at && (sim.event(at.contract, at.id, "spent") ?? sim.event(at.contract, at.id, "refunded"));
    return end?.txid ?? null;
  }
  isOpen(payment: string): boolean {
    const at = this.#paid(payment);
    return at !== null && this.chain.sim.payment(at.contract, at.id).state === "sent";
  }
  endWaiting(payment: string): boolean {
    return this.#waiting(payment) !== null;
  }
  endBytes(payment: string): Uint8Array | null {
    const end = this.endOf(payment);
    return this.#waiting(payment)?.raw ?? (end === null ? null : (this.chain.sim.find(end)?.signed.raw ?? null));
  }

  #waiting(payment: string): SignedEvmTx | null {
    const at = this.#paid(payment);
    const { pool } = this.chain.sim;
    const all = pool.ids().flatMap((id) => pool.get(id) ?? []);
    return (at && all.find((signed) => endedId(signed) === at.id)) ?? null;
  }

  /** Where a transaction of the chain paid into; null: it is in no block, or failed. */
  #paid(txid: string): { readonly contract: EvmAddress; readonly id: string } | null {
    const found = this.chain.sim.find(txid);
    const to = found?.signed.tx.to;
    const call = found?.receipt?.succeeded ? parseSwapCall(found.signed.tx.data) : null;
    if (!to || !call?.ok || (call.value.kind !== "ethPayment" && call.value.kind !== "erc20Payment")) return null;
    return { contract: to, id: toHex(call.value.id) };
  }
}
