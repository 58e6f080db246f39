import { parseSwapEvent } from "../../src/core/evm/swapContract.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import type { SimEvmChain } from "../world/evm/simEvmChain.ts";
import type { SimWorld } from "../world/simWorld.ts";
import type { Read } from "./fate.ts";

/** The account chains read from end to end, as the audit reads the others: a payment's only output is what the contract holds of it. */
export const readAccountChains = (world: SimWorld): ReadonlyMap<string, Read> =>
  new Map([...world.accountChains].map(([ticker, chain]) => [ticker, readAccountChain(chain)]));

function readAccountChain(chain: SimEvmChain): Read {
  const spender = new Map<string, string>();
  const heightOf = new Map<string, number>();
  const paidBy = new Map<string, string>();
  for (let height = 0; height <= chain.tip.height; height++) {
    for (const { signed, receipt, logs } of chain.at(height)?.txs ?? []) {
      if (receipt.succeeded) heightOf.set(signed.txid, height);
      for (const { address, topics, data } of logs) {
        const event = parseSwapEvent(topics, data);
        if (!event.ok) continue;
        const key = `${address}/${toHex(event.value.id)}`;
        if (event.value.kind === "sent") paidBy.set(key, signed.txid);
        else spender.set(`${paidBy.get(key)}:0`, signed.txid);
      }
    }
  }
  return { spender, heightOf };
}
