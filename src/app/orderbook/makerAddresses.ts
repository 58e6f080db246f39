import type { CoinEntry } from "../../core/coin/coinEntry.ts";
import { isEvmProtocol } from "../../core/coin/evmProtocol.ts";
import { utxoKind } from "../../core/coin/utxoKind.ts";
import { isValidPubkey } from "../../core/keys/keyPair.ts";
import { fromHex } from "../../core/util/bytes.ts";
import { addressText, pubkeyToAddress } from "../../core/utxo/address.ts";

/** The address a maker's key (66 hex) has on a coin; null where that cannot be told. */
export type AddressOf = (ticker: string, pubkey: string) => string | null;

/**
 * Addresses of makers on coins of the coins file, enabled or not. On account chains they are those of EIP-55, and what takes them is
 * loaded only when one of `tickers` is on such a chain. Of a key that is no point of the curve there is none.
 */
export async function makerAddresses(entries: ReadonlyMap<string, CoinEntry>, tickers: Iterable<string>): Promise<AddressOf> {
  const isAccount = (entry: CoinEntry | undefined): boolean => entry !== undefined && isEvmProtocol(entry.protocol.type);
  const evm = [...tickers].some((t) => isAccount(entries.get(t))) ? await import("../../core/evm/address.ts") : null;
  // A key has one address on all account chains, and a book has far fewer keys than orders.
  const known = new Map<string, string | null>();
  return (ticker, pubkey) => {
    const entry = entries.get(ticker);
    if (!entry) return null;
    if (isAccount(entry)) {
      if (!evm) throw new Error(`the address of ${ticker} was not asked for`);
      const found = known.get(pubkey);
      if (found !== undefined) return found;
      const key = fromHex(pubkey);
      const address = isValidPubkey(key) ? evm.checksumAddress(evm.addressOfPubkey(key)) : null;
      known.set(pubkey, address);
      return address;
    }
    const kind = utxoKind(entry);
    return kind.ok ? addressText(pubkeyToAddress(fromHex(pubkey), kind.value.address), kind.value.address) : null;
  };
}
