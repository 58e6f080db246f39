import { err, ok, type Result } from "../util/result.ts";
import type { SighashScheme } from "../utxo/signInput.ts";
import type { TxFormat } from "../utxo/txCodec.ts";
import { SAPLING_GROUP_ID } from "../utxo/txCodec.ts";
import type { TxTemplate } from "../utxo/txTemplate.ts";
import type { CoinEntry } from "./coinEntry.ts";
import { peculiarity } from "./coinPeculiarities.ts";

/** Why this node does not touch a coin: one sentence, no full stop. */
export type UnsupportedCoin = { readonly kind: "UnsupportedCoin"; readonly reason: string };

export type TxRules = { readonly template: TxTemplate; readonly scheme: SighashScheme };

/** Consensus branch id of Zcash's Sapling upgrade, at which the Komodo family has stayed. */
const SAPLING_BRANCH_ID = 0x76b809bb;
/** `fork_id` of the Bitcoin Cash family: the hash-type flag, fork number 0. */
const FORK_ID_FLAG = 0x40;
/** Block-header variants whose transactions are Bitcoin's. `chain_variant` itself only tells how headers look. */
const PLAIN_VARIANTS: ReadonlySet<string> = new Set(["BTC", "RVN", "RICK", "MORTY"]);

const hex32 = (n: number): string => `0x${n.toString(16).padStart(8, "0")}`;
const refuse = (reason: string): Result<never, UnsupportedCoin> => err({ kind: "UnsupportedCoin", reason });

function chainReason(entry: CoinEntry): string | null {
  const { type, chainVariant } = entry.protocol;
  if (type === "BCH") return "protocol BCH could burn SLP tokens; use an entry with protocol UTXO and fork_id 0x40";
  if (type !== "UTXO") return `protocol ${type} is not supported`;
  const known = peculiarity(entry.ticker);
  if (known?.kind === "refused") return known.reason;
  if (entry.isPos) return "proof-of-stake transactions with a time field: no signed transaction to check the format against";
  if (entry.isPosv) return "proof-of-stake-velocity transactions: no signed transaction to check the format against";
  if (chainVariant === "QTUM") return "derived from Qtum: stake and contract transactions are not built";
  if (chainVariant === "PIVX") return "derived from PIVX: its blocks hold version-3 shielded transactions";
  if (chainVariant !== null && !PLAIN_VARIANTS.has(chainVariant)) return `unknown chain_variant ${chainVariant}`;
  return null;
}

/** Zcash's version 4 as the Komodo family uses it. */
function saplingRules(entry: CoinEntry): Result<TxRules, UnsupportedCoin> {
  const branchId = entry.consensusBranchId ?? SAPLING_BRANCH_ID;
  if (entry.txversion !== 4) return refuse("overwintered, but transactions are not version 4");
  if ((entry.versionGroupId ?? SAPLING_GROUP_ID) !== SAPLING_GROUP_ID) return refuse("unknown version_group_id");
  if (entry.segwit || entry.forkId) return refuse("overwintered together with segwit or fork_id");
  if (branchId !== SAPLING_BRANCH_ID) {
    return refuse(`consensus branch id ${hex32(branchId)}: no signed transaction to check the signature hash against`);
  }
  return ok({ template: { version: 4, format: { kind: "sapling" } }, scheme: { kind: "sapling", branchId } });
}

function bitcoinFormat(ticker: string): TxFormat {
  const known = peculiarity(ticker);
  if (known?.kind === "specialTx") return { kind: "bitcoin", specialTx: known.of };
  return known?.kind === "mweb" ? { kind: "bitcoin", mweb: true } : { kind: "bitcoin" };
}

function bitcoinRules(entry: CoinEntry): Result<TxRules, UnsupportedCoin> {
  const version = entry.txversion ?? 1;
  if (version !== 1 && version !== 2) return refuse(`transaction version ${version} is not Bitcoin's`);
  const template = { version, format: bitcoinFormat(entry.ticker) };
  const { signatureVersion } = entry;
  const forkId = entry.forkId ?? 0;
  if (forkId === 0) {
    const plain = signatureVersion === null || signatureVersion === "base";
    return plain ? ok({ template, scheme: { kind: "legacy" } }) : refuse(`signature_version ${signatureVersion} is not supported`);
  }
  if (forkId !== FORK_ID_FLAG) return refuse(`fork_id ${hex32(forkId)} is not supported`);
  if (signatureVersion === "base") {
    return refuse("the original signature hash with a fork id: no signed transaction to check it against");
  }
  if (signatureVersion !== null && signatureVersion !== "fork_id") return refuse(`signature_version ${signatureVersion} is not supported`);
  return entry.segwit ? refuse("fork_id together with segwit") : ok({ template, scheme: { kind: "forkid", forkNumber: 0 } });
}

/**
 * How a coin's transactions are written and signed. Only formats that an independent vector proves are accepted; a wrong
 * guess could lock a counterparty's payment that this node then cannot claim.
 */
export function txRules(entry: CoinEntry): Result<TxRules, UnsupportedCoin> {
  const reason = chainReason(entry);
  if (reason !== null) return refuse(reason);
  return entry.overwintered ? saplingRules(entry) : bitcoinRules(entry);
}
