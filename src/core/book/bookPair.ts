/** Prefix of every order-book topic (reference p2p-wire.md section 8). */
export const ORDERBOOK_TOPIC_PREFIX = "orbk/";

const TICKER = /^[!-9;-~]{1,64}$/;

/** A ticker that can stand in a pair: printable ASCII without `:`, at most 64 characters. KDF has no such rule. */
export const isBookTicker = (ticker: string): boolean => TICKER.test(ticker);

/** Both tickers of a pair, the smaller first, joined: one name for (base, rel) and (rel, base). */
export const pairOf = (base: string, rel: string): string => (base < rel ? `${base}:${rel}` : `${rel}:${base}`);

/** Topic on which all orders between two coins travel; tickers are the orderbook tickers. */
export const orderbookTopic = (base: string, rel: string): string => ORDERBOOK_TOPIC_PREFIX + pairOf(base, rel);

/** The other coin of a pair that contains `coin`; undefined if it does not. */
export function otherCoin(pair: string, coin: string): string | undefined {
  const [first, second] = pair.split(":");
  if (first === coin) return second;
  return second === coin ? first : undefined;
}

/** Whether a book can have this pair: two tickers that are not the same. */
export const isPair = (base: string, rel: string): boolean => isBookTicker(base) && isBookTicker(rel) && base !== rel;
