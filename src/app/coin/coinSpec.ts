import type { UtxoKind } from "../../core/coin/utxoKind.ts";
import type { HdAddressId } from "../../core/keys/hd.ts";
import type { KeyPair } from "../../core/keys/keyPair.ts";
import type { AddressFormat } from "../../core/message/protocolInfo.ts";
import type { UtxoLedger } from "./utxoLedger.ts";

/** What a coin is, fixed at activation. */
export type CoinSpec = {
  readonly kind: UtxoKind;
  readonly orderbookTicker: string | null;
  readonly walletOnly: boolean;
  readonly signMessagePrefix: string | null;
  /** Blocks for which a dynamic fee is estimated. */
  readonly feeTargetBlocks: number;
  /** How far the rate may rise between a promise of funds and the transaction, as a multiple. */
  readonly feeCeilingFactor: number;
  readonly confirmations: number;
  readonly notarization: boolean;
  /** The history of transactions was asked for at activation. */
  readonly txHistory: boolean;
};

export type CoinWallet = {
  readonly key: KeyPair;
  readonly address: string;
  /** Own output scripts of the key; the first receives change and claims. */
  readonly scripts: readonly Uint8Array[];
  /** Of other tickers of the chain that have an own script of these: they spend the same outputs. Absent: there can be none. */
  readonly beside?: () => readonly UtxoLedger[];
  /** HD wallets: the coin's path, and the key of each of its addresses. */
  readonly hd?: { readonly derivationPath: string; readonly keyAt: (id: HdAddressId) => KeyPair | null };
};

/** The own address format as order messages carry it. */
export function ownAddressFormat(kind: UtxoKind): AddressFormat {
  const { format, cashPrefix, p2pkhPrefix, p2shPrefix } = kind.address;
  if (format !== "cashaddress" || cashPrefix === null) return { format: format === "segwit" ? "segwit" : "standard" };
  return { format, network: cashPrefix, pubPrefix: p2pkhPrefix.at(-1) ?? 0, p2shPrefix: p2shPrefix.at(-1) ?? 0 };
}
