import type { EvmAddress } from "../core/evm/address.ts";
import type { DataCost } from "../core/evm/dataCost.ts";
import type { GasPrices } from "../core/evm/gas.ts";
import type { PaymentState } from "../core/evm/swapContract.ts";
import type { Result } from "../core/util/result.ts";
import type { BlockRef, BroadcastOutcome, ChainChange, ChainStatus, ChainTip, SeenTx } from "./chain.ts";

// Texts of this port: block hashes, transaction ids, payment ids and addresses are lower-case hex without `0x`.

/**
 * The block all reads answer for. `medianTimePastSec` is the block's own time: what a contract compares lock times with.
 */
export type AccountTip = ChainTip & {
  /** Height up to which the chain calls its blocks final; null where the chain, or too many of its nodes, has no such notion. */
  readonly finalized: number | null;
  /** Wei per gas; null before EIP-1559. */
  readonly baseFeePerGas: bigint | null;
  /** Gas a block has: nodes refuse a transaction with more for good. */
  readonly gasLimit: bigint;
};

/** How one of the nodes of a chain is doing. */
export type NodeHealth = {
  /** Host and port, never the whole URL: its path may hold a key. */
  readonly name: string;
  /**
   * - `new`: not asked yet. `good`: its answers count. `away`: no answer that can be used.
   * - `lagging`: behind the others; it gets broadcasts and is asked for nothing else.
   * - `refused`: it serves another chain; it is never used.
   */
  readonly state: "new" | "good" | "lagging" | "away" | "refused";
  readonly height: number | null;
  /** Smoothed time of an answer. */
  readonly latencyMs: number | null;
  /** Answers that contradicted what the other nodes agreed on, since the start. */
  readonly contradictions: number;
  /** Calls it was asked since the start. */
  readonly calls: number;
  /** One sentence on its last trouble; null while it has none. */
  readonly trouble: string | null;
};

export type AccountChainStatus = ChainStatus & {
  readonly tip: AccountTip | null;
  readonly nodes: readonly NodeHealth[];
  /** That one of two nodes is believed without the other, one sentence; null: none is. */
  readonly alone: string | null;
  /**
   * That it is believed since the start, for less than a minute, one sentence: what it says is shown, and no step that cannot be taken back rests on
   * that. Null: it is not so.
   */
  readonly hasty: string | null;
};

/** A watched account at `block`. */
export type AccountState = {
  readonly block: BlockRef;
  /** Wei. */
  readonly balance: bigint;
  /** Transactions of this account in blocks up to `block`: the least nonce that is still free. */
  readonly nonce: bigint;
  /** The same with those waiting in the nodes' pools, as a majority of the nodes sees it; never below `nonce`. A hint, not a fact. */
  readonly pendingNonce: bigint;
};

/** What a watched account has of a token at `block`, in base units of the token. */
export type TokenState = { readonly block: BlockRef; readonly balance: bigint };

/** What came of a transaction that is in a block. */
export type Receipt = {
  /** False: it was reverted, paid its gas and changed nothing else. */
  readonly succeeded: boolean;
  readonly gasUsed: bigint;
  /** Wei per gas it paid; null where the node does not say. */
  readonly effectiveGasPrice: bigint | null;
};

/** A followed transaction. `raw` are the signed bytes, proven by their hash. `receipt` is null exactly when `block` is. */
export type AccountTx = SeenTx & { readonly receipt: Receipt | null };

/** One payment in a swap contract. */
export type PaymentKey = {
  readonly contract: EvmAddress;
  /** 32 bytes. */
  readonly id: string;
};

/** What a token told that it brought a swap contract (ERC-20 `Transfer`), base units. */
export type TokenArrival = { readonly token: EvmAddress; readonly amount: bigint };

/** The transaction that made, claimed or refunded a payment, proven by its receipt. */
export type PaymentEvent = {
  readonly txid: string;
  readonly block: BlockRef;
  /** The 32 bytes the contract was shown; null for payments and refunds. Whoever uses them compares the hash. */
  readonly secret: Uint8Array | null;
  /** Of a transaction that makes payments: how many this contract opened in it, and what tokens brought the contract in it. Else 0, none. */
  readonly payments: number;
  readonly arrivals: readonly TokenArrival[];
};

/** A secret that proves itself. Nothing else is known of the transaction that is said to show it. */
export type ShownSecret = { readonly txid: string; readonly secret: Uint8Array };

/** What the contract itself says of a payment at `block`, and which transactions did it. */
export type SwapPayment = PaymentKey & {
  readonly block: BlockRef;
  readonly state: PaymentState;
  /** 20 bytes; zeros while there is no payment. */
  readonly paymentHash: Uint8Array;
  /** Unix seconds; 0 while there is no payment. */
  readonly lockTime: bigint;
  /**
   * Null: not found yet. The contract's state is the truth; the transactions are looked for in the nodes' logs until those
   * explain the state.
   */
  readonly sent: PaymentEvent | null;
  readonly spent: PaymentEvent | null;
  readonly refunded: PaymentEvent | null;
  /**
   * Whether the transactions above explain `state`. `searching`: older blocks are still to be read. `missing`: all were
   * read, and no node's logs have it; the search is repeated.
   */
  readonly events: "complete" | "searching" | "missing";
  /**
   * The first block of this chain from which on the contract has said `state` while for a minute and longer no node had the receipts and
   * logs that explain it; null: they do, or may still come.
   */
  readonly unshown: BlockRef | null;
};

/**
 * Why a question to the chain has no answer. `message`: one sentence for people.
 * - `Unreachable`: no node, or too few that agree, answered in time; `isDisputed`: because they contradict each other.
 * - `NoCode`: there is no contract at the address.
 * - `OtherInterface`: the contract does not answer as the asked interface must.
 * - `Reverted`: the call would fail on chain now; `data` is what it returned (`Error(string)`, a custom error or nothing).
 * - `Refused`: the nodes will not carry out the request for another reason (too little balance, gas above the block's limit).
 */
export type ChainReadError =
  | { readonly kind: "Unreachable"; readonly message: string; readonly isDisputed?: boolean }
  | { readonly kind: "NoCode"; readonly address: EvmAddress; readonly message: string }
  | { readonly kind: "OtherInterface"; readonly address: EvmAddress; readonly message: string }
  | { readonly kind: "Reverted"; readonly data: Uint8Array | null; readonly message: string }
  | { readonly kind: "Refused"; readonly message: string };

/** What an amount of a token did that was moved from an account to a contract, and what arrived back; base units. Each is the amount where nothing is kept. */
export type TokenTrip = {
  readonly left: bigint;
  readonly arrived: bigint;
  readonly leftBack: bigint;
  readonly arrivedBack: bigint;
};

/** A call to be tried or reckoned, not sent. `data` empty: a plain transfer. */
export type CallRequest = {
  readonly from: EvmAddress;
  readonly to: EvmAddress;
  /** Wei. */
  readonly value: bigint;
  readonly data: Uint8Array;
  /** `from` is tried as though it had coins for whatever its chain takes beside gas, by nodes that can do that (state overrides). */
  readonly isFunded?: boolean;
};

/**
 * One chain of accounts and contracts (Ethereum and its kin) as the node sees it. Reads are synchronous and answer from an
 * own view in which everything a swap depends on was read at one block, from a majority of the nodes. The view is made anew
 * for each new head; a reorg makes it differ, `onChange` fires, and what was in a block is then pending or gone.
 *
 * Nothing is stored: after a restart the caller watches again what it needs.
 *
 * `ChainChange.keys` are addresses of watched accounts (balance, nonces), `token/owner` of token balances, transaction ids
 * and payment ids; `all` is a new tip, the status or gas prices.
 *
 * A watch resolves when the view covers it: after a whole, successful look that began after the call, however long the nodes
 * are away. Watches are idempotent and reject with `Aborted` by their signal or `close`, and with a `RangeError` when more
 * is watched than the implementation holds.
 */
export interface AccountChain {
  /** The platform coin. */
  readonly ticker: string;
  readonly chainId: bigint;
  status(): AccountChainStatus;
  /** Called after every change of what the reads answer. Never called from inside a read. Returns the unsubscriber. */
  onChange(listener: (change: ChainChange) => void): () => void;

  watchAccount(address: EvmAddress, signal?: AbortSignal): Promise<void>;
  account(address: EvmAddress): AccountState | undefined;

  /** Follows what `owner` has of each of `tokens`; hundreds cost a handful of requests a look. */
  watchTokens(owner: EvmAddress, tokens: readonly EvmAddress[], signal?: AbortSignal): Promise<void>;
  /** Undefined also for a contract that does not answer `balanceOf` (see `tokenDecimals` for the reason). */
  token(token: EvmAddress, owner: EvmAddress): TokenState | undefined;

  /** Follows one transaction by id; `fromHeight` is of no use here and taken so that all chains are asked alike. */
  watchTx(txid: string, fromHeight: number, signal?: AbortSignal): Promise<void>;
  /** A followed transaction, or one of a watched payment's events; undefined while no node knows it. */
  tx(txid: string): AccountTx | undefined;

  /** Whether too few nodes gave an answer on a followed transaction that can be read: what `tx` says of it may be old. */
  isUnread(txid: string): boolean;

  /**
   * Follows one payment; its transactions are looked for from `fromHeight` on. An earlier `fromHeight` extends the search.
   * @param key with the lock time that was agreed on, where its secret is wanted whatever becomes of the nodes
   */
  watchPayment(key: PaymentKey & { readonly lockTime?: bigint }, fromHeight: number, signal?: AbortSignal): Promise<void>;
  payment(key: PaymentKey): SwapPayment | undefined;
  /** The secret for which a followed payment's id was made, shown by any one node while too few agree on what the chain has; null: none was. */
  shownSecret(key: PaymentKey): ShownSecret | null;

  unwatch(what: {
    readonly accounts?: readonly EvmAddress[];
    readonly tokens?: readonly { readonly token: EvmAddress; readonly owner: EvmAddress }[];
    readonly txids?: readonly string[];
    readonly payments?: readonly PaymentKey[];
  }): void;

  /** 0 in the pool, 1 in the tip block. */
  confirmations(block: BlockRef | null): number;
  /** Whether the chain calls the block final; false where it has no such notion. */
  isFinal(block: BlockRef): boolean;
  /** What gas costs now; null until the first look. The middle one of what the nodes say. */
  gasPrices(): GasPrices | null;
  /** What it takes now for the data of a transaction, beside what a chain of its own does; null until it is known, which needs a watched account. */
  dataCost(): DataCost | null;

  /** `decimals()` of a token: 0 to 30, more is `OtherInterface`. Read at one block from a majority, like the reads below. */
  tokenDecimals(token: EvmAddress, signal?: AbortSignal): Promise<Result<number, ChainReadError>>;
  /** The same of many, in one request; in their order. Fails as a whole only when the nodes do. */
  tokensDecimals(
    tokens: readonly EvmAddress[],
    signal?: AbortSignal,
  ): Promise<Result<readonly Result<number, ChainReadError>[], ChainReadError>>;
  allowance(token: EvmAddress, owner: EvmAddress, spender: EvmAddress, signal?: AbortSignal): Promise<Result<bigint, ChainReadError>>;
  /** Whether there is a contract with the interface of swap-protocol.md 5.1. Asks for nothing that costs. */
  checkSwapContract(contract: EvmAddress, signal?: AbortSignal): Promise<Result<undefined, ChainReadError>>;
  /** Whether there is code at an address: a contract, or an account that delegated to one (EIP-7702). */
  hasCode(address: EvmAddress, signal?: AbortSignal): Promise<Result<boolean, ChainReadError>>;
  /** Whether the code at an address is that of `SwapnodeSwap`, which looks at what tokens bring it. */
  isOwnSwapContract(contract: EvmAddress, signal?: AbortSignal): Promise<Result<boolean, ChainReadError>>;
  /**
   * What would become of `amount` of a token that `owner` moved to `contract`, and of what arrived, moved back. Tried at the tip with other code in the
   * place of both; `Refused` by nodes that cannot do that.
   */
  tokenTrip(
    token: EvmAddress,
    owner: EvmAddress,
    contract: EvmAddress,
    amount: bigint,
    signal?: AbortSignal,
  ): Promise<Result<TokenTrip, ChainReadError>>;
  /**
   * What the call would return at the tip.
   * @param gas all that it may use; null: as much as nodes give a call
   */
  call(request: CallRequest, signal?: AbortSignal, gas?: bigint | null): Promise<Result<Uint8Array, ChainReadError>>;
  /**
   * Gas units the transaction would need at the tip, without a margin; the middle one of what the nodes say, of two the greater.
   * @param most above it the transaction is not sent: so much counts only if a majority says it
   */
  estimateGas(request: CallRequest, signal?: AbortSignal, most?: bigint): Promise<Result<bigint, ChainReadError>>;

  /** Idempotent; every node of this chain gets it; the deadline is the adapter's own. Throws on bytes that are no transaction of this chain. */
  broadcast(raw: Uint8Array, signal?: AbortSignal): Promise<BroadcastOutcome>;
  /** Looks at the nodes now instead of at the next head; resolves when the view is fresh. */
  refresh(signal?: AbortSignal): Promise<void>;
  close(): Promise<void>;
}
