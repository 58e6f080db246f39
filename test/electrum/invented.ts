import { parseHeader } from "../../src/core/proof/blockHeader.ts";
import { hasWork } from "../../src/core/proof/proofOfWork.ts";
import { fromHex, reversed, toHex } from "../../src/core/util/bytes.ts";
import type { Tx } from "../../src/core/utxo/tx.ts";
import { serializeTx, txid as txidOf } from "../../src/core/utxo/txCodec.ts";
import type { LineHooks } from "../contract/electrumChain.ts";
import { EASY_RULES } from "../fakes/mineHeaders.ts";
import type { SwapWorld, Ticker } from "../fakes/swapWorld.ts";

// What servers can make up of a coin whose blocks cost nothing.

export type Invented = { readonly height: number; readonly header: string; readonly txid: string; readonly tx: string };

/** A server that has an invented block on its chain, as soon as there is one, and none after it. */
export function liarWith(invented: () => Invented | null): LineHooks {
  const asked = new Map<number, { readonly method: string; readonly params: readonly unknown[] }>();
  const lied = (method: string, [first, second]: readonly unknown[], result: unknown, lie: Invented): unknown => {
    const tip = { height: lie.height, hex: lie.header };
    switch (method) {
      case "blockchain.headers.subscribe":
        return tip;
      case "blockchain.block.header":
        return first === lie.height ? lie.header : result;
      case "blockchain.block.headers": {
        const { hex } = result as { hex: string };
        const [start, wanted] = [Number(first), Number(second)];
        const before = hex.slice(0, 160 * Math.max(0, lie.height - start));
        const all = before.length === 160 * (lie.height - start) && start + wanted > lie.height ? before + lie.header : before;
        return { ...(result as object), hex: all, count: all.length / 160 };
      }
      case "blockchain.scripthash.get_history":
        return [
          ...(result as readonly { height: number; tx_hash: string }[]).filter((t) => t.height < lie.height && t.tx_hash !== lie.txid),
          { tx_hash: lie.txid, height: lie.height },
        ];
      case "blockchain.scripthash.subscribe":
        return lie.txid;
      case "blockchain.transaction.get":
        if (first !== lie.txid) return result;
        return second === true ? { hex: lie.tx, confirmations: 1 } : lie.tx;
      case "blockchain.transaction.get_merkle":
        return first === lie.txid ? { block_height: lie.height, merkle: [], pos: 0 } : result;
      default:
        return result;
    }
  };
  return {
    asked: (line) => {
      const { id, method, params } = JSON.parse(line) as { id: number; method: string; params: readonly unknown[] };
      asked.set(id, { method, params });
    },
    answer: (line) => {
      const lie = invented();
      const { error, ...message } = JSON.parse(line) as { id?: number; method?: string; error?: unknown; result?: unknown };
      const call = asked.get(message.id ?? -1);
      if (lie === null) return line;
      if (message.method !== undefined) return null;
      const said = call === undefined ? message.result : lied(call.method, call.params, message.result, lie);
      return said === undefined ? line : JSON.stringify({ jsonrpc: "2.0", id: message.id, result: said });
    },
  };
}

/**
 * A block after the last of a chain, with one transaction in it. `bits`: its compact target; as a rule every second hash fits it. `on`: the
 * block before it.
 */
export function inventBlock(
  world: SwapWorld,
  ticker: Ticker,
  tx: Tx,
  bits = 0x207fffff,
  { height, block } = world.chain(ticker).state.tip,
): Invented {
  const header = new Uint8Array(80);
  header.set([1], 0);
  header.set(reversed(fromHex(block.hash)), 4);
  header.set(reversed(fromHex(txidOf(tx))), 36);
  new DataView(header.buffer).setUint32(68, Math.floor(world.clock.nowMs() / 1_000), true);
  new DataView(header.buffer).setUint32(72, bits, true);
  for (let nonce = 0; !isMined(header); nonce++) new DataView(header.buffer).setUint32(76, nonce, true);
  return { height: height + 1, header: toHex(header), txid: txidOf(tx), tx: toHex(serializeTx(tx)) };
}

function isMined(header: Uint8Array): boolean {
  const parsed = parseHeader(header, EASY_RULES);
  return parsed.ok && hasWork(parsed.value, EASY_RULES);
}
