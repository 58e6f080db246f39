import type { OrdersService } from "../../app/orders/ordersService.ts";
import type { BestOrdersLimit } from "../../core/book/selection.ts";
import type { BestOrdersAction } from "../../core/message/requestMessage.ts";
import type { ConfSettings } from "../../core/message/types.ts";
import type { Rational } from "../../core/money/rational.ts";
import type { Result } from "../../core/util/result.ts";

/** Own orders; `app/orders` has the checks of reference rpc.md 4.1 and 4.2 in their order. */
export type OrdersApi = Pick<
  OrdersService,
  | "placeTakerOrder"
  | "placeMakerOrder"
  | "updateMakerOrder"
  | "cancelOrder"
  | "cancelAllOrders"
  | "usualTerms"
  | "myOrders"
  | "orderStatus"
  | "history"
  | "historyDetails"
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
/** The orders of a pair: `asks` sell base, `bids` sell rel. */
export type PairOrders = { readonly asks: readonly BookEntry[]; readonly bids: readonly BookEntry[] };
/** A book that is still to be read, as it is then; `size`: its orders by now. What is read of a long one takes megabytes. */
export type UnreadPair = { readonly size: number; read(signal: AbortSignal): Promise<PairOrders> };
export interface OrderbookApi {
  /**
   * Orders of a pair of orderbook tickers. The first call for a pair subscribes and asks a relay; later ones answer from memory.
   */
  pair(base: string, rel: string): Promise<Result<UnreadPair, { readonly kind: "NoNetwork" }>>;
  /**
   * The best orders between `coin` and each other coin, by orderbook ticker of the other; `buy`: those that sell `coin`, `sell`:
   * those that ask for it. `address` of an entry is the maker's on the other coin.
   */
  best(
    coin: string,
    action: BestOrdersAction,
    limit: BestOrdersLimit,
    signal: AbortSignal,
  ): Promise<Result<ReadonlyMap<string, readonly BookEntry[]>, { readonly kind: "NoNetwork" } | { readonly kind: "NoPeerAnswered" }>>;
  /** Numbers of orders, in the order of the pairs (orderbook tickers); null where this node keeps no book and no relay told. */
  depths(
    pairs: readonly (readonly [base: string, rel: string])[],
    signal: AbortSignal,
  ): Promise<Result<readonly ({ readonly asks: number; readonly bids: number } | null)[], { readonly kind: "NoNetwork" }>>;
  /** Coins of the coins file that trade under another ticker, by that ticker. */
  originalTickers(): { readonly [orderbookTicker: string]: readonly string[] };
}
