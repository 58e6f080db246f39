import type { ServerNeeds } from "../../ports/electrum.ts";

/** From so many on, one that is left alone is not believed: two more are there to wait for. */
const ENOUGH_TO_WAIT_FOR = 3;

/**
 * How many servers must be connected before anything is believed: what the activation asks for, else two where three or more are named,
 * else one.
 *
 * @param voters those that are independent of each other
 * @param asked  `min_connected` of the activation
 */
export function serverNeeds(ticker: string, voters: number, maxConnected: number, asked: number | undefined): ServerNeeds {
  const minConnected = Math.min(asked ?? (voters >= ENOUGH_TO_WAIT_FOR ? 2 : 1), maxConnected);
  if (minConnected > 1) return { minConnected, warning: null };
  const why =
    voters === 1
      ? "has one Electrum server only"
      : maxConnected === 1
        ? "uses one Electrum server at a time"
        : "makes do with one Electrum server when others are away";
  return {
    minConnected,
    warning: `${ticker} ${why}: that a payment was not spent, or that there is none, is then its word alone. Name three servers of different people, without min_connected or with 2.`,
  };
}
