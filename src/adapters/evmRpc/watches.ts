import type { EvmAddress } from "../../core/evm/address.ts";
import type { PaymentKey } from "../../ports/accountChain.ts";
import { paymentKey, tokenKey } from "./chainView.ts";

/** What may be watched at once: beyond it memory and the nodes' patience would be at the mercy of whoever makes us watch. */
const LIMITS = { accounts: 1_000, tokens: 10_000, txs: 10_000, payments: 10_000 } as const;

/** `lockTime`: as agreed, unix seconds; absent where nobody asks for its secret. */
export type WatchedPayment = PaymentKey & { readonly fromHeight: number; readonly lockTime?: bigint };

/** What is watched. `version` grows when something is added that the view may not cover. */
export class Watches {
  readonly accounts = new Set<EvmAddress>();
  readonly tokens = new Map<string, { readonly token: EvmAddress; readonly owner: EvmAddress }>();
  readonly txs = new Set<string>();
  readonly payments = new Map<string, WatchedPayment>();
  version = 0;

  #room(kind: keyof typeof LIMITS, size: number): void {
    if (size > LIMITS[kind]) throw new RangeError(`more than ${LIMITS[kind]} ${kind} watched on one chain`);
  }

  addAccount(address: EvmAddress): void {
    if (this.accounts.has(address)) return;
    this.#room("accounts", this.accounts.size + 1);
    this.accounts.add(address);
    this.version++;
  }

  addTokens(owner: EvmAddress, tokens: readonly EvmAddress[]): void {
    const missing = tokens.filter((token) => !this.tokens.has(tokenKey(token, owner)));
    if (missing.length === 0) return;
    this.#room("tokens", this.tokens.size + missing.length);
    for (const token of missing) this.tokens.set(tokenKey(token, owner), { token, owner });
    this.version++;
  }

  addTx(txid: string): void {
    if (this.txs.has(txid)) return;
    this.#room("txs", this.txs.size + 1);
    this.txs.add(txid);
    this.version++;
  }

  addPayment(key: PaymentKey & { readonly lockTime?: bigint }, fromHeight: number): void {
    const known = this.payments.get(paymentKey(key));
    if (known !== undefined && known.fromHeight <= fromHeight) return;
    if (known === undefined) this.#room("payments", this.payments.size + 1);
    const { contract, id, lockTime } = key;
    this.payments.set(paymentKey(key), { contract, id, fromHeight, ...(lockTime === undefined ? {} : { lockTime }) });
    this.version++;
  }
}
