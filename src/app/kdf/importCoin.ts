import type { CoinEntry } from "../../core/coin/coinEntry.ts";
import { type UtxoKind, utxoKind } from "../../core/coin/utxoKind.ts";
import { revealMarginSec, type SafetyRules, slowBlockSec } from "../../core/swap/safety.ts";

/** A coin of this node as a swap of KDF needs it: its rules, and our key on it, 66 hex. */
export type ImportCoin = {
  readonly kind: UtxoKind;
  readonly pubkey: string;
  /** It has no value: `is_testnet` in the coins file. */
  readonly isTest: boolean;
  /** Seconds that must be left before the taker's lock when the secret is shown on its chain, and between two coins without value. */
  readonly revealMarginSec: { readonly always: number; readonly betweenTests: number };
};
/** A coin by its ticker; a text says why nothing of it is taken over. */
export type ImportCoins = (ticker: string) => ImportCoin | string;

/** @param pubkey our key on it, 66 hex @returns or why nothing of it is taken over */
export function importCoinOf(entry: CoinEntry, pubkey: string, rules: SafetyRules): ImportCoin | string {
  const { type } = entry.protocol;
  if (type === "ETH" || type === "ERC20") return `${entry.ticker} is traded here, but of KDF only what is between UTXO coins is taken over`;
  const kind = utxoKind(entry);
  if (!kind.ok) return `${entry.ticker} is no coin this node trades: ${kind.error.reason}`;
  const blockSec = slowBlockSec(rules, entry.avgBlocktime);
  return {
    kind: kind.value,
    pubkey,
    isTest: entry.isTestnet,
    revealMarginSec: {
      always: Math.ceil(revealMarginSec(rules, blockSec)),
      betweenTests: Math.ceil(revealMarginSec({ ...rules, networkGraceSec: 0 }, blockSec)),
    },
  };
}
