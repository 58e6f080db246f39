import { openUtxoRpcChain } from "../../src/adapters/utxoRpc/utxoRpcChain.ts";
import { quietLog } from "../fakes/quietLog.ts";
import type { ChainHarness } from "./chainHarness.ts";
import type { ContractChain } from "./contractChain.ts";

/** The daemon backend over a steered chain. */
export function overDaemon(h: ChainHarness): ContractChain {
  const { rpc, format, clock, pollMs } = h;
  return {
    ...h,
    open: (store, options) =>
      openUtxoRpcChain({ ticker: "TST", format, rpc, store, clock, log: quietLog, options: { pollMs, ...options } }),
    down: {
      set(on) {
        rpc.down = on;
      },
      says: "TST daemon cannot be used",
    },
    falseHeight: {
      set(on) {
        rpc.twist.clear();
        if (!on) return;
        rpc.twist.set("getblockheader", (answer) =>
          answer.ok && typeof answer.value === "object" ? { ok: true, value: { ...answer.value, height: 77_777_777 } } : answer,
        );
      },
      says: "contradicts itself",
    },
    stall: {
      set: (on) => void (on ? rpc.stalled.add("getbestblockhash") : rpc.stalled.clear()),
      says: "no answer to getbestblockhash within",
    },
    lostReply: {
      set(on) {
        rpc.twist.clear();
        if (on)
          rpc.twist.set("sendrawtransaction", () => ({ ok: false, error: { kind: "unreachable", message: "it closed the connection" } }));
      },
      outcomes: ["already_known"],
    },
    reads: { clear: () => rpc.counts.clear(), count: () => rpc.counts.get("getblock") ?? 0 },
  };
}
