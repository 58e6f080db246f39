import { toDecimalString } from "../core/money/rational.ts";
import type { FundsError } from "./tradingCoin.ts";

/** KDF's sentence for a funds error (reference rpc.md 4.1.1). */
export function fundsErrorText(e: FundsError): string {
  switch (e.kind) {
    case "NotSufficientBalance":
    case "NotSufficientBaseCoinBalance": {
      const coin = e.kind === "NotSufficientBalance" ? e.coin : `platform coin ${e.coin} balance`;
      const locked = e.lockedBySwaps === null ? "None" : `Some(BigDecimal("${toDecimalString(e.lockedBySwaps)}"))`;
      return `Not enough ${coin} for swap: available ${toDecimalString(e.available)}, required at least ${toDecimalString(e.required)}, locked by swaps ${locked}`;
    }
    case "VolumeTooLow":
      return `The volume ${toDecimalString(e.volume)} of the ${e.coin} coin less than minimum transaction amount ${toDecimalString(e.threshold)}`;
    case "Transport":
      return `Transport error: ${e.message}`;
    case "Internal":
      return `Internal error: ${e.message}`;
  }
}
