import { type CoinEntry, parseCoinEntry } from "../core/coin/coinEntry.ts";
import { err, ok, type Result } from "../core/util/result.ts";
import { unknownKeyText } from "./nearestName.ts";

/** Largest coins file read, bytes. KDF's own is 0.4 MB. */
export const MAX_COINS_BYTES = 32 * 1024 * 1024;
/** Entries in one file. */
const MAX_COINS = 20_000;
/** Warnings about one file; the rest is counted. */
const MAX_WARNINGS = 20;

/** Keys of an entry that KDF or we read, and those of the public coins file that only inform (reference rpc.md 2.6). */
const KNOWN_KEYS: readonly string[] = (
  "coin name fname asset protocol mm2 wallet_only orderbook_ticker alias_ticker sign_message_prefix rpcport txversion overwintered " +
  "isPoS isPoSV segwit bech32_hrp address_format pubtype p2shtype wiftype taddr txfee dingo_fee swap_gas_fee_policy gas_price_adjust " +
  "estimate_gas_mult max_eth_tx_type gas_limit gas_limit_v2 dust decimals required_confirmations requires_notarization " +
  "mature_confirmations txfee_volatility_percent force_min_relay_fee derivation_path avg_blocktime chain_id links trezor_coin " +
  "is_privacy_coin is_testnet fork_id confpath signature_version version_group_id consensus_branch_id estimate_fee_mode " +
  "estimate_fee_blocks delisted min_trading_vol relay_policy hd_wallet magic time_lock_conf"
).split(" ");

/** Entries by ticker, in the file's order. `warnings` are sentences for people. */
export type CoinsFile = { readonly coins: ReadonlyMap<string, CoinEntry>; readonly warnings: readonly string[] };

/**
 * Reads an array of coin entries. An entry that cannot be read, or whose ticker came before, is left out with a
 * warning: one bad coin must not keep the node from starting.
 *
 * @param where the file's name, for the texts
 */
export function parseCoins(list: unknown, where: string): Result<CoinsFile, string> {
  if (!Array.isArray(list)) return err(`${where}: expected an array of coin entries`);
  if (list.length > MAX_COINS) return err(`${where}: ${list.length} coins, at most ${MAX_COINS} are read`);
  const byTicker = new Map<string, CoinEntry>();
  const warnings: string[] = [];
  let more = 0;
  const warn = (text: string): void => {
    if (warnings.length < MAX_WARNINGS) warnings.push(text);
    else more++;
  };
  const unknown = new Map<string, string>();
  for (const [i, value] of list.entries()) {
    const entry = parseCoinEntry(value);
    if (!entry.ok) {
      const { coin, field, detail } = entry.error;
      warn(`${where}: ${coin ?? `entry ${i}`} is left out: ${field} ${detail}`);
    } else if (byTicker.has(entry.value.ticker)) {
      warn(`${where}: ${entry.value.ticker} stands twice, the first entry counts`);
    } else {
      byTicker.set(entry.value.ticker, entry.value);
      for (const key of Object.keys(entry.value.raw)) {
        if (!KNOWN_KEYS.includes(key) && !unknown.has(key)) unknown.set(key, entry.value.ticker);
      }
    }
  }
  for (const [key, coin] of unknown) warn(unknownKeyText(key, `${where}, coin ${coin}`, KNOWN_KEYS));
  if (more > 0) warnings.push(`${where}: ${more} more warnings`);
  return ok({ coins: byTicker, warnings });
}

export function parseCoinsText(text: string, where: string): Result<CoinsFile, string> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return err(`${where} is not JSON: ${error instanceof SyntaxError ? error.message : "unreadable"}`);
  }
  return parseCoins(value, where);
}
