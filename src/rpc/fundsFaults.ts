import { fundsErrorText } from "../app/fundsErrorText.ts";
import type { FundsError, MissingFunds } from "../app/tradingCoin.ts";
import { toDecimalString } from "../core/money/rational.ts";
import type { FaultTable } from "./fault.ts";

const missingData = ({ coin, available, required, lockedBySwaps }: MissingFunds): object => ({
  coin,
  available: toDecimalString(available),
  required: toDecimalString(required),
  ...(lockedBySwaps ? { locked_by_swaps: toDecimalString(lockedBySwaps) } : {}),
});

/** Entries of the funds errors for the error tables of methods that check a balance. */
export const FUNDS_FAULTS: FaultTable<FundsError> = {
  NotSufficientBalance: {
    http: 400,
    when: "The balance does not cover the volume and the fees.",
    text: fundsErrorText,
    data: missingData,
  },
  NotSufficientBaseCoinBalance: {
    http: 400,
    when: "The balance of the platform coin does not cover the fees of a token.",
    text: fundsErrorText,
    data: missingData,
  },
  VolumeTooLow: {
    http: 400,
    when: "The volume is below the coin's least amount.",
    text: fundsErrorText,
    data: ({ coin, volume, threshold }) => ({ coin, volume: toDecimalString(volume), threshold: toDecimalString(threshold) }),
  },
  Transport: {
    http: 500,
    when: "The coin's daemon or nodes cannot be reached, or its chain is still being read; or the own account has code that does not take the coin from a contract.",
    text: fundsErrorText,
    data: (e) => e.message,
  },
  Internal: { http: 500, type: "InternalError", when: "The volume is negative.", text: fundsErrorText, data: (e) => e.message },
};
