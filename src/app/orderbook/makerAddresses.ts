import type { CoinEntry } from "../../core/coin/coinEntry.ts";
import { isEvmProtocol } from "../../core/coin/evmProtocol.ts";
import { utxoKind } from "../../core/coin/utxoKind.ts";
import { isValidPubkey } from "../../core/keys/keyPair.ts";
import { fromHex } from "../../core/util/bytes.ts";
import { dropOldest } from "../../core/util/dropOldest.ts";
import { addressText, pubkeyToAddress } from "../../core/utxo/address.ts";

/** The address a maker's key (66 hex) has on a coin; null where that cannot be told. */
export type AddressOf = (ticker: string, pubkey: string) => string | null;

/** Addresses that are remembered: of as many keys as a book has orders. */
const MAX_KNOWN = 20_000;

type EvmAddresses = typeof import("../../core/evm/address.ts");

/** How an address is worked out. Of a key that is no point of the curve there is none on account chains. */
const WORK = {
  utxo(entry: CoinEntry, pubkey: string): string | null {
    const kind = utxoKind(entry);
    return kind.ok ? addressText(pubkeyToAddress(fromHex(pubkey), kind.value.address), kind.value.address) : null;
  },
  account(evm: EvmAddresses, pubkey: string): string | null {
    const key = fromHex(pubkey);
    return isValidPubkey(key) ? evm.checksumAddress(evm.addressOfPubkey(key)) : null;
  },
};

/**
 * Addresses of makers on coins of the coins file, enabled or not. On account chains they are those of EIP-55, and a key has one on all of
 * them; each takes half a millisecond to work out, and strangers may have a book of thousands of keys: they are remembered.
 */
export class MakerAddresses {
  readonly #entries: ReadonlyMap<string, CoinEntry>;
  readonly #work: typeof WORK;
  readonly #known = new Map<string, string | null>();

  constructor(entries: ReadonlyMap<string, CoinEntry>, work = WORK) {
    this.#entries = entries;
    this.#work = work;
  }

  /** What account chains take is loaded only when one of `tickers` is on such a chain. */
  async on(tickers: Iterable<string>): Promise<AddressOf> {
    const evm = [...tickers].some((t) => isOnAccountChain(this.#entries.get(t))) ? await import("../../core/evm/address.ts") : null;
    return (ticker, pubkey) => {
      const entry = this.#entries.get(ticker);
      if (!entry) return null;
      const isAccount = isOnAccountChain(entry);
      if (isAccount && !evm) throw new Error(`the address of ${ticker} was not asked for`);
      const name = `${isAccount ? "" : ticker} ${pubkey}`;
      const known = this.#known.get(name);
      if (known !== undefined) return known;
      const address = isAccount && evm ? this.#work.account(evm, pubkey) : this.#work.utxo(entry, pubkey);
      this.#known.set(name, address);
      dropOldest(this.#known, MAX_KNOWN);
      return address;
    };
  }
}

const isOnAccountChain = (entry: CoinEntry | undefined): boolean => entry !== undefined && isEvmProtocol(entry.protocol.type);
