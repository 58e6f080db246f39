import type { EvmAddress } from "../../src/core/evm/address.ts";
import type { DataCost } from "../../src/core/evm/dataCost.ts";
import type { GasPrices } from "../../src/core/evm/gas.ts";
import { parseEvmTx } from "../../src/core/evm/parseTx.ts";
import { err, ok, type Result } from "../../src/core/util/result.ts";
import type {
  AccountChain,
  AccountChainStatus,
  AccountState,
  AccountTx,
  CallRequest,
  ChainReadError,
  NodeHealth,
  TokenState,
  TokenTrip,
} from "../../src/ports/accountChain.ts";
import type { BroadcastOutcome, ChainChange } from "../../src/ports/chain.ts";

const GWEI = 1_000_000_000n;
const BLOCK = { height: 100, hash: "ab".repeat(32) };

/** An account chain in memory that stands still but for `mine`: what tests set is what it says. Watches resolve at once. */
export class FakeAccountChain implements AccountChain {
  readonly ticker: string;
  readonly chainId: bigint;
  balance = 0n;
  nonce = 0n;
  pendingNonce = 0n;
  tipHash = BLOCK.hash;
  height = BLOCK.height;
  readonly tokenBalances = new Map<EvmAddress, bigint>();
  /** Tokens with other than 6 decimals. */
  readonly decimals = new Map<EvmAddress, number>();
  /** Contracts that are swap contracts; null: all are. */
  swapContracts: ReadonlySet<string> | null = null;
  /** Addresses with code. */
  readonly withCode = new Set<EvmAddress>();
  prices: GasPrices | null = { legacy: 2n * GWEI, nextBaseFee: GWEI, priority: { low: 1n, medium: GWEI, high: 2n * GWEI } };
  gas = 21_000n;
  /** Of a block. */
  gasLimit = 30_000_000n;
  data: DataCost | null = { gas: 21_000n, wei: 0n };
  /** What estimates come to for a call; null: `gas`. */
  estimate: (request: CallRequest, most?: bigint) => Result<bigint, ChainReadError> | null = () => null;
  /** What calls come to; null: a word of zeros. */
  answer: (request: CallRequest) => Result<Uint8Array, ChainReadError> | null = () => null;
  /** What moving a token to a contract and back comes to; null: all of it arrives. */
  trip: (amount: bigint) => Result<TokenTrip, ChainReadError> | null = () => null;
  /** How often that was asked. */
  trips = 0;
  readonly ownSwapContracts = new Set<EvmAddress>();
  /** What swap contracts may take, by `token/spender`. */
  readonly allowances = new Map<string, bigint>();
  /** Set: nobody answers. */
  trouble: string | null = null;
  nodes: readonly NodeHealth[] = [];
  /** What the next broadcasts come to; accepted when empty. */
  readonly outcomes: BroadcastOutcome[] = [];
  readonly sent: Uint8Array[] = [];
  closed = false;
  /** Nodes it was told to go on with, newest last. */
  readonly used: (readonly string[])[] = [];
  readonly #accounts = new Set<EvmAddress>();
  readonly #watchedTokens = new Set<EvmAddress>();
  readonly #listeners = new Set<(change: ChainChange) => void>();

  constructor(ticker = "ETH", chainId = 1n) {
    this.ticker = ticker;
    this.chainId = chainId;
  }

  useNodes(urls: readonly string[]): Result<undefined, never> {
    this.used.push(urls);
    return ok(undefined);
  }
  status(): AccountChainStatus {
    const tip = {
      height: this.height,
      hash: this.tipHash,
      timeSec: 1_700_000_000,
      medianTimePastSec: 1_700_000_000,
      finalized: 90,
      baseFeePerGas: GWEI,
      gasLimit: this.gasLimit,
    };
    return {
      state: this.trouble === null ? "ready" : "unreachable",
      tip,
      progress: null,
      error: this.trouble,
      alone: null,
      hasty: null,
      nodes: this.nodes,
    };
  }
  onChange(listener: (change: ChainChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
  async watchAccount(address: EvmAddress): Promise<void> {
    this.#accounts.add(address);
  }
  account(address: EvmAddress): AccountState | undefined {
    if (!this.#accounts.has(address)) return undefined;
    return {
      block: { height: this.height, hash: this.tipHash },
      balance: this.balance,
      nonce: this.nonce,
      pendingNonce: this.pendingNonce,
    };
  }
  async watchTokens(_owner: EvmAddress, tokens: readonly EvmAddress[]): Promise<void> {
    for (const token of tokens) this.#watchedTokens.add(token);
  }
  token(token: EvmAddress): TokenState | undefined {
    return this.#watchedTokens.has(token) ? { block: BLOCK, balance: this.tokenBalances.get(token) ?? 0n } : undefined;
  }
  async watchTx(): Promise<void> {}
  tx(_txid: string): AccountTx | undefined {
    return undefined;
  }
  /** Of which no answer can be read. */
  readonly unread = new Set<string>();
  isUnread(txid: string): boolean {
    return this.unread.has(txid);
  }
  async watchPayment(): Promise<void> {}
  shownSecret(): null {
    return null;
  }
  payment(): undefined {
    return undefined;
  }
  unwatch({ tokens = [] }: Parameters<AccountChain["unwatch"]>[0]): void {
    for (const { token } of tokens) this.#watchedTokens.delete(token);
  }
  confirmations(): number {
    return 0;
  }
  isFinal(): boolean {
    return false;
  }
  dataCost(): DataCost | null {
    return this.data;
  }
  gasPrices(): GasPrices | null {
    return this.prices;
  }
  async tokenDecimals(token: EvmAddress): Promise<Result<number, ChainReadError>> {
    return ok(this.decimals.get(token) ?? 6);
  }
  async tokensDecimals(tokens: readonly EvmAddress[]): Promise<Result<readonly Result<number, ChainReadError>[], ChainReadError>> {
    if (this.trouble !== null) return err({ kind: "Unreachable", message: this.trouble });
    return ok(tokens.map((token) => ok(this.decimals.get(token) ?? 6)));
  }
  async allowance(token: EvmAddress, _owner: EvmAddress, spender: EvmAddress): Promise<Result<bigint, ChainReadError>> {
    if (this.trouble !== null) return err({ kind: "Unreachable", message: this.trouble });
    return ok(this.allowances.get(`${token}/${spender}`) ?? 0n);
  }
  async checkSwapContract(contract: EvmAddress): Promise<Result<undefined, ChainReadError>> {
    if (this.swapContracts === null || this.swapContracts.has(contract)) return ok(undefined);
    return err({ kind: "NoCode", address: contract, message: `There is no contract at 0x${contract} on the ${this.ticker} chain.` });
  }
  async hasCode(address: EvmAddress): Promise<Result<boolean, ChainReadError>> {
    if (this.trouble !== null) return err({ kind: "Unreachable", message: this.trouble });
    return ok(this.withCode.has(address));
  }
  async isOwnSwapContract(contract: EvmAddress): Promise<Result<boolean, ChainReadError>> {
    return ok(this.ownSwapContracts.has(contract));
  }
  async tokenTrip(
    _token: EvmAddress,
    _owner: EvmAddress,
    _contract: EvmAddress,
    amount: bigint,
  ): Promise<Result<TokenTrip, ChainReadError>> {
    this.trips++;
    return this.trip(amount) ?? ok({ left: amount, arrived: amount, leftBack: amount, arrivedBack: amount });
  }
  async call(request: CallRequest, _signal?: AbortSignal, _gas?: bigint | null): Promise<Result<Uint8Array, ChainReadError>> {
    return this.answer(request) ?? ok(new Uint8Array(32));
  }
  async estimateGas(request: CallRequest, _signal?: AbortSignal, most?: bigint): Promise<Result<bigint, ChainReadError>> {
    return this.trouble === null ? (this.estimate(request, most) ?? ok(this.gas)) : err({ kind: "Unreachable", message: this.trouble });
  }
  async broadcast(raw: Uint8Array): Promise<BroadcastOutcome> {
    if (!parseEvmTx(raw).ok) throw new Error("broadcast of bytes that are no transaction");
    this.sent.push(raw);
    return this.outcomes.shift() ?? { kind: "accepted" };
  }
  /** So many empty blocks, each of which is told of. */
  mine(count = 1): void {
    for (let i = 0; i < count; i++) {
      this.height++;
      this.tipHash = this.height.toString(16).padStart(64, "0");
      for (const listener of this.#listeners) listener({ all: true, keys: new Set() });
    }
  }
  async refresh(): Promise<void> {}
  async close(): Promise<void> {
    this.closed = true;
  }
}
