import type { AnyAddressForm } from "../../app/coin/addressForm.ts";
import type { DisableError } from "../../app/coin/enabling.ts";
import type { AccountInfo, AccountNodes, EnableTokensError, TokenRequest } from "../../app/coin/evmParts.ts";
import type { FeeCoins } from "../../app/coin/feeCoins.ts";
import type { TradeFee } from "../../app/coin/tradeFee.ts";
import type { ReadHistory } from "../../app/coin/txHistory.ts";
import type { ElectrumServers } from "../../app/coin/utxoOpener.ts";
import type { SendError, Withdrawal, WithdrawError, WithdrawRequest } from "../../app/coin/withdraw.ts";
import type { Outage, TradingCoin } from "../../app/tradingCoin.ts";
import type { GasPolicy } from "../../core/evm/evmKind.ts";
import type { Rational } from "../../core/money/rational.ts";
import type { Result } from "../../core/util/result.ts";
import type { Secret } from "../../core/util/secret.ts";
import type { AddressFormat } from "../../core/utxo/address.ts";
import type { ScanProgress } from "../../ports/chain.ts";
import type { ServerHealth, ServerNeeds } from "../../ports/electrum.ts";
import type { WithTokensError } from "../enableWithTokens.ts";

/** A coin of the coins file, activated or not. */
export type CoinEntry = {
  readonly walletOnly: boolean;
  readonly orderbookTicker: string | null;
  /** `protocol` of the entry as canonical JSON text: equal texts are the same protocol. */
  readonly protocol: string;
  /** The coin that pays the fees of a QRC-20 token; null for all others. Such tokens are enabled `forFees` alone. */
  readonly qrc20Platform: string | null;
};

export interface CoinsApi {
  /** An enabled coin that is not being passivized. */
  active(ticker: string): WalletCoin | undefined;
  /** The same coin as orders see it. */
  trading(ticker: string): TradingCoin | undefined;
  /** Enabled coins in the order they were enabled. */
  all(): readonly WalletCoin[];
  /** Entry of the coins file. */
  entry(ticker: string): CoinEntry | undefined;
  /** A coin that is just being enabled: null until its chain is there, then how far the reading of it is. */
  opening(ticker: string): { readonly progress: ScanProgress | null } | null | undefined;
  /** Coins enabled for questions about fees alone; `active`, `trading` and `all` know nothing of them. */
  readonly forFees: Pick<FeeCoins, "get" | "enable">;
  /**
   * Sentences that say why a coin is not there: the node is still enabling it again by itself, or it is there for questions about
   * fees alone. Null: neither.
   */
  whyAway(ticker: string): string | null;
  enable(request: EnableRequest, signal: AbortSignal): Promise<Result<WalletCoin, EnableError>>;
  /** Tokens beside an enabled platform coin, all or none. `platform` null: the one the entry of the token names. */
  enableTokens(
    platform: string | null,
    tokens: readonly TokenRequest[],
    signal: AbortSignal,
  ): Promise<Result<readonly WalletCoin[], EnableTokensError>>;
  /** A platform coin and tokens beside it, all or none. */
  enableWithTokens(
    request: EnableRequest,
    tokens: readonly TokenRequest[],
    signal: AbortSignal,
  ): Promise<Result<WithTokens, WithTokensError>>;
  disable(ticker: string, force: boolean): Promise<Result<DisabledCoin, DisableError>>;
}

export type WithTokens = { readonly platform: WalletCoin; readonly tokens: readonly WalletCoin[] };

export type EnableRequest = {
  readonly coin: string;
  /** `mm2` given in the request: stands in for the one of the coins file. */
  readonly mm2: boolean;
  readonly requiredConfirmations: number | undefined;
  readonly requiresNotarization: boolean | undefined;
  /** Daemon of this coin; undefined: the coins file's `rpcport` and the daemon's own conf file. */
  readonly daemon: { readonly url: string; readonly user: string; readonly password: Secret<string> } | undefined;
  /** Height from which the own index starts where the daemon can answer no address query; undefined: its default. */
  readonly birthdayHeight: number | undefined;
  /** Forget the own index of this coin first. */
  readonly rescan: boolean;
  /** Electrum servers in place of a daemon. */
  readonly electrum: ElectrumServers | undefined;
  /** Keep the history of transactions at hand. */
  readonly txHistory: boolean;
  /** Own addresses in another form than the coins file says. */
  readonly addressFormat: AddressFormat | undefined;
  /** Merge own outputs when there are so many; absent: never. */
  readonly merge?: { readonly mergeAt: number; readonly checkEverySec: number; readonly maxMergeAtOnce: number } | undefined;
  /** Which address of an HD wallet is asked for; absent: the first. */
  readonly hdAddress?: { readonly account: number; readonly chain: 0 | 1; readonly index: number } | undefined;
  /** Of an account chain. */
  readonly nodes: AccountNodes;
};

export type EnableError =
  /** `progress`: the node still reads the coin's chain. */
  | { readonly kind: "AlreadyActive"; readonly coin: string; readonly progress: ScanProgress | null }
  /** An earlier request has no answer yet. */
  | { readonly kind: "BeingEnabled"; readonly coin: string; readonly progress: ScanProgress | null }
  | { readonly kind: "BeingDisabled"; readonly coin: string }
  /** No entry, or an entry without `mm2`, and none in the request. */
  | { readonly kind: "Mm2NotSet"; readonly coin: string }
  | { readonly kind: "ProtocolMissing"; readonly coin: string }
  | { readonly kind: "NotSupported"; readonly coin: string; readonly reason: string }
  /** The daemon's conf file cannot be used. */
  | { readonly kind: "DaemonConfig"; readonly path: string; readonly reason: string }
  | { readonly kind: "BadDaemonUrl"; readonly reason: string }
  /** An Electrum server cannot be one, or their numbers make no sense. */
  | { readonly kind: "BadServers"; readonly reason: string }
  /** What `urls` or a contract address of the request lacks. */
  | { readonly kind: "BadAccountNodes"; readonly reason: string }
  /** The nodes of an account chain, or the contracts on it, are not what the request and the coins file say. */
  | { readonly kind: "ChainMismatch"; readonly coin: string; readonly reason: string }
  /** The backend gave no balance; the coin was taken out again. */
  | { readonly kind: "DaemonFailed"; readonly coin: string; readonly message: string };

export type DisabledCoin = { readonly cancelledOrders: readonly string[]; readonly passivized: boolean };

/** `height` null: nothing of the chain is known. */
export type OldView = { readonly state: "starting" | "syncing" | "unreachable"; readonly height: number | null };

/** What the wallet methods need of an enabled coin of any kind. Amounts in whole coins. */
export interface WalletCoin {
  readonly ticker: string;
  readonly decimals: number;
  readonly address: string;
  readonly settings: { readonly confirmations: number; readonly notarization: boolean };
  /** That its backend has not told the balance, which nobody may ask for then; null: it has. Absent where there always is one. */
  untold?(): Outage | null;
  /** Balance that can be spent. */
  spendable(): Rational;
  /** Locked by running swaps and open handshakes. */
  locked(): Rational;
  /** Balance that exists but cannot be spent yet. */
  unspendable(): Rational;
  /** Confirmations a coinbase output needs; null for coins without the notion. */
  readonly matureConfirmations: number | null;
  /** The answer of `get_trade_fee`. */
  tradeFee(signal: AbortSignal): Promise<Result<TradeFee, Outage>>;
  setRequiredConfirmations(confirmations: number): void;
  setRequiresNotarization(required: boolean): void;
  /** How swaps bid for gas, for all coins of the account; absent for a coin that is on no account chain. */
  readonly gasPolicy?: { readonly now: GasPolicy; choose(policy: GasPolicy): void };
  /** The key of the address shown for the coin: in wallet import format, or of an account chain as hex with `0x`. */
  privKey(): Secret<string>;
  /** The address in another form. The reason is a sentence. */
  convertAddress(address: string, to: AnyAddressForm): Result<string, { readonly kind: "NotConvertible"; readonly reason: string }>;
  /** Null for a coin that is on no account chain. */
  accountInfo(): AccountInfo | null;
  /** A transaction of the wallet or its swaps; `txid`: 64 hex, lower case. */
  rawTx(txid: string): Promise<Uint8Array | null>;
  /** The transactions of the wallet; null where they were not asked for at activation. */
  history(): ReadHistory | null;
  /** The Electrum servers, or nodes of an account chain, it is followed through, in the order given; none with a daemon. */
  servers(): readonly ServerHealth[];
  /** Null with a daemon. */
  serverNeeds(): ServerNeeds | null;
  /** The last view of the chain is not the present one: why, and up to which block it reaches. Null: it is. */
  oldView(): OldView | null;
  /** How far the reading of the coin's blocks is; null when it is over. */
  scanProgress(): ScanProgress | null;
  /** Height of the last block the node knows; 0 before the first. */
  tipHeight(): number;
  /** The reason is a sentence in KDF's words (reference rpc.md 4.8 row 2). */
  validateAddress(address: string): Result<void, { readonly kind: "InvalidAddress"; readonly reason: string }>;
  /** With the key of the address shown for the coin. */
  signMessage(message: string): Result<string, SignMessageError>;
  /** With the key of any address of an HD wallet. */
  signMessageAs(address: AddressSelector, message: string): Result<string, SignMessageError | BadSelector>;
  verifyMessage(message: string, signature: string, address: string): Result<boolean, VerifyMessageError>;
  withdraw(request: WithdrawRequest, signal: AbortSignal): Promise<Result<Withdrawal, WithdrawError>>;
  /** Sends a finished transaction; the answer is its id. */
  sendRaw(raw: Uint8Array, signal: AbortSignal): Promise<Result<string, SendError>>;
}

/** A coin that trades. */
export type RpcCoin = TradingCoin & WalletCoin;

/** One address of an HD wallet, as a path or by its place below the coin's account. */
export type AddressSelector =
  | { readonly kind: "path"; readonly path: string }
  | { readonly kind: "place"; readonly account: number; readonly chain: "External" | "Internal"; readonly index: number };

/** `NotSupported`: coins of this kind neither sign nor check messages. */
export type SignMessageError = { readonly kind: "PrefixNotFound" } | { readonly kind: "NotSupported" };
/** The address was named, and it is none of this coin. */
export type BadSelector = { readonly kind: "BadSelector"; readonly reason: string };
export type VerifyMessageError =
  | SignMessageError
  | { readonly kind: "AddressDecoding"; readonly message: string }
  | { readonly kind: "SignatureDecoding"; readonly message: string }
  /** 65 bytes with a header below 27, or no key can be recovered from them. */
  | { readonly kind: "InvalidSignature" };
