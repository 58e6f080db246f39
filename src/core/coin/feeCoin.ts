import { fromUnits, max, type Rational } from "../money/rational.ts";
import { err, ok, type Result } from "../util/result.ts";
import type { CoinEntry } from "./coinEntry.ts";
import type { UnsupportedCoin } from "./txRules.ts";
import { UTXO_DECIMALS, utxoFees } from "./utxoKind.ts";

/** What a coin's entry alone tells of its fees: enough to answer for coins whose chain this node does not read. */
export type FeeCoin = {
  readonly ticker: string;
  /** The coin that pays: itself, or a token's platform coin. */
  readonly payer: string;
  /** Fee per 1000 bytes of its transactions, whole coins of `payer`; what the calls of a token cost comes on top. */
  readonly rate: Rational;
  /** Least volume of a trade, whole coins. */
  readonly minTradingVol: Rational;
};

/** Protocols that are known by their entries: their transactions and block headers are not. */
export const isFeeProtocol = (type: string): boolean => type === "QTUM" || type === "QRC20";

const refused = (reason: string): Result<never, UnsupportedCoin> => err({ kind: "UnsupportedCoin", reason });

/**
 * Reads an entry of Qtum or of a QRC-20 token.
 * @param platform the platform coin that a token's entry names; empty: none
 */
export function feeCoin(entry: CoinEntry, platform: string): Result<FeeCoin, UnsupportedCoin> {
  const { ticker, protocol } = entry;
  if (!isFeeProtocol(protocol.type)) return refused(`protocol ${protocol.type} is not one of fees only`);
  const { feePolicy, decimals, minTradingVol } = utxoFees(entry);
  if (feePolicy.kind !== "fixed") return refused("its fee rate is not in the coins file (txfee), and no server of it is asked");
  const { perKb } = feePolicy.rate;
  if (protocol.type === "QTUM") {
    return ok({ ticker, payer: ticker, rate: fromUnits(perKb, decimals), minTradingVol: fromUnits(minTradingVol, decimals) });
  }
  if (platform === "") return refused("its protocol names no platform coin");
  // `decimals` are the token's: its fees are in units of the platform coin. Its dust binds nobody (reference rpc.md 4.1).
  const unit = fromUnits(1n, decimals);
  const least = entry.minTradingVol === null ? unit : max(unit, entry.minTradingVol);
  return ok({ ticker, payer: platform, rate: fromUnits(perKb, UTXO_DECIMALS), minTradingVol: least });
}
