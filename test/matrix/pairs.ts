import { simAddress } from "../../sim/world/evm/simEvmChain.ts";
import { checksumAddress, type EvmAddress } from "../../src/core/evm/address.ts";
import type { Pair } from "./cell.ts";

/** The coin the maker gives, and the one the taker gives. */
export type Ticker = "AAA" | "BBB";
export const TICKERS: readonly Ticker[] = ["AAA", "BBB"];
/** Pays the fees of tokens where the platform coin is no part of the swap. */
export const GAS = "GAS";

export type Family = "UTXO" | "ETH" | "TOKEN";
export const TOKEN_AT: EvmAddress = simAddress("a plain token");
export const TOKEN_DECIMALS = 6;
export const CHAIN_ID = 7;

export const familyOf = (pair: Pair, ticker: Ticker): Family => pair.split("/")[ticker === "AAA" ? 0 : 1] as Family;
export const isOfScripts = (pair: Pair): boolean => pair === "UTXO/UTXO";

/** The coin that pays for gas; null: both coins are of scripts. */
export function platformOf(pair: Pair): string | null {
  if (isOfScripts(pair)) return null;
  return TICKERS.find((ticker) => familyOf(pair, ticker) === "ETH") ?? GAS;
}

/** What a node enables. */
export const coinsOf = (pair: Pair): readonly string[] => (platformOf(pair) === GAS ? [GAS, ...TICKERS] : TICKERS);

/** The entry of the coins file. */
export function coinEntry(pair: Pair, coin: string, common: { readonly confirmations: number; readonly blockSec: number }) {
  const both = { coin, mm2: 1, is_testnet: true, required_confirmations: common.confirmations, avg_blocktime: common.blockSec };
  const family = coin === GAS ? "ETH" : familyOf(pair, coin as Ticker);
  if (family === "UTXO")
    return {
      ...both,
      pubtype: 30,
      p2shtype: 22,
      segwit: true,
      relay_policy: "replace",
      bech32_hrp: coin.toLowerCase(),
      txfee: 0,
      protocol: { type: "UTXO" },
    };
  const account = { ...both, max_eth_tx_type: 2, swap_gas_fee_policy: "Medium", derivation_path: "m/44'/60'" };
  return family === "ETH"
    ? { ...account, decimals: 18, protocol: { type: "ETH", protocol_data: { chain_id: CHAIN_ID } } }
    : {
        ...account,
        decimals: TOKEN_DECIMALS,
        protocol: { type: "ERC20", protocol_data: { platform: platformOf(pair), contract_address: checksumAddress(TOKEN_AT) } },
      };
}
