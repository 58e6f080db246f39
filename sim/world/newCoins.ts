import type { BlockEntry } from "../../src/chain/chainState.ts";
import type { ChainTx } from "../../src/chain/chainTx.ts";
import type { EmbeddedChain } from "../../src/chain/embeddedChain.ts";

/** Has a block of nothing but new coins mined, so many base units to a script, as whoever mines may pay. @returns the payment */
export function payInNewCoins(chain: EmbeddedChain, script: Uint8Array, units: bigint): ChainTx {
  const previous: BlockEntry = chain.state.tip;
  const block = chain.draft(previous, script, [], units - chain.params.subsidy(previous.height + 1));
  const mined = chain.submit(block);
  const [payment] = block.txs;
  if (!mined.ok || !payment) throw new Error(`new coins: ${mined.ok ? "none" : mined.error.reason}`);
  return payment;
}
