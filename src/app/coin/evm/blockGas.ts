import type { EvmAccount } from "./evmAccount.ts";

type Chain = Pick<EvmAccount["chain"], "status">;

/** Whether nodes refuse so much gas for good, because no block has it. Before the first look nothing is known. */
export function isAboveBlock(chain: Chain, gas: bigint): boolean {
  const most = chain.status().tip?.gasLimit;
  return most !== undefined && gas > most;
}

/** As much of it as a block has: what is asked for beyond that may be a lie, and a transaction with it is in no block. */
export function fitBlock(chain: Chain, gas: bigint): bigint {
  return isAboveBlock(chain, gas) ? (chain.status().tip?.gasLimit ?? gas) : gas;
}
