import { fromUnits, max, type Rational, ZERO } from "../money/rational.ts";
import { err, ok, type Result } from "../util/result.ts";
import type { FeeRate } from "../utxo/feeRate.ts";
import type { CoinEntry } from "./coinEntry.ts";
import type { UnsupportedCoin } from "./txRules.ts";
import { UTXO_DECIMALS, utxoFees } from "./utxoKind.ts";

/** What a coin's entry alone tells of its fees: enough to answer for coins whose chain this node does not read. */
export type FeeCoin = {
  readonly ticker: string;
  /** The coin that pays: itself, or a token's platform coin. */
  readonly payer: string;
  /** Whether its swaps are calls of contracts. */
  readonly isToken: boolean;
  /** 8 where a token's entry names none: its contract is not asked. */
  readonly decimals: number;
  /** Least amount of a transaction, whole coins; 0 of a token. */
  readonly dust: Rational;
  /** Fee per 1000 bytes of its transactions, whole coins of `payer`; what the calls of a token cost comes on top. */
  readonly rate: Rational;
  /** The same in base units of `payer`. */
  readonly feeRate: FeeRate;
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
  const { feePolicy, decimals, dust, minTradingVol } = utxoFees(entry);
  if (feePolicy.kind !== "fixed") return refused("its fee rate is not in the coins file (txfee), and no server of it is asked");
  const { rate: feeRate } = feePolicy;
  const whole = (units: bigint): Rational => fromUnits(units, decimals);
  if (protocol.type === "QTUM") {
    const figures = { dust: whole(dust), rate: whole(feeRate.perKb), minTradingVol: whole(minTradingVol) };
    return ok({ ticker, payer: ticker, isToken: false, decimals, feeRate, ...figures });
  }
  if (platform === "") return refused("its protocol names no platform coin");
  // `decimals` are the token's: its fees are in units of the platform coin. Its dust binds nobody (reference rpc.md 4.1).
  const least = entry.minTradingVol === null ? whole(1n) : max(whole(1n), entry.minTradingVol);
  const figures = { dust: ZERO, rate: fromUnits(feeRate.perKb, UTXO_DECIMALS), minTradingVol: least };
  return ok({ ticker, payer: platform, isToken: true, decimals, feeRate, ...figures });
}
