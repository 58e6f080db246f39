import { isDerivationPath } from "../keys/hd.ts";
import { isPositive, parseDecimal, type Rational } from "../money/rational.ts";
import { ok, type Result } from "../util/result.ts";
import { type BadField, badEntry, FieldReader, isRecord } from "./fieldReader.ts";
import { RELAY_POLICIES, type RelayPolicy } from "./relayPolicy.ts";

/** Longest ticker read. The longest in use has 17 characters. */
const MAX_TICKER = 64;
/** Most keys an entry may have; those in use have up to 35. */
const MAX_KEYS = 200;
/** Base58 version bytes are one byte each. */
const MAX_PREFIX = 255;
/** KDF reads `decimals` as a byte; more than 30 places is no coin. */
const MAX_DECIMALS = 30;

/**
 * One entry of KDF's coins file, read for what this node needs (rpc.md 2.6). Null: the field is absent. Amounts in base
 * units. Everything else stays in `raw`.
 */
export type CoinEntry = {
  readonly ticker: string;
  /** Name for people: `fname`, else `name`, else the ticker. */
  readonly name: string;
  /** `type` is empty where the entry has no `protocol`: such a coin cannot be enabled. */
  readonly protocol: { readonly type: string; readonly chainVariant: string | null };
  /** KDF enables only coins whose entry has any `mm2`, unless the request says so. */
  readonly mm2: boolean;
  readonly walletOnly: boolean;
  readonly orderbookTicker: string | null;
  readonly signMessagePrefix: string | null;
  readonly derivationPath: string | null;
  readonly decimals: number | null;
  readonly pubtype: number | null;
  readonly p2shtype: number | null;
  readonly wiftype: number | null;
  readonly taddr: number;
  readonly segwit: boolean;
  readonly bech32Hrp: string | null;
  readonly addressFormat: { readonly format: string; readonly network: string | null } | null;
  readonly txfee: bigint | null;
  readonly dingoFee: boolean;
  readonly dust: bigint | null;
  readonly forceMinRelayFee: boolean;
  readonly txfeeVolatilityPercent: number | null;
  readonly txversion: number | null;
  readonly overwintered: boolean;
  readonly versionGroupId: number | null;
  readonly consensusBranchId: number | null;
  readonly forkId: number | null;
  readonly signatureVersion: string | null;
  readonly isPos: boolean;
  readonly isPosv: boolean;
  readonly requiredConfirmations: number | null;
  readonly requiresNotarization: boolean;
  readonly matureConfirmations: number | null;
  /** Seconds. */
  readonly avgBlocktime: number | null;
  readonly isTestnet: boolean;
  /** Ours, not KDF's: raises the least volume of a trade, in whole coins. */
  readonly minTradingVol: Rational | null;
  /** Ours: what the network does for transactions that pay too little; null: by the code base (`relayPolicy`). */
  readonly relayPolicy: RelayPolicy | null;
  /** The whole object as read. */
  readonly raw: Readonly<Record<string, unknown>>;
};

export type BadCoinEntry = { readonly kind: "BadCoinEntry"; readonly coin: string | null } & BadField;

function readProtocol(r: FieldReader): CoinEntry["protocol"] {
  const fields = r.object("protocol");
  if (!fields) return { type: "", chainVariant: null };
  const inner = new FieldReader(fields);
  const type = inner.text("type") ?? "";
  const chainVariant = inner.text("chain_variant");
  if (type === "") inner.fail("type", "is missing");
  if (inner.problem) r.fail(`protocol.${inner.problem.field}`, inner.problem.detail);
  return { type, chainVariant };
}

function readAddressFormat(r: FieldReader): CoinEntry["addressFormat"] {
  const fields = r.object("address_format");
  if (!fields) return null;
  const inner = new FieldReader(fields);
  const format = inner.text("format") ?? "";
  const network = inner.text("network");
  if (inner.problem) r.fail(`address_format.${inner.problem.field}`, inner.problem.detail);
  return { format, network };
}

function readMinTradingVol(r: FieldReader): Rational | null {
  const text = r.decimalText("min_trading_vol");
  if (text === null) return null;
  const parsed = parseDecimal(text);
  return parsed.ok && isPositive(parsed.value) ? parsed.value : r.fail("min_trading_vol", "must be a decimal above 0");
}

function readRelayPolicy(r: FieldReader): RelayPolicy | null {
  const text = r.text("relay_policy");
  if (text === null) return null;
  return RELAY_POLICIES.find((p) => p === text) ?? r.fail("relay_policy", `must be one of ${RELAY_POLICIES.join(", ")}`);
}

function readDerivationPath(r: FieldReader): string | null {
  const path = r.text("derivation_path");
  return path === null || isDerivationPath(path) ? path : r.fail("derivation_path", "is not a BIP-32 path such as m/44'/141'");
}

function units(n: number | null): bigint | null {
  return n === null ? null : BigInt(n);
}

function readTicker(r: FieldReader): string {
  const ticker = r.text("coin") ?? "";
  if (ticker === "" || ticker.length > MAX_TICKER) r.fail("coin", `must have 1 to ${MAX_TICKER} characters`);
  return ticker;
}

/** Reads one element of the coins file. Unknown keys are kept in `raw`; a known key of a wrong type or range is refused. */
export function parseCoinEntry(value: unknown): Result<CoinEntry, BadCoinEntry> {
  if (!isRecord(value)) return badEntry("BadCoinEntry", null, { field: "", detail: "must be an object" });
  const r = new FieldReader(value);
  if (Object.keys(value).length > MAX_KEYS) r.fail("", `more than ${MAX_KEYS} keys`);
  const ticker = readTicker(r);
  const entry: CoinEntry = {
    ticker,
    name: r.text("fname") ?? r.text("name") ?? ticker,
    protocol: readProtocol(r),
    mm2: (value.mm2 ?? null) !== null,
    walletOnly: r.flag("wallet_only"),
    orderbookTicker: r.text("orderbook_ticker"),
    signMessagePrefix: r.text("sign_message_prefix"),
    derivationPath: readDerivationPath(r),
    decimals: r.uint("decimals", MAX_DECIMALS),
    pubtype: r.uint("pubtype", MAX_PREFIX),
    p2shtype: r.uint("p2shtype", MAX_PREFIX),
    wiftype: r.uint("wiftype", MAX_PREFIX),
    taddr: r.uint("taddr", MAX_PREFIX) ?? 0,
    segwit: r.flag("segwit"),
    bech32Hrp: r.text("bech32_hrp"),
    addressFormat: readAddressFormat(r),
    txfee: units(r.uint("txfee")),
    dingoFee: r.flag("dingo_fee"),
    dust: units(r.uint("dust")),
    forceMinRelayFee: r.flag("force_min_relay_fee"),
    txfeeVolatilityPercent: r.quantity("txfee_volatility_percent"),
    txversion: r.uint("txversion", 0x7fffffff),
    overwintered: r.flag("overwintered"),
    versionGroupId: r.word("version_group_id"),
    consensusBranchId: r.word("consensus_branch_id"),
    forkId: r.word("fork_id"),
    signatureVersion: r.text("signature_version"),
    isPos: r.flag("isPoS"),
    isPosv: r.flag("isPoSV"),
    requiredConfirmations: r.uint("required_confirmations", 1_000_000),
    requiresNotarization: r.flag("requires_notarization"),
    matureConfirmations: r.uint("mature_confirmations", 10_000_000),
    avgBlocktime: r.quantity("avg_blocktime"),
    isTestnet: r.flag("is_testnet"),
    minTradingVol: readMinTradingVol(r),
    relayPolicy: readRelayPolicy(r),
    raw: value,
  };
  return r.problem ? badEntry("BadCoinEntry", ticker === "" ? null : ticker, r.problem) : ok(entry);
}
