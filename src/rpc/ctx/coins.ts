import type { SendError, Withdrawal, WithdrawError, WithdrawRequest } from "../../app/coin/withdraw.ts";
import type { TradingCoin } from "../../app/tradingCoin.ts";
import type { Rational } from "../../core/money/rational.ts";
import type { Result } from "../../core/util/result.ts";
import type { Secret } from "../../core/util/secret.ts";
import type { AddressForm } from "../../core/utxo/convertAddress.ts";
import type { ScanProgress } from "../../ports/chain.ts";

/** A coin of the coins file, activated or not. */
export type CoinEntry = {
  readonly walletOnly: boolean;
  readonly orderbookTicker: string | null;
  /** `protocol` of the entry as canonical JSON text: equal texts are the same protocol. */
  readonly protocol: string;
};

export interface CoinsApi {
  /** An enabled coin that is not being passivized. */
  active(ticker: string): RpcCoin | undefined;
  /** Enabled coins in the order they were enabled. */
  all(): readonly RpcCoin[];
  /** Entry of the coins file. */
  entry(ticker: string): CoinEntry | undefined;
  enable(request: EnableRequest, signal: AbortSignal): Promise<Result<RpcCoin, EnableError>>;
  disable(ticker: string, force: boolean): Promise<Result<DisabledCoin, DisableError>>;
}

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
  /** The daemon gave no balance; the coin was taken out again. */
  | { readonly kind: "DaemonFailed"; readonly coin: string; readonly message: string };

export type DisabledCoin = { readonly cancelledOrders: readonly string[]; readonly passivized: boolean };
export type DisableError =
  | { readonly kind: "NoSuchCoin"; readonly coin: string }
  | {
      readonly kind: "CoinInUse";
      readonly matchingOrders: readonly string[];
      readonly cancelledOrders: readonly string[];
      readonly activeSwaps: readonly string[];
    };

/** What the wallet methods need of an enabled coin beyond trading. Amounts in whole coins. */
export interface RpcCoin extends TradingCoin {
  /** Balance that exists but cannot be spent yet. */
  unspendable(): Rational;
  /** Confirmations a coinbase output needs; null for coins without the notion. */
  readonly matureConfirmations: number | null;
  /** Miner fee per 1000 bytes: the answer of `get_trade_fee`. */
  feeRate(signal: AbortSignal): Promise<Rational>;
  setRequiredConfirmations(confirmations: number): void;
  setRequiresNotarization(required: boolean): void;
  /** The key of the address shown for the coin, in wallet import format. */
  privKey(): Secret<string>;
  /** The address in another form. The reason is a sentence. */
  convertAddress(address: string, to: AddressForm): Result<string, { readonly kind: "NotConvertible"; readonly reason: string }>;
  /** A transaction this node follows; `txid`: 64 hex, lower case. */
  rawTx(txid: string): Uint8Array | null;
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
