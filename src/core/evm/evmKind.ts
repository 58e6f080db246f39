import type { CoinEntry } from "../coin/coinEntry.ts";
import { FieldReader } from "../coin/fieldReader.ts";
import { err, ok, type Result } from "../util/result.ts";
import { type AddressFault, checksumAddress, type EvmAddress, parseAnyCaseAddress, ZERO_ADDRESS } from "./address.ts";
import { type GasLimits, parseGasLimits } from "./gasLimits.ts";
import { MAX_CHAIN_ID } from "./parseTx.ts";

/** How a coin bids for gas (rpc.md 2.6 `swap_gas_fee_policy`): one price, or EIP-1559 with a low, medium or high priority. */
export type GasPolicy = "legacy" | "low" | "medium" | "high";

/** What an entry says about gas; null: nothing, so a token takes its platform coin's. */
export type GasRules = {
  readonly policy: GasPolicy | null;
  /** Greatest transaction type (EIP-2718) the chain takes. */
  readonly maxTxType: number | null;
  /** Hundredths an estimate of gas units is raised to: 130 for a factor of 1.3. */
  readonly estimatePercent: bigint | null;
  readonly limits: GasLimits;
};

/** The platform coin of an account chain, or a token on one. */
export type EvmAsset =
  | { readonly kind: "native"; readonly chainId: bigint }
  | { readonly kind: "token"; readonly platform: string; readonly contract: EvmAddress };

/** Everything this node needs to know about an ETH-like coin or an ERC-20 token (rpc.md 2.6). */
export type EvmKind = {
  readonly ticker: string;
  readonly asset: EvmAsset;
  /** Null: a token whose entry has none, so its contract is asked. */
  readonly decimals: number | null;
  readonly gas: GasRules;
  readonly signMessagePrefix: string | null;
  readonly confirmations: number;
  readonly notarization: boolean;
};

export type BadEvmEntry = { readonly kind: "BadEvmEntry"; readonly reason: string };

const NATIVE_DECIMALS = 18;
const POLICIES: readonly GasPolicy[] = ["legacy", "low", "medium", "high"];
/** Wider factors are mistakes. */
const MAX_ESTIMATE_MULT = 10;

const bad = (reason: string): Result<never, BadEvmEntry> => err({ kind: "BadEvmEntry", reason });

/**
 * The address of a contract somebody names: lower-case or upper-case digits, or the mixed case of EIP-55, which then must be
 * right. Zeros are refused: money sent there is nobody's. The reason is what follows the field's name.
 */
export function parseContractAddress(text: string): Result<EvmAddress, { readonly kind: "BadContract"; readonly reason: string }> {
  const no = (reason: string): Result<never, { readonly kind: "BadContract"; readonly reason: string }> =>
    err({ kind: "BadContract", reason });
  const parsed = parseAnyCaseAddress(text);
  if (!parsed.ok) return no(faultReason(parsed.error));
  if (parsed.value === ZERO_ADDRESS) return no("can't be zero address");
  const digits = text.slice(2);
  const mixed = digits !== digits.toLowerCase() && digits !== digits.toUpperCase();
  const expected = checksumAddress(parsed.value);
  return mixed && text !== expected ? no(`has a wrong checksum: ${text}, by EIP-55 it would be ${expected}`) : parsed;
}

function faultReason(fault: AddressFault): string {
  if (fault.kind === "NoPrefix") return "must be prefixed with 0x";
  return fault.kind === "BadLength" ? `must have 40 hex digits after 0x, not ${fault.length}` : "must be 0x and 40 hex digits";
}

function assetOf(type: string, data: Readonly<Record<string, unknown>>): Result<EvmAsset, BadEvmEntry> {
  const r = new FieldReader(data);
  if (type === "ETH") {
    const chainId = r.uint("chain_id");
    if (chainId === null || chainId === 0 || BigInt(chainId) > MAX_CHAIN_ID) return bad("protocol_data.chain_id is missing or no chain id");
    return ok({ kind: "native", chainId: BigInt(chainId) });
  }
  const [platform, address] = [r.text("platform"), r.text("contract_address")];
  if (platform === null || address === null) return bad("protocol_data needs platform and contract_address");
  const contract = parseContractAddress(address);
  return contract.ok ? ok({ kind: "token", platform, contract: contract.value }) : bad(`contract_address ${contract.error.reason}`);
}

function gasRules(raw: CoinEntry["raw"]): Result<GasRules, BadEvmEntry> {
  const r = new FieldReader(raw);
  const limits = parseGasLimits(raw.gas_limit);
  if (limits === null) return bad("gas_limit names an amount of gas that cannot be");
  const name = r.text("swap_gas_fee_policy");
  const policy = name === null ? null : (POLICIES.find((p) => p === name.toLowerCase()) ?? null);
  if (name !== null && policy === null) return bad("swap_gas_fee_policy must be Legacy, Low, Medium or High");
  const mult = r.quantity("estimate_gas_mult");
  if (mult !== null && (mult < 1 || mult > MAX_ESTIMATE_MULT)) return bad(`estimate_gas_mult must be from 1 to ${MAX_ESTIMATE_MULT}`);
  const maxTxType = r.uint("max_eth_tx_type", 127);
  if (r.problem) return bad(`${r.problem.field} ${r.problem.detail}`);
  return ok({ policy, maxTxType, estimatePercent: mult === null ? null : BigInt(Math.round(mult * 100)), limits });
}

/** Reads a coins-file entry of protocol `ETH` or `ERC20`. The reason of a refusal is a part of a sentence. */
export function evmKind(entry: CoinEntry): Result<EvmKind, BadEvmEntry> {
  const { raw, protocol } = entry;
  const fields = new FieldReader(raw).object("protocol") ?? {};
  const data = new FieldReader(fields).object("protocol_data") ?? {};
  const asset = assetOf(protocol.type, data);
  if (!asset.ok) return asset;
  const gas = gasRules(raw);
  if (!gas.ok) return gas;
  return ok({
    ticker: entry.ticker,
    asset: asset.value,
    decimals: asset.value.kind === "native" ? (entry.decimals ?? NATIVE_DECIMALS) : entry.decimals,
    gas: gas.value,
    signMessagePrefix: entry.signMessagePrefix,
    confirmations: entry.requiredConfirmations ?? 1,
    notarization: entry.requiresNotarization,
  });
}
