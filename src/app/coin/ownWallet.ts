import type { CoinEntry } from "../../core/coin/coinEntry.ts";
import { type UtxoKind, utxoKind } from "../../core/coin/utxoKind.ts";
import type { KeyPair } from "../../core/keys/keyPair.ts";
import { equalBytes } from "../../core/util/bytes.ts";
import type { Result } from "../../core/util/result.ts";
import { addressScript, addressText, pubkeyToAddress } from "../../core/utxo/address.ts";
import { hash160 } from "../../core/utxo/hash.ts";
import { p2pkhScript, p2pkScript, p2wpkhScript } from "../../core/utxo/outputScript.ts";
import type { CoinWallet } from "./coinSpec.ts";
import type { ActiveCoin } from "./enabling.ts";
import type { UtxoLedger } from "./utxoLedger.ts";

/** What the coins file and the keys of a node say of the tickers beside one. */
export type OtherTickers = {
  readonly entries: ReadonlyMap<string, CoinEntry>;
  readonly keyOf: (entry: CoinEntry) => Result<KeyPair, unknown>;
};

/** The name that all tickers of a chain share: `X` and `X-segwit` are one. */
const chainName = ({ ticker, orderbookTicker }: Pick<CoinEntry, "ticker" | "orderbookTicker">): string => orderbookTicker ?? ticker;

/**
 * Every plain form that pays to the key is ours, but for those that another ticker of the chain has as its own: two ledgers would promise
 * and spend the same outputs. The coin's own form comes first and receives change.
 */
export function ownWallet(
  entry: CoinEntry,
  kind: UtxoKind,
  key: KeyPair,
  others: OtherTickers,
): Pick<CoinWallet, "key" | "address" | "scripts"> {
  const own = pubkeyToAddress(key.publicKey, kind.address);
  const hash = hash160(key.publicKey);
  const taken = kindsOfOthers(entry, key, others).map(({ address }) => address.format === "segwit");
  const isWitness = kind.address.format === "segwit";
  // Only the other kind is another's: two tickers of one kind would leave bare keys to nobody.
  const plain = isWitness && taken.includes(false) ? [] : [p2pkhScript(hash), p2pkScript(key.publicKey)];
  const witness = (!isWitness && taken.includes(true)) || !kind.address.segwit ? [] : [p2wpkhScript(hash)];
  const first = addressScript(own);
  return {
    key,
    address: addressText(own, kind.address),
    scripts: [first, ...[...plain, ...witness].filter((script) => !equalBytes(script, first))],
  };
}

/** The ledgers of other tickers of the chain that spend outputs of this wallet: only where a request has given one the form of another. */
export function ledgersBeside(
  { ticker, orderbookTicker }: CoinEntry,
  { scripts }: Pick<CoinWallet, "scripts">,
  coins: Iterable<ActiveCoin>,
): readonly UtxoLedger[] {
  const chain = chainName({ ticker, orderbookTicker });
  const isShared = (script: Uint8Array): boolean => scripts.some((own) => equalBytes(own, script));
  return [...coins].flatMap((coin) => {
    if (coin.family !== "utxo" || coin.ticker === ticker || chainName(coin) !== chain) return [];
    return coin.wallet.scripts.some(isShared) ? [coin.ledger] : [];
  });
}

function kindsOfOthers(entry: CoinEntry, key: KeyPair, { entries, keyOf }: OtherTickers): readonly UtxoKind[] {
  return [...entries.values()].flatMap((other) => {
    if (other.ticker === entry.ticker || chainName(other) !== chainName(entry)) return [];
    const [kind, theirs] = [utxoKind(other), keyOf(other)];
    return kind.ok && theirs.ok && equalBytes(theirs.value.publicKey, key.publicKey) ? [kind.value] : [];
  });
}
