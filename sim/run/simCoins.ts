import type { SimCoin } from "../world/simWorld.ts";

const COMMON = { rpcport: 0, mm2: 1, is_testnet: true, protocol: { type: "UTXO" }, derivation_path: "m/44'/141'" } as const;

/** How a simulated chain behaves beyond what its coins-file entry says. */
export type SimCoinTraits = {
  readonly entry: SimCoin & { readonly avg_blocktime: number; readonly required_confirmations: number };
  /** Seconds between notarizations; null: nobody notarizes. */
  readonly notarizedEverySec: number | null;
};

/** Coins of the simulator, one for each family of traits: block time, confirmations, signature hash, fee policy, notaries. */
export const SIM_COINS: readonly SimCoinTraits[] = [
  {
    // Litecoin's kind: segwit, slow blocks, the fee rate follows the daemon's estimate.
    entry: {
      ...COMMON,
      coin: "SEG",
      fname: "segwit test coin",
      pubtype: 48,
      p2shtype: 50,
      wiftype: 176,
      txfee: 0,
      segwit: true,
      relay_policy: "replace",
      bech32_hrp: "seg",
      avg_blocktime: 150,
      required_confirmations: 2,
    },
    notarizedEverySec: null,
  },
  {
    // Dogecoin's kind: no witness, a fixed fee.
    entry: {
      ...COMMON,
      coin: "LEG",
      fname: "legacy test coin",
      pubtype: 30,
      p2shtype: 22,
      wiftype: 158,
      txfee: 10_000,
      avg_blocktime: 60,
      required_confirmations: 3,
    },
    notarizedEverySec: null,
  },
  {
    // Komodo itself, whose rule of lock times goes by the ticker: Sapling transactions, no replacement, notarized blocks are final.
    entry: {
      ...COMMON,
      coin: "KMD",
      fname: "notarized test coin",
      pubtype: 60,
      p2shtype: 85,
      wiftype: 188,
      txversion: 4,
      overwintered: 1,
      txfee: 1_000,
      avg_blocktime: 60,
      required_confirmations: 2,
    },
    notarizedEverySec: 600,
  },
  {
    // A second asset chain with quick blocks.
    entry: {
      ...COMMON,
      coin: "QCK",
      asset: "QCK",
      fname: "quick test coin",
      pubtype: 60,
      p2shtype: 85,
      wiftype: 188,
      txversion: 4,
      overwintered: 1,
      txfee: 1_000,
      avg_blocktime: 20,
      required_confirmations: 5,
    },
    notarizedEverySec: null,
  },
];
