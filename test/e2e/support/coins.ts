/** A coins-file entry, written by hand. */
export type Entry = { readonly coin: string; readonly [key: string]: unknown };

/** What every coin of these tests has in common: worthless, quick, one confirmation. */
const common = { mm2: 1, is_testnet: true, required_confirmations: 1, avg_blocktime: 1, protocol: { type: "UTXO" } };

/** Addresses and transactions as Dogecoin has them: no segwit. */
export const LEGACY: Entry = { ...common, coin: "LEGA", pubtype: 30, p2shtype: 22, wiftype: 158, txversion: 1, txfee: 100_000 };
/** Segwit spends, base58 addresses of its own. */
export const SEGWIT: Entry = {
  ...common,
  coin: "SEGW",
  pubtype: 111,
  p2shtype: 196,
  wiftype: 239,
  segwit: true,
  bech32_hrp: "segw",
  txfee: 2_000,
};
/** The same with own addresses in bech32. */
export const SEGWIT_ADDRESS: Entry = { ...SEGWIT, coin: "SEGA", address_format: { format: "segwit" } };
/** Sapling v4 transactions with Komodo's branch id. */
export const KMD_FAMILY: Entry = {
  ...common,
  coin: "KMDF",
  asset: "KMDF",
  pubtype: 60,
  p2shtype: 85,
  wiftype: 188,
  txversion: 4,
  overwintered: 1,
  txfee: 1_000,
};
