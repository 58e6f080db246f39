import type { ScanProgress } from "../../ports/chain.ts";
import type { SwapCoin } from "../swap/swapCoin.ts";
import type { AccountEnable, AccountOpenerDeps } from "./accountOpener.ts";
import type { EvmCoin } from "./evm/evmCoin.ts";
import type { EvmEnableError } from "./evmParts.ts";
import type { UtxoCoin } from "./utxoCoin.ts";
import type { UtxoEnable, UtxoEnableError, UtxoOpenerDeps } from "./utxoOpener.ts";

/** An activated coin of either family. What only one of them can do is asked for by `family`. */
export type ActiveCoin = UtxoCoin | EvmCoin;

/** `nodes` of an account chain, `daemon` and what follows it of another coin. */
export type EnableRequest = UtxoEnable &
  AccountEnable & {
    readonly coin: string;
    /** Stands in for a missing `mm2` of the coins file. */
    readonly mm2: boolean;
  };

export type EnableError =
  | UtxoEnableError
  | EvmEnableError
  /** `progress`: the node still reads the coin's chain; null when it has. */
  | { readonly kind: "AlreadyActive"; readonly coin: string; readonly progress: ScanProgress | null }
  /** By an earlier request that has no answer yet; `progress` null: its daemon has not answered. */
  | { readonly kind: "BeingEnabled"; readonly coin: string; readonly progress: ScanProgress | null }
  | { readonly kind: "BeingDisabled"; readonly coin: string }
  | { readonly kind: "Mm2NotSet"; readonly coin: string }
  | { readonly kind: "ProtocolMissing"; readonly coin: string };

export type DisableError =
  | { readonly kind: "NoSuchCoin"; readonly coin: string }
  | {
      readonly kind: "CoinInUse";
      readonly matchingOrders: readonly string[];
      readonly cancelledOrders: readonly string[];
      readonly activeSwaps: readonly string[];
    };

export type DisabledCoin = {
  readonly cancelledOrders: readonly string[];
  readonly passivized: boolean;
  /** Tokens that were disabled with their platform coin. */
  readonly tokens: readonly string[];
  /** Of it and these what stays all the same: for swaps, or for what they need. */
  readonly kept: readonly string[];
};

export type CoinRegistryDeps = UtxoOpenerDeps &
  AccountOpenerDeps & {
    /** Called before an opened coin that trades can be used by anybody: what stored swaps have of it is taken out of circulation. */
    readonly prepare: (coin: SwapCoin) => void;
    /** Called before a coin closes. */
    readonly beforeClose: (ticker: string) => Promise<void>;
    /** Asked before a coin goes: what still needs it. */
    readonly usersOf: (ticker: string) => { readonly matchingOrders: readonly string[]; readonly activeSwaps: readonly string[] };
    /** Asked before a coin that was put aside goes: whether swaps of it are looked after, also such as have ended and may change yet. */
    readonly isWatched: (ticker: string) => boolean;
    /** Cancels the open orders of a coin that goes; their uuids. */
    readonly cancelOrdersOf: (ticker: string) => Promise<readonly string[]>;
  };
