import type { OrderMessage, TakerRequest } from "../../core/message/types.ts";
import type { Rational } from "../../core/money/rational.ts";
import type { NoFeeKey } from "../../core/network/dexFee.ts";
import type { BlockTimes, LockRules } from "../../core/order/swapConfs.ts";
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

/** Order files in KDF's shape: `ORDERS/MY/<folder>/<uuid>.json`. Failures are logged by the caller and lose nothing. */
export interface OrderFiles {
  write(folder: "MAKER" | "TAKER" | "HISTORY", uuid: string, content: unknown): Promise<void>;
  remove(folder: "MAKER" | "TAKER", uuid: string): Promise<void>;
}

/** Numbers and rules that come from the network profile and the coins file. */
export type TradeRules = {
  readonly lock: LockRules;
  blockTimes(ticker: string): BlockTimes;
  /** All the taker pays beside its payment, burned part included; zero when none is due. Whole taker coins. */
  dexFee(takerTicker: string, makerTicker: string, takerAmount: Rational): Rational;
  /** Why nobody could pay the dex fee of a swap with this taker coin; null where somebody can (design D2). */
  noFeeKey(takerTicker: string): NoFeeKey | null;
};

/** Who may have how much of us. */
export type PeerPolicy = {
  /** `sender`: 66 hex. Banned senders are not answered. */
  isBanned(sender: string): boolean;
  /**
   * Asked before funds are held for a taker.
   * @param held what open handshakes with this sender hold of the coin already; `heldByAll`: with everybody
   */
  mayReserve(sender: string, coin: string, amount: Rational, held: Rational, heldByAll: Rational): boolean;
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
  /** The node's envelope key, 33 bytes. */
  readonly ownKey: Uint8Array;
  /** Active coins only. */
  coin(ticker: string): TradingCoin | undefined;
  /** Without a book every offer waits the full window. */
  readonly book?: BookView;
  readonly files?: OrderFiles;
};
