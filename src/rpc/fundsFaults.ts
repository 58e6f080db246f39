import { fundsErrorText } from "../app/fundsErrorText.ts";
import type { FundsError } from "../app/tradingCoin.ts";
import { toDecimalString } from "../core/money/rational.ts";
import type { FaultTable } from "./fault.ts";

/** Entries of the funds errors for the error tables of methods that check a balance. */
export const FUNDS_FAULTS: FaultTable<FundsError> = {
  NotSufficientBalance: {
    http: 400,
    when: "The balance does not cover the volume and the fees.",
    text: fundsErrorText,
    data: ({ coin, available, required, lockedBySwaps }) => ({
      coin,
      available: toDecimalString(available),
      required: toDecimalString(required),
      ...(lockedBySwaps ? { locked_by_swaps: toDecimalString(lockedBySwaps) } : {}),
    }),
  },
  VolumeTooLow: {
    http: 400,
    when: "The volume is below the coin's least amount.",
    text: fundsErrorText,
    data: ({ coin, volume, threshold }) => ({ coin, volume: toDecimalString(volume), threshold: toDecimalString(threshold) }),
  },
  Transport: { http: 500, when: "The coin's daemon cannot be reached.", text: fundsErrorText, data: (e) => e.message },
  Internal: { http: 500, type: "InternalError", when: "The volume is negative.", text: fundsErrorText, data: (e) => e.message },
};
