import type { OrderMessage, TakerRequest } from "../../core/message/types.ts";
import type { Rational } from "../../core/money/rational.ts";
import type { NoFeeKey } from "../../core/network/dexFee.ts";
import type { BlockTimes, LockRules } from "../../core/order/swapConfs.ts";
import type { SafetyRules } from "../../core/swap/safety.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { OrderStore } from "../../ports/orderStore.ts";
import type { Rng } from "../../ports/rng.ts";
import type { SwapStarter, TradingCoin } from "../tradingCoin.ts";

/** How order messages reach other nodes; the order book service is one. Tickers here are orderbook tickers. */
export interface OrderNetwork {
  /** Joins the pair's topic, now and until the node stops. Idempotent. */
  follow(base: string, rel: string): void;
  /** Signs with the node's key and publishes once; nothing is queued or repeated. */
  publish(base: string, rel: string, message: OrderMessage): void;
  /** Resolves when a published message can reach somebody. Rejects with `Aborted` when `signal` fires. */
  ready(signal: AbortSignal): Promise<void>;
}

/** What orders ask the order book. */
export interface BookView {
  /** Envelope keys (66 hex) of the makers whose known orders serve the request, own orders left out. */
  fittingMakers(request: TakerRequest): readonly string[];
}

/**
 * Order files in KDF's shape: `swapnode/ORDERS/MY/<folder>/<uuid>.json` of the wallet's folder. What is asked first is done first, but of a
 * file only the latest; a promise settles when that is on the disk. Failures are logged by the caller and lose nothing.
 */
export interface OrderFiles {
  /** @param content worked out when its turn comes */
  write(folder: "MAKER" | "TAKER" | "HISTORY", uuid: string, content: () => unknown): Promise<void>;
  remove(folder: "MAKER" | "TAKER", uuid: string): Promise<void>;
}

/** Numbers and rules that come from the network profile and the coins file. */
export type TradeRules = {
  readonly lock: LockRules;
  blockTimes(ticker: string): BlockTimes;
  readonly safety: SafetyRules;
  /** Whether a coin has no value: `is_testnet` in the coins file. */
  isTestCoin(ticker: string): boolean;
  /** What a block of a coin's chain pays its maker, whole coins; null: unknown, or the coin has no value. */
  blockReward(ticker: string): Rational | null;
  /** Seconds a taker waits for the maker's payment after its fee. */
  readonly paymentWaitSec: number;
  /** All the taker pays beside its payment, burned part included; zero when none is due. Whole taker coins. */
  dexFee(takerTicker: string, makerTicker: string, takerAmount: Rational): Rational;
  /** Why nobody could pay the dex fee of a swap with this taker coin; null where somebody can (design D2). */
  noFeeKey(takerTicker: string): NoFeeKey | null;
};

/** A request for funds of one own maker order. Whole coins; `sender`: 66 hex. */
export type ReserveAsk = {
  readonly sender: string;
  readonly coin: string;
  readonly amount: Rational;
  readonly orderUuid: string;
  /** What the order can still sell. */
  readonly orderAvailable: Rational;
  /** Open handshakes of own maker orders that hold this coin, base units. */
  readonly held: readonly { readonly sender: string; readonly units: bigint; readonly orderUuid: string }[];
  /** Whether the coin can promise this match, and so many more beside it. */
  readonly hasRoom: (more: number) => boolean;
};

/** Whether a match may hold fees that the account pays. Whole coins of `payer`, with the amount itself where that coin is given. */
export type FeesAsk = {
  readonly sender: string;
  /** Given by the order: history in it vouches for the key. */
  readonly coin: string;
  readonly payer: string;
  readonly amount: Rational;
  /** What open handshakes hold of it. */
  readonly held: readonly { readonly sender: string; readonly amount: Rational }[];
};

/**
 * `alone`: more than the share of a key without history, granted for want of anybody else: the name of what it was
 * granted of, to be handed to `onReserved`.
 */
export type Share =
  | { readonly kind: "granted"; readonly alone: string | null; readonly connectWithinMs: number }
  | {
      readonly kind: "refused";
      readonly reason: "key_share" | "strangers_share" | "throttled" | "alone_too_often" | "too_often_in_vain" | "coin";
    };

/** Who may have how much of us. */
export type PeerPolicy = {
  /** `sender`: 66 hex. Banned senders are not answered. */
  isBanned(sender: string): boolean;
  /** Whether history vouches for the sender in this coin. */
  isKnown(sender: string, coin: string): boolean;
  /** Asked before funds are held for a taker. */
  mayReserve(ask: ReserveAsk): Share;
  /** The same for what the match holds of a balance that pays fees. What began and is not paid for is counted, too. */
  mayHoldFees(ask: FeesAsk): Share;
  /** Whether the taker of this running swap, in which this node is maker, has paid no fee yet. */
  isUnpaid(swap: string): boolean;
  /** What such swaps hold of a coin, base units. */
  unpaidUnits(coin: string): bigint;
  /** Funds were held on a share granted alone. `uuid`: the taker request's. */
  onReserved(uuid: string, alone: string): void;
  /** Funds were held for this counterparty, and it let the time for `connect` (a taker) or `connected` (a maker) pass. */
  onNeverConnected(uuid: string, sender: string): void;
  /** Whether something is remembered against the sender, be it only that it fell silent: its offers come after those of others. */
  isSuspect(sender: string): boolean;
};

/** Why this node takes part in no new trade: its key trades elsewhere. Unix ms. */
export type KeyElsewhere = {
  readonly kind: "KeyInUseElsewhere";
  readonly heardAtMs: number;
  /** What was heard last. */
  readonly message: string;
  /** When the other will have been silent long enough. */
  readonly untilMs: number;
};

export type OrdersDeps = {
  readonly clock: Clock;
  readonly rng: Rng;
  readonly log: Log;
  readonly network: OrderNetwork;
  readonly store: OrderStore;
  readonly swaps: SwapStarter;
  readonly rules: TradeRules;
  readonly policy: PeerPolicy;
  /** Not null while another node has been heard trading with this node's key. */
  readonly keyElsewhere: () => KeyElsewhere | null;
  /** The node's envelope key, 33 bytes. */
  readonly ownKey: Uint8Array;
  /** Active coins only. */
  coin(ticker: string): TradingCoin | undefined;
  /** Without a book every offer waits the full window. */
  readonly book?: BookView;
  readonly files?: OrderFiles;
};
