type DemoCoin = { readonly coin: string; readonly [key: string]: unknown };

/**
 * Coins of the demo and of the default private network: the public test coins of the KMD family, written by hand from
 * what the coins-file format asks for. They have no value.
 */
export const DEMO_COINS: readonly DemoCoin[] = ["DOC", "MARTY"].map((coin) => ({
  coin,
  asset: coin,
  fname: `${coin} (test coin)`,
  rpcport: 0,
  pubtype: 60,
  p2shtype: 85,
  wiftype: 188,
  txversion: 4,
  overwintered: 1,
  txfee: 1_000,
  mm2: 1,
  is_testnet: true,
  required_confirmations: 1,
  avg_blocktime: 1,
  sign_message_prefix: "Komodo Signed Message:\n",
  protocol: { type: "UTXO" },
  derivation_path: "m/44'/141'",
}));

const account = (coin: string, decimals: number, protocol: object): DemoCoin => ({
  coin,
  fname: `${coin} (test coin)`,
  mm2: 1,
  rpcport: 0,
  is_testnet: true,
  required_confirmations: 1,
  avg_blocktime: 1,
  decimals,
  max_eth_tx_type: 2,
  swap_gas_fee_policy: "Medium",
  sign_message_prefix: "Ethereum Signed Message:\n",
  protocol,
});

/** A platform coin on a chain id that is nobody's, and a token on it; the network writes in where the token was deployed. */
export const DEMO_ACCOUNT_COINS: readonly DemoCoin[] = [
  account("ETH", 18, { type: "ETH", protocol_data: { chain_id: 31_337 } }),
  account("TEST-ERC20", 6, { type: "ERC20", protocol_data: { platform: "ETH" } }),
];
