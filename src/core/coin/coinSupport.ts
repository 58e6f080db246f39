import type { CoinEntry } from "./coinEntry.ts";
import { type UtxoKind, utxoKind } from "./utxoKind.ts";

/** One row of the table of coins. Texts for people. */
export type CoinSupport = {
  /** Own address: P2PKH, P2WPKH or cash address; empty for coins this node does not touch. */
  readonly address: string;
  readonly txFormat: string;
  readonly sighash: string;
  /** What is done about a transaction that pays too little: `RelayPolicy`. */
  readonly relayPolicy: string;
  readonly tradeable: boolean;
  /** Why not; empty when tradeable. */
  readonly reason: string;
};

function txFormatText({ template }: UtxoKind): string {
  const { format, version } = template;
  if (format.kind === "sapling") return "Sapling v4";
  return `Bitcoin v${version}${format.mweb ? ", MWEB" : ""}${format.specialTx ? ", DIP-2" : ""}`;
}

const SIGHASH_TEXT = { legacy: "legacy", forkid: "BIP-143 with fork id", sapling: "ZIP-243" } as const;
const ADDRESS_TEXT = { standard: "P2PKH", segwit: "P2WPKH", cashaddress: "cash address" } as const;

/** What this node can do with a coin of the coins file. */
export function coinSupport(entry: CoinEntry): CoinSupport {
  const kind = utxoKind(entry);
  if (!kind.ok) return { address: "", txFormat: "", sighash: "", relayPolicy: "", tradeable: false, reason: kind.error.reason };
  const { value } = kind;
  return {
    address: ADDRESS_TEXT[value.address.format],
    txFormat: txFormatText(value),
    sighash: value.address.format === "segwit" ? "BIP-143; HTLC legacy" : SIGHASH_TEXT[value.scheme.kind],
    relayPolicy: value.relayPolicy,
    tradeable: !entry.walletOnly,
    reason: entry.walletOnly ? "wallet_only in the coins file" : "",
  };
}
