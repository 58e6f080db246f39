import { VirtualClock } from "../../src/adapters/virtualClock/virtualClock.ts";
import type { Tx } from "../../src/core/utxo/tx.ts";
import { FaultyRpc } from "../fakes/faultyRpc.ts";
import { ScriptedDaemon } from "../fakes/scriptedDaemon.ts";
import type { ChainHarness } from "./chainHarness.ts";

export type ScriptedChain = ChainHarness & { readonly daemon: ScriptedDaemon; readonly clock: VirtualClock };

/** A scripted daemon on a virtual clock. */
export function startScriptedChain(blocks = 30): ScriptedChain {
  const daemon = new ScriptedDaemon();
  daemon.mine(blocks);
  const clock = new VirtualClock();
  let coins = 0;
  return {
    daemon,
    rpc: new FaultyRpc(daemon),
    format: { kind: "bitcoin" },
    clock,
    pollMs: 1_000,
    async pass(ms) {
      await clock.advance(ms);
    },
    pay(script, value) {
      const from = { txid: (++coins).toString(16).padStart(64, "0"), vout: 7, scriptSig: new Uint8Array(0), sequence: 0, witness: [] };
      const tx: Tx = { version: 1, inputs: [from], outputs: [{ value, script }], lockTime: 0 };
      return daemon.send(tx);
    },
    send: (tx) => daemon.send(tx),
    mine: (count = 1) => daemon.mine(count),
    reorg: (depth, count, forget) => daemon.reorg(depth, count, forget),
    blocks: () => daemon.blocks.map((b, height) => ({ height, hash: b.hash, txs: b.txs })),
    mempool: () => [...daemon.mempool.values()],
    close: async () => undefined,
  };
}
