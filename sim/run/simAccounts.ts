import { checksumAddress, type EvmAddress } from "../../src/core/evm/address.ts";
import { type SimEvmOptions, simAddress } from "../world/evm/simEvmChain.ts";
import type { SimCoin } from "../world/simWorld.ts";
import type { SimCoinTraits } from "./simCoins.ts";

/** The platform coin of the simulator's account chain; the chain itself goes by this name. */
export const PLATFORM = "ETHX";
const CHAIN_ID = 7n;
const CONFIRMATIONS = 4;
/** Blocks on top of one that no reorganisation undoes. */
export const FINAL_DEPTH = 12;
export const ACCOUNT_BLOCK_SEC = 12;
const PLATFORM_DECIMALS = 18;
const TOKEN_DECIMALS = 6;
/** Wei per gas: at fifty times as much the smallest trades still pay for their transactions. */
const USUAL_BASE_FEE = 1_000_000_000n;
const USUAL_TIP = 100_000_000n;

const COMMON = {
  mm2: 1,
  rpcport: 0,
  is_testnet: true,
  required_confirmations: CONFIRMATIONS,
  avg_blocktime: ACCOUNT_BLOCK_SEC,
  max_eth_tx_type: 2,
  swap_gas_fee_policy: "Medium",
  derivation_path: "m/44'/60'",
} as const;

const PLAIN_AT = simAddress("a plain token");
/** An allowance must be zero before it becomes anything else, and nothing is returned. */
const STUBBORN_AT = simAddress("a token that must be reset and returns nothing");

function token(coin: string, fname: string, at: EvmAddress): SimCoinTraits["entry"] {
  const protocol = { type: "ERC20", protocol_data: { platform: PLATFORM, contract_address: checksumAddress(at) } };
  return { ...COMMON, coin, fname, decimals: TOKEN_DECIMALS, protocol };
}

/** Coins of the simulator's account chain: its platform coin, a token, and a token with the manners of the oldest one. */
export const SIM_ACCOUNTS: readonly SimCoinTraits[] = [
  {
    entry: {
      ...COMMON,
      coin: PLATFORM,
      fname: "account test coin",
      decimals: PLATFORM_DECIMALS,
      protocol: { type: "ETH", protocol_data: { chain_id: Number(CHAIN_ID) } },
    },
    notarizedEverySec: null,
  },
  { entry: token("TOK-ETHX", "test token", PLAIN_AT), notarizedEverySec: null },
  { entry: token("OLD-ETHX", "stubborn test token", STUBBORN_AT), notarizedEverySec: null },
];

const TOKENS: ReadonlyMap<string, EvmAddress> = new Map([
  ["TOK-ETHX", PLAIN_AT],
  ["OLD-ETHX", STUBBORN_AT],
]);

/** The account chain all of them are on. */
export const SIM_ACCOUNT_CHAIN: Omit<SimEvmOptions, "clock"> = {
  ticker: PLATFORM,
  chainId: CHAIN_ID,
  usualBaseFee: USUAL_BASE_FEE,
  usualTip: USUAL_TIP,
  finalDepth: FINAL_DEPTH,
  tokens: [
    { address: PLAIN_AT, decimals: TOKEN_DECIMALS },
    { address: STUBBORN_AT, decimals: TOKEN_DECIMALS, resetFirst: true, answers: "nothing" },
  ],
};

/** Where a token is; null: the coin is no token. */
export const tokenAt = (ticker: string): EvmAddress | null => TOKENS.get(ticker) ?? null;

/** The chain that has the transactions of a coin: a token is on its platform coin's. */
export const chainTickerOf = (ticker: string): string => (TOKENS.has(ticker) ? PLATFORM : ticker);

/** Base units of one coin of the account chain. */
export const accountUnit = (ticker: string): bigint => 10n ** BigInt(TOKENS.has(ticker) ? TOKEN_DECIMALS : PLATFORM_DECIMALS);

export const isAccountCoin = ({ coin }: SimCoin): boolean => SIM_ACCOUNTS.some(({ entry }) => entry.coin === coin);
