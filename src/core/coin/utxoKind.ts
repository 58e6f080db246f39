import { fromUnits, lt, type Rational, toUnits } from "../money/rational.ts";
import { err, ok, type Result } from "../util/result.ts";
import type { AddressFormat, AddressRules } from "../utxo/address.ts";
import { type FeeRate, htlcSpendFee } from "../utxo/feeRate.ts";
import type { CoinEntry } from "./coinEntry.ts";
import { type RelayPolicy, relayPolicy } from "./relayPolicy.ts";
import { type TxRules, txRules, type UnsupportedCoin } from "./txRules.ts";

/** Where the miner fee rate comes from (rpc.md 2.6 `txfee`). */
export type FeePolicy =
  | { readonly kind: "fixed"; readonly rate: FeeRate }
  /** The backend's estimate, at least 1000 per kB. */
  | { readonly kind: "dynamic" };

/** Everything this node needs to know about a Bitcoin-like coin. Amounts in base units. */
export type UtxoKind = TxRules & {
  readonly ticker: string;
  readonly decimals: number;
  readonly address: AddressRules;
  readonly wifPrefix: number;
  readonly dust: bigint;
  readonly feePolicy: FeePolicy;
  readonly forceMinRelayFee: boolean;
  /** Percent by which dynamic rates are raised (rpc.md 9.4). */
  readonly feeVolatilityPercent: number;
  /** Least volume of a trade: 10 x dust, with a fixed fee at least 10 spend fees; `min_trading_vol` can only raise it. */
  readonly minTradingVol: bigint;
  readonly confirmations: number;
  readonly notarization: boolean;
  readonly matureConfirmations: number;
  /** KMD: unspent outputs earn interest by lock time, so transactions carry an older one (`currentLockTime`). */
  readonly paysInterest: boolean;
  readonly relayPolicy: RelayPolicy;
  /** Most its daemons take for one transaction, base units; null: what they find absurd goes by the size (`absurdFee`). */
  readonly mostPerTx: bigint | null;
};

/** Defaults of KDF for fields an entry lacks (rpc.md 2.6); Bitcoin's prefixes differ. */
const DEFAULT_PREFIXES = { p2pkh: 60, p2sh: 85, wif: 188 };
const BTC_PREFIXES = { p2pkh: 0, p2sh: 5, wif: 128 };
const DEFAULT_FEE_PER_KB = 1000n;
const DEFAULT_DUST = 1000n;
/** Of a coin whose entry names none. */
export const UTXO_DECIMALS = 8;
const DEFAULT_VOLATILITY_PERCENT = 0.5;
const DEFAULT_MATURE_CONFIRMATIONS = 100;
const MIN_VOLUME_FACTOR = 10n;
/**
 * Dogecoin Core's `maxtxfee`, 10,000 times its usual rate of 0.01 DOGE: by the rule of other daemons four times that rate would be the most.
 */
const DOGE_PER_TX = 100n * 10n ** 8n;
/** BIP-173 allows 1 to 83 characters; those in use are lower case letters and digits. */
const HRP = /^[a-z0-9]{1,83}$/;
const CASH_PREFIX = /^[a-z0-9]{1,20}$/;

const unsupported = (reason: string): Result<never, UnsupportedCoin> => err({ kind: "UnsupportedCoin", reason });

function ownFormat(entry: CoinEntry): Result<AddressFormat, UnsupportedCoin> {
  const format = entry.addressFormat?.format ?? "standard";
  if (format === "standard" || format === "segwit" || format === "cashaddress") return ok(format);
  return unsupported(`unknown address_format ${format}`);
}

function addressRules(entry: CoinEntry, format: AddressFormat): Result<AddressRules, UnsupportedCoin> {
  const defaults = entry.ticker === "BTC" ? BTC_PREFIXES : DEFAULT_PREFIXES;
  const prefix = (type: number): Uint8Array => (entry.taddr === 0 ? Uint8Array.of(type) : Uint8Array.of(entry.taddr, type));
  const hrp = entry.bech32Hrp;
  const network = entry.addressFormat?.format === "cashaddress" ? entry.addressFormat.network : null;
  if (hrp !== null && !HRP.test(hrp)) return unsupported("bech32_hrp is not a bech32 prefix");
  if (network !== null && !CASH_PREFIX.test(network)) return unsupported("address_format.network is not a cash address prefix");
  if (format === "segwit" && !(entry.segwit && hrp !== null)) return unsupported("segwit addresses need segwit: true and bech32_hrp");
  if (format === "cashaddress" && network === null) return unsupported("cash addresses need address_format.network");
  const p2pkhPrefix = prefix(entry.pubtype ?? defaults.p2pkh);
  const p2shPrefix = prefix(entry.p2shtype ?? defaults.p2sh);
  return ok({ p2pkhPrefix, p2shPrefix, hrp, segwit: entry.segwit, cashPrefix: network, format });
}

function feePolicy(entry: CoinEntry): FeePolicy {
  if (entry.txfee === 0n) return { kind: "dynamic" };
  return { kind: "fixed", rate: { perKb: entry.txfee ?? DEFAULT_FEE_PER_KB, wholeKb: entry.dingoFee && entry.txfee !== null } };
}

/** Base units, rounded up: a minimum must not shrink. */
function ceilUnits(volume: Rational, decimals: number): bigint {
  const cut = toUnits(volume, decimals);
  return lt(fromUnits(cut, decimals), volume) ? cut + 1n : cut;
}

function minTradingVol(entry: CoinEntry, policy: FeePolicy, dust: bigint, decimals: number): bigint {
  const candidates = [
    MIN_VOLUME_FACTOR * dust,
    policy.kind === "fixed" ? MIN_VOLUME_FACTOR * htlcSpendFee(policy.rate) : 0n,
    entry.minTradingVol ? ceilUnits(entry.minTradingVol, decimals) : 0n,
  ];
  return candidates.reduce((most, x) => (x > most ? x : most));
}

/** What an entry tells of fees and least amounts, whether or not the coin's transactions are known. */
export function utxoFees(entry: CoinEntry): Pick<UtxoKind, "decimals" | "dust" | "feePolicy" | "minTradingVol"> {
  const policy = feePolicy(entry);
  const dust = entry.dust ?? DEFAULT_DUST;
  const decimals = entry.decimals ?? UTXO_DECIMALS;
  return { decimals, dust, feePolicy: policy, minTradingVol: minTradingVol(entry, policy, dust, decimals) };
}

/**
 * Reads a coins-file entry as a Bitcoin-like coin.
 * @param format own address format asked for at activation; absent: the entry's
 */
export function utxoKind(entry: CoinEntry, format?: AddressFormat): Result<UtxoKind, UnsupportedCoin> {
  const rules = txRules(entry);
  if (!rules.ok) return rules;
  const wanted = format ? ok(format) : ownFormat(entry);
  if (!wanted.ok) return wanted;
  const address = addressRules(entry, wanted.value);
  if (!address.ok) return address;
  const defaults = entry.ticker === "BTC" ? BTC_PREFIXES : DEFAULT_PREFIXES;
  return ok({
    ...rules.value,
    ticker: entry.ticker,
    ...utxoFees(entry),
    address: address.value,
    wifPrefix: entry.wiftype ?? defaults.wif,
    forceMinRelayFee: entry.forceMinRelayFee,
    feeVolatilityPercent: entry.txfeeVolatilityPercent ?? DEFAULT_VOLATILITY_PERCENT,
    confirmations: entry.requiredConfirmations ?? 1,
    notarization: entry.requiresNotarization,
    matureConfirmations: entry.matureConfirmations ?? DEFAULT_MATURE_CONFIRMATIONS,
    paysInterest: entry.ticker === "KMD",
    relayPolicy: relayPolicy(entry),
    mostPerTx: entry.ticker === "DOGE" ? DOGE_PER_TX : null,
  });
}
