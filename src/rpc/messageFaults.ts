import { AWAITED, withWhy } from "./coinFaults.ts";
import type { FaultSpec } from "./fault.ts";

/** What `sign_message` and `verify_message` have in common of their errors (interface document; reference rpc.md 4.7, 4.8). */
export type CoinIsNotFound = { readonly kind: "CoinIsNotFound"; readonly coin: string; readonly why: string | null };
export type InternalFault = { readonly kind: "InternalError"; readonly message: string };

export const noSuchCoin = (coin: string, why: string | null): string => withWhy(`No such coin: ${coin}`, why);

export const COIN_IS_NOT_FOUND: FaultSpec<CoinIsNotFound> = {
  http: 400,
  when: `The coin is not enabled. ${AWAITED}`,
  text: ({ coin, why }) => `Coin is not found: ${noSuchCoin(coin, why)}`,
  data: ({ coin, why }) => noSuchCoin(coin, why),
};

export const INTERNAL_FAULT: Omit<FaultSpec<InternalFault>, "when"> = {
  http: 500,
  text: ({ message }) => `Internal error: ${message}`,
  data: ({ message }) => message,
};

/** A coin that cannot do it at all. */
export const invalidRequest = (when: string, reason: string): FaultSpec<{ readonly kind: "NotSupported" }> => ({
  http: 400,
  type: "InvalidRequest",
  when,
  text: () => `Invalid request: ${reason}`,
  data: () => reason,
});
