import type { SendError, Withdrawal, WithdrawError, WithdrawRequest } from "../app/coin/withdraw.ts";
import type { DexFeeRule } from "../app/fees/tradeVolumes.ts";
import type { OrdersService } from "../app/orders/ordersService.ts";
import type { PeerPolicy } from "../app/peers/peerPolicy.ts";
import type { FundsError, TradingCoin } from "../app/tradingCoin.ts";
import type { ConfSettings } from "../core/message/types.ts";
import type { Rational } from "../core/money/rational.ts";
import type { NoFeeKey } from "../core/network/dexFee.ts";
import type { Result } from "../core/util/result.ts";
import type { Secret } from "../core/util/secret.ts";
import type { ScanProgress } from "../ports/chain.ts";
import type { Clock } from "../ports/clock.ts";
import type { PeerConnection } from "../ports/network.ts";

/** What the RPC methods need of the node. Small interfaces, satisfied structurally; `main/compose.ts` puts them together. */
export type RpcContext = {
  readonly clock: Clock;
  readonly node: NodeApi;
  readonly coins: CoinsApi;
  readonly orders: OrdersApi;
  readonly orderbook: OrderbookApi;
  readonly swaps: SwapsApi;
  readonly dexFee: DexFeeApi;
  readonly peers: PeersApi;
};

export interface NodeApi {
  /** Answer of `version`. */
  readonly version: string;
  /** ISO time of the start. */
  readonly startedAt: string;
  readonly netid: number;
  /** Compressed node key, 66 hex; null without login. */
  readonly publicKey: string | null;
  /** HD wallet: coins have more addresses than the one shown. */
  readonly hd: boolean;
  /** Null when the peer-to-peer network is switched off. */
  readonly network: { readonly peerId: string; peers(): readonly PeerConnection[] } | null;
  /** Begins the stop of the whole node and returns at once. */
  stop(): void;
}

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
  feeRate(signal: AbortSignal): Promise<Result<Rational, FundsError>>;
  setRequiredConfirmations(confirmations: number): void;
  setRequiresNotarization(required: boolean): void;
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

export type SignMessageError = { readonly kind: "PrefixNotFound" };
/** The address was named, and it is none of this coin. */
export type BadSelector = { readonly kind: "BadSelector"; readonly reason: string };
export type VerifyMessageError =
  | { readonly kind: "PrefixNotFound" }
  | { readonly kind: "AddressDecoding"; readonly message: string }
  | { readonly kind: "SignatureDecoding"; readonly message: string };

/** Own orders; `app/orders` has the checks of reference rpc.md 4.1 and 4.2 in their order. */
export type OrdersApi = Pick<
  OrdersService,
  "placeTakerOrder" | "placeMakerOrder" | "cancelOrder" | "cancelAllOrders" | "myOrders" | "orderStatus"
>;

/** An order of the book in its maker's terms. */
export type BookEntry = {
  readonly uuid: string;
  /** Compressed key of the maker, 66 hex. */
  readonly pubkey: string;
  /** Orderbook tickers. */
  readonly base: string;
  readonly rel: string;
  readonly price: Rational;
  readonly maxVolume: Rational;
  readonly minVolume: Rational;
  /** unix seconds */
  readonly createdAt: number;
  readonly conf: ConfSettings | null;
  readonly isMine: boolean;
  /** Address of the maker on its base coin; null where it cannot be told. */
  readonly address: string | null;
};
export interface OrderbookApi {
  /**
   * Orders of a pair of orderbook tickers: `asks` sell base, `bids` sell rel. The first call for a pair subscribes and asks a
   * relay; later ones answer from memory.
   */
  pair(
    base: string,
    rel: string,
    signal: AbortSignal,
  ): Promise<Result<{ readonly asks: readonly BookEntry[]; readonly bids: readonly BookEntry[] }, { readonly kind: "NoNetwork" }>>;
}

/** A swap status in the shape of reference rpc.md 7.1. */
export type SwapStatus = { readonly [key: string]: unknown };
export type SwapFilter = {
  readonly myCoin: string | undefined;
  readonly otherCoin: string | undefined;
  /** unix seconds; started_at >= from, started_at < to */
  readonly fromTimestamp: number | undefined;
  readonly toTimestamp: number | undefined;
};
export interface SwapsApi {
  /** Undefined when there is no such swap. */
  status(uuid: string): Promise<SwapStatus | undefined>;
  /**
   * Swaps under the filter, newest first. `after`: start behind this uuid's place among them; null when it is not among
   * them although there are some. `total` counts all under the filter, `skipped` those left out in front.
   */
  page(
    filter: SwapFilter,
    page: { readonly after: string } | { readonly skip: number },
    limit: number,
  ): Promise<{ readonly uuids: readonly string[]; readonly total: number; readonly skipped: number } | null>;
  /** Running swaps, oldest first. */
  active(): readonly string[];
  /** Coins of the swaps and orders that were unfinished when the node started. */
  coinsNeededForKickStart(): readonly string[];
  recoverFunds(uuid: string, signal: AbortSignal): Promise<Result<RecoveredFunds, RecoverError>>;
}
export type RecoveredFunds = {
  readonly action: "RefundedMyPayment" | "SpentOtherPayment";
  readonly coin: string;
  readonly txid: string;
  readonly raw: Uint8Array;
};
export type RecoverError =
  | { readonly kind: "SwapNotFound" }
  | { readonly kind: "CoinNotActive"; readonly coin: string }
  | { readonly kind: "SwapNotFinished" }
  /** A sentence of reference rpc.md 5.3. */
  | { readonly kind: "NotRecoverable"; readonly reason: string };

/** Bans of counterparties. Keys as X coordinates, 64 hex. */
export type PeersApi = Pick<PeerPolicy, "banned" | "ban" | "unban">;

export interface DexFeeApi {
  /** Rule of the network profile for this pair, burned part included; zero rate and floor where nothing is due. */
  rule(takerCoin: TradingCoin, makerTicker: string): DexFeeRule;
  /** Why nobody could pay the fee in this coin; null where somebody can. */
  noFeeKey(takerTicker: string): NoFeeKey | null;
}
