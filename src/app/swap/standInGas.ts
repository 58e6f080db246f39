import type { Log } from "../../ports/log.ts";
import type { Reservation } from "../tradingCoin.ts";
import type { SwapCoin, TokenSteps } from "./swapCoin.ts";

type Held = { readonly payer: SwapCoin; readonly reservation: Reservation };

/**
 * Gas that stored swaps of tokens need from their platform coin, held there from the moment that one is enabled: a withdrawal of all
 * of it must not take what a token's refund is paid with, only because the token comes later. The token, once enabled, holds
 * its own instead.
 */
export class StandInGas {
  readonly #log: Log;
  /** By swap and ticker of the token. */
  readonly #held = new Map<string, Held>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** Where `ticker` is a token that `payer` pays for. A former stand-in for the same is let go of. */
  take(payer: SwapCoin, uuid: string, ticker: string, steps: TokenSteps, ttlMs: number): void {
    const held = payer.reserveTokenGas?.(ticker, steps, ttlMs) ?? null;
    if (held === null) return;
    this.release(uuid, ticker);
    if (held.ok) this.#held.set(keyOf(uuid, ticker), { payer, reservation: held.value });
    else this.#log.warn("swap_funds_not_reserved", { swap: uuid, coin: ticker, error: held.error.kind });
  }

  release(uuid: string, ticker: string): void {
    const held = this.#held.get(keyOf(uuid, ticker));
    this.#held.delete(keyOf(uuid, ticker));
    held?.payer.release(held.reservation);
  }
}

const keyOf = (uuid: string, ticker: string): string => `${uuid}/${ticker}`;
