import type { EmbeddedChain } from "../embeddedChain.ts";
import type { Args } from "./args.ts";

/** What a method may look at beside the chain. */
export type RpcContext = {
  readonly chain: EmbeddedChain;
  /** Confirmed transactions are found by id alone. */
  readonly txIndex: boolean;
  /** Added to every height a daemon is asked for, while it lies. */
  readonly heightLie: () => number;
  /** Base units per 1000 bytes the next fee estimate says; `auto` and `none` as in `chain_setFeeRate`. */
  feeEstimate: bigint | "auto" | "none";
  /** Asked to stop by `stop`. */
  readonly stop: () => void;
};

export type RpcMethod = {
  /** Names of the parameters, for calls with an object; in order of position. */
  readonly params: readonly string[];
  /** Daemons that have the method: Bitcoin Core and its kin, or Komodo; both when absent. */
  readonly only?: "core" | "kmd";
  /** Least number of parameters. */
  readonly required?: number;
  readonly run: (context: RpcContext, args: Args) => unknown;
};

export type RpcMethods = { readonly [name: string]: RpcMethod };

export const isKmd = (context: RpcContext): boolean => context.chain.params.kind === "kmd";
