import type { EvmAddress } from "../../../src/core/evm/address.ts";
import type { PaymentRecord } from "../../../src/core/evm/swapContract.ts";

/** Takes changes back, the last one first. */
export type Undo = readonly (() => void)[];

const NO_PAYMENT: PaymentRecord = { paymentHash: new Uint8Array(20), lockTime: 0n, state: "uninitialized" };

/** Everything a chain of accounts remembers. Each change can be taken back: a call that reverts, a block of a reorg. */
export class EvmState {
  readonly #wei = new Map<string, bigint>();
  readonly #nonces = new Map<string, bigint>();
  readonly #tokens = new Map<string, bigint>();
  readonly #allowances = new Map<string, bigint>();
  readonly #payments = new Map<string, PaymentRecord>();
  #undo: (() => void)[] = [];

  #put<V>(map: Map<string, V>, key: string, value: V): void {
    const before = map.get(key);
    this.#undo.push(() => {
      if (before === undefined) map.delete(key);
      else map.set(key, before);
    });
    map.set(key, value);
  }

  #add(map: Map<string, bigint>, key: string, delta: bigint): void {
    const after = (map.get(key) ?? 0n) + delta;
    if (after < 0n) throw new Error(`less than nothing at ${key}`);
    this.#put(map, key, after);
  }

  wei(address: string): bigint {
    return this.#wei.get(address) ?? 0n;
  }
  /** Throws below zero: whoever takes has looked before. */
  addWei(address: string, delta: bigint): void {
    this.#add(this.#wei, address, delta);
  }
  nonce(address: EvmAddress): bigint {
    return this.#nonces.get(address) ?? 0n;
  }
  useNonce(address: EvmAddress): void {
    this.#add(this.#nonces, address, 1n);
  }
  token(token: EvmAddress, owner: EvmAddress): bigint {
    return this.#tokens.get(`${token}/${owner}`) ?? 0n;
  }
  /** Throws below zero. */
  addToken(token: EvmAddress, owner: EvmAddress, delta: bigint): void {
    this.#add(this.#tokens, `${token}/${owner}`, delta);
  }
  allowance(token: EvmAddress, owner: EvmAddress, spender: EvmAddress): bigint {
    return this.#allowances.get(`${token}/${owner}/${spender}`) ?? 0n;
  }
  setAllowance(token: EvmAddress, owner: EvmAddress, spender: EvmAddress, amount: bigint): void {
    this.#put(this.#allowances, `${token}/${owner}/${spender}`, amount);
  }
  payment(contract: EvmAddress, id: string): PaymentRecord {
    return this.#payments.get(`${contract}/${id}`) ?? NO_PAYMENT;
  }
  setPayment(contract: EvmAddress, id: string, record: PaymentRecord): void {
    this.#put(this.#payments, `${contract}/${id}`, record);
  }

  /** Wei of all accounts, what was burned included. */
  totalWei(): bigint {
    return [...this.#wei.values()].reduce((sum, wei) => sum + wei, 0n);
  }
  totalOf(token: EvmAddress): bigint {
    return [...this.#tokens].reduce((sum, [key, amount]) => (key.startsWith(`${token}/`) ? sum + amount : sum), 0n);
  }

  /** How far changes have come; for `rollback`. */
  mark(): number {
    return this.#undo.length;
  }
  rollback(mark: number): void {
    for (const undo of this.#undo.splice(mark).reverse()) undo();
  }
  /** What takes back everything since this was last asked; `rollback` does not reach it any more. */
  seal(): Undo {
    return this.#undo.splice(0).reverse();
  }
}
