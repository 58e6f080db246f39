import type { GasPolicy } from "../../core/evm/evmKind.ts";
import type { Result } from "../../core/util/result.ts";
import type { AccountChain } from "../../ports/accountChain.ts";
import type { AccountTxStore } from "../../ports/accountTxStore.ts";
import type { EvmCoins } from "./evm/evmCoins.ts";

/** Where an account chain is and which contracts swaps use, as an activation request says. */
export type AccountNodes = {
  /** `http(s)` or `ws(s)`. Undefined: the platform coin is active, or the request is refused. */
  readonly urls: readonly string[] | undefined;
  readonly swapContract: string | undefined;
  readonly fallbackSwapContract: string | undefined;
  /** In place of the coins file's, for all coins of the account. */
  readonly gasPolicy?: GasPolicy | undefined;
};

type BadNodeUrl = { readonly kind: "BadNodeUrl"; readonly index: number };

/** `useNodes`: goes on with other nodes; what the ones before said counts no more. Refused, nothing changes. Absent: there is no choice of nodes. */
export type OpenedAccountChain = AccountChain & { readonly useNodes?: (urls: readonly string[]) => Result<undefined, BadNodeUrl> };

/** What account coins need of the outside. The rest of what they need is loaded when the first of them is enabled: nobody else pays for it. */
export type EvmParts = {
  readonly openChain: (chain: {
    readonly ticker: string;
    readonly chainId: bigint;
    readonly urls: readonly string[];
    readonly logsBlockRange: number | null;
  }) => Promise<Result<OpenedAccountChain, BadNodeUrl>>;
  readonly store: AccountTxStore;
  /** Swap contracts are allowed all of a token at once, instead of exactly what payments need. */
  readonly unlimitedAllowances: boolean;
  /** The rest. */
  readonly load: () => Promise<{ readonly EvmCoins: typeof EvmCoins }>;
};

/** A token to be enabled beside its platform coin. `aside`: for swaps alone. */
export type TokenRequest = { readonly ticker: string; readonly requiredConfirmations: number | undefined; readonly aside?: boolean };

/** Why tokens cannot be enabled beside their platform coin; none of them is then. */
export type EnableTokensError =
  | EvmEnableError
  | { readonly kind: "TokenConfigIsNotFound"; readonly ticker: string }
  | { readonly kind: "UnexpectedTokenProtocol"; readonly ticker: string; readonly protocol: string }
  | { readonly kind: "TokenIsAlreadyActivated"; readonly ticker: string }
  | { readonly kind: "PlatformCoinIsNotActivated"; readonly platform: string }
  | { readonly kind: "PlatformCoinMismatch"; readonly ticker: string; readonly platform: string };

/** What replies say of a coin of an account chain beside its balance. */
export type AccountInfo = {
  readonly platform: string;
  /** Address of the token's contract with its checksum; null for the platform coin. */
  readonly contract: string | null;
  /** Uncompressed, 65 bytes. */
  readonly publicKey: Uint8Array;
};

/** Why an account coin cannot be enabled. The reasons are sentences without a full stop. */
export type EvmEnableError =
  | { readonly kind: "NotSupported"; readonly coin: string; readonly reason: string }
  /** `urls` or a contract address of the request. */
  | { readonly kind: "BadAccountNodes"; readonly reason: string }
  /** The nodes, or what is on the chain, are not what the request and the coins file say. */
  | { readonly kind: "ChainMismatch"; readonly coin: string; readonly reason: string }
  /** The nodes gave no balance. */
  | { readonly kind: "DaemonFailed"; readonly coin: string; readonly message: string };
