import { err, ok, type Result } from "../core/util/result.ts";
import type { AddressRules } from "../core/utxo/address.ts";
import type { SighashScheme } from "../core/utxo/signInput.ts";
import { BITCOIN_FORMAT } from "../core/utxo/txCodec.ts";
import type { TxTemplate } from "../core/utxo/txTemplate.ts";
import {
  BITCOIN_CONSENSUS_FLAGS,
  BITCOIN_POLICY_FLAGS,
  SAPLING_CONSENSUS_FLAGS,
  SAPLING_POLICY_FLAGS,
  SEGWIT_CONSENSUS_FLAGS,
  SEGWIT_POLICY_FLAGS,
} from "./script/flags.ts";

/** Which family of coins a chain imitates. */
export type ChainKind = "legacy" | "segwit" | "kmd";

export type ChainParams = {
  readonly ticker: string;
  readonly kind: ChainKind;
  /** Header of the transactions made here; its format is the one all are read in. */
  readonly template: TxTemplate;
  /** How the faucet signs. */
  readonly scheme: SighashScheme;
  readonly addresses: AddressRules;
  readonly consensusFlags: number;
  readonly policyFlags: number;
  /** BIP-68 is enforced. */
  readonly relativeLocks: boolean;
  /** Smallest fee relayed, base units per 1000 virtual bytes. */
  readonly minRelayFeePerKb: bigint;
  /** An output is dust when spending it at this rate costs more than a third of it (Core's rule, rate in base units per 1000 bytes). */
  readonly dustFeePerKb: bigint;
  /** Mempool replacement by BIP-125. */
  readonly replacement: boolean;
  /** Outputs earn interest by lock time, so no block takes a transaction whose lock time is long past (KMD). */
  readonly paysInterest: boolean;
  /** Newly made coins of a block, base units. */
  readonly subsidy: (height: number) => bigint;
};

export type BadCoin = { readonly kind: "BadCoin"; readonly detail: string };

export const COIN = 100_000_000n;
/** Most base units that may ever be in one place (Bitcoin's sanity limit, kept for every kind). */
export const MAX_MONEY = 21_000_000n * COIN;
export const COINBASE_MATURITY = 100;
/** Regtest halves every 150 blocks (Bitcoin Core, regtest parameters). */
const HALVING_INTERVAL = 150;
/** A KMD-family test chain pays its supply in block 1, as asset chains do, and a little in every later block. */
const KMD_FIRST_BLOCK = 1_000_000n * COIN;
const KMD_BLOCK = 3n * COIN;
/** Komodo's branch id in its Sapling era (swap-protocol reference 10.3 c). */
const KMD_BRANCH_ID = 0x76b809bb;
/** Bytes of a P2PKH output and of the input that spends it, which Core counts for dust. */
const P2PKH_ROUND_TRIP = 34n + 148n;

function regtestSubsidy(height: number): bigint {
  const halvings = Math.floor(height / HALVING_INTERVAL);
  return halvings >= 64 ? 0n : (50n * COIN) >> BigInt(halvings);
}

const kmdSubsidy = (height: number): bigint => (height === 1 ? KMD_FIRST_BLOCK : KMD_BLOCK);

type Fields = { readonly [key: string]: unknown };

/** A whole number 0..max of the entry, the default when absent, or null when it is something else. */
function whole(entry: Fields, key: string, max: number, fallback: number): number | null {
  const value = entry[key] ?? fallback;
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= max ? value : null;
}

function kindOf(entry: Fields): ChainKind {
  if (entry.overwintered === 1) return "kmd";
  return entry.segwit === true ? "segwit" : "legacy";
}

const RULES = {
  legacy: {
    consensusFlags: BITCOIN_CONSENSUS_FLAGS,
    policyFlags: BITCOIN_POLICY_FLAGS,
    relativeLocks: true,
    minRelayFeePerKb: 1_000n,
    dustFeePerKb: 3_000n,
    replacement: true,
    subsidy: regtestSubsidy,
  },
  segwit: {
    consensusFlags: SEGWIT_CONSENSUS_FLAGS,
    policyFlags: SEGWIT_POLICY_FLAGS,
    relativeLocks: true,
    minRelayFeePerKb: 1_000n,
    dustFeePerKb: 3_000n,
    replacement: true,
    subsidy: regtestSubsidy,
  },
  kmd: {
    consensusFlags: SAPLING_CONSENSUS_FLAGS,
    policyFlags: SAPLING_POLICY_FLAGS,
    relativeLocks: false,
    minRelayFeePerKb: 100n,
    dustFeePerKb: 300n,
    replacement: false,
    subsidy: kmdSubsidy,
  },
} as const;

/**
 * Parameters of the embedded chain that imitates one entry of a coins file: transaction kind, address bytes, dust.
 * Consensus is regtest's for legacy and segwit coins; KMD-family coins have it with Sapling v4 transactions and another subsidy.
 * Fields read: `coin`, `pubtype` (60), `p2shtype` (85), `taddr` (0), `segwit`, `bech32_hrp`, `overwintered`,
 * `consensus_branch_id`, `dust`, `fork_id`, `isPoS`; limits beside each.
 *
 * @param entry one element of a coins file, from outside
 */
export function coinEntryToChainParams(entry: unknown): Result<ChainParams, BadCoin> {
  const bad = (detail: string): Result<never, BadCoin> => err({ kind: "BadCoin", detail });
  if (typeof entry !== "object" || entry === null) return bad("the coins-file entry is not an object");
  const fields = entry as Fields;
  const { coin } = fields;
  if (typeof coin !== "string" || coin.length === 0 || coin.length > 64) return bad("`coin` must be a text of 1 to 64 characters");
  const isTrue = (key: string): boolean => fields[key] === 1 || fields[key] === true;
  if (isTrue("isPoS")) return bad(`${coin}: proof-of-stake transactions are not imitated`);
  if (fields.fork_id !== undefined) return bad(`${coin}: fork-id signatures are not imitated`);
  const pubtype = whole(fields, "pubtype", 255, 60);
  const p2shtype = whole(fields, "p2shtype", 255, 85);
  const taddr = whole(fields, "taddr", 255, 0);
  const dust = whole(fields, "dust", 100_000_000, 0);
  if (pubtype === null || p2shtype === null || taddr === null) return bad(`${coin}: pubtype, p2shtype and taddr must be 0 to 255`);
  if (dust === null) return bad(`${coin}: dust must be 0 to 100000000`);
  const hrp = fields.bech32_hrp ?? null;
  if (hrp !== null && (typeof hrp !== "string" || !/^[a-z0-9]{1,20}$/.test(hrp)))
    return bad(`${coin}: bech32_hrp must be 1 to 20 of a-z, 0-9`);
  const branchId = fields.consensus_branch_id === undefined ? KMD_BRANCH_ID : Number(fields.consensus_branch_id);
  if (!Number.isInteger(branchId) || branchId < 0 || branchId > 0xffffffff)
    return bad(`${coin}: consensus_branch_id is not a 32-bit number`);
  const kind = kindOf(fields);
  const rules = RULES[kind];
  const prefix = (byte: number): Uint8Array => (taddr === 0 ? Uint8Array.of(byte) : Uint8Array.of(taddr, byte));
  return ok({
    ticker: coin,
    kind,
    ...rules,
    paysInterest: kind === "kmd" && coin === "KMD",
    template: kind === "kmd" ? { version: 4, format: { kind: "sapling" } } : { version: 1, format: BITCOIN_FORMAT },
    scheme: kind === "kmd" ? { kind: "sapling", branchId } : { kind: "legacy" },
    addresses: {
      p2pkhPrefix: prefix(pubtype),
      p2shPrefix: prefix(p2shtype),
      hrp: kind === "segwit" ? hrp : null,
      segwit: kind === "segwit",
      cashPrefix: null,
      format: "standard",
    },
    // Litecoin's `dust` 5460 gives its real rate of 30000.
    dustFeePerKb: dust > 0 ? (BigInt(dust) * 1_000n) / P2PKH_ROUND_TRIP : rules.dustFeePerKb,
  });
}
