/**
 * Coins of the demo and of the default private network: the public test coins of the KMD family, written by hand from
 * what the coins-file format asks for. They have no value.
 */
export const DEMO_COINS: readonly { readonly coin: string; readonly [key: string]: unknown }[] = ["DOC", "MARTY"].map((coin) => ({
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
