import { coinEntryToChainParams } from "../../src/chain/chainParams.ts";
import { ChainDaemon } from "../../src/chain/daemon.ts";
import { EmbeddedChain } from "../../src/chain/embeddedChain.ts";
import { TransportFault } from "../../src/chain/faults.ts";
import { RpcError } from "../../src/chain/rpc/rpcError.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import { err, ok } from "../../src/core/util/result.ts";
import type { BroadcastOutcome } from "../../src/ports/chain.ts";
import type { Clock } from "../../src/ports/clock.ts";
import type { DaemonRpc } from "../../src/ports/daemonRpc.ts";
import type { Rng } from "../../src/ports/rng.ts";
import type { SignatureVerifier } from "../../src/ports/signatures.ts";
import type { Life } from "./life.ts";

/**
 * Called around each broadcast a node makes: before it reaches the daemon, and when the daemon has carried it out.
 * `outcome`: of account chains, what the node was told.
 */
export type BroadcastHook = (ticker: string, when: "before" | "after", raw: string, outcome?: BroadcastOutcome["kind"]) => void;

export type SimChainDeps = {
  readonly clock: Clock;
  readonly rng: Rng;
  readonly verifier: SignatureVerifier;
  /** Blocks mined to the faucet first; default 101, so that it has one coin. */
  readonly initialBlocks?: number;
};

/** One chain of the world. Each node has a daemon of its own over it, so that one can fail alone. */
export class SimChain {
  readonly ticker: string;
  readonly chain: EmbeddedChain;
  readonly #clock: Clock;

  constructor(entry: { readonly coin: string }, deps: SimChainDeps) {
    const params = coinEntryToChainParams(entry);
    if (!params.ok) throw new Error(params.error.detail);
    this.ticker = entry.coin;
    this.#clock = deps.clock;
    this.chain = new EmbeddedChain({ params: params.value, ...deps }, { initialBlocks: deps.initialBlocks ?? 101 });
  }

  daemon(): ChainDaemon {
    return new ChainDaemon(this.chain, this.#clock);
  }

  /** Confirmed and unconfirmed coins of a script, base units. */
  balance(script: Uint8Array): bigint {
    const { state, mempool } = this.chain;
    const hex = toHex(script);
    let sum = 0n;
    for (const c of state.coins.ofScript(hex)) if (!mempool.graph.spender(`${c.txid}:${c.vout}`)) sum += c.value;
    for (const { chainTx } of mempool.graph.entries()) {
      chainTx.tx.outputs.forEach((o, vout) => {
        if (toHex(o.script) === hex && !mempool.graph.spender(`${chainTx.txid}:${vout}`)) sum += o.value;
      });
    }
    return sum;
  }

  /** Miner fee of a transaction in a block, base units. Throws when it is in none. */
  feeOf(txid: string): bigint {
    const entry = this.chain.state.blockOfTx(txid);
    const index = entry?.block.txs.findIndex((t) => t.txid === txid) ?? -1;
    const chainTx = entry?.block.txs[index];
    if (!entry || !chainTx) throw new Error(`${txid} is in no block of ${this.ticker}`);
    const inputs = (entry.undo?.[index] ?? []).reduce((n, c) => n + c.value, 0n);
    return inputs - chainTx.tx.outputs.reduce((n, o) => n + o.value, 0n);
  }

  /** Replaces the last blocks; what was in them goes back to the mempool. */
  reorg(depth: number, forget: readonly string[] = []): void {
    const done = this.chain.reorg({ depth, forget });
    if (!done.ok) throw new Error(done.error.reason);
  }

  hashes(): readonly string[] {
    return Array.from({ length: this.chain.state.tip.height + 1 }, (_, h) => this.chain.state.at(h)?.block.hash ?? "");
  }
}

/** A daemon by function call, as the JSON-RPC client would show it, for one life of a node. */
export function daemonRpc(daemon: ChainDaemon, ticker: string, life: Life, onBroadcast: BroadcastHook): DaemonRpc {
  return {
    call: (method, params) =>
      life.guard(async () => {
        const isBroadcast = method === "sendrawtransaction";
        const raw = isBroadcast && typeof params[0] === "string" ? params[0] : "";
        if (isBroadcast) onBroadcast(ticker, "before", raw);
        if (!life.isAlive) return err({ kind: "unreachable", message: "dead" });
        try {
          return ok(await daemon.call(method, params));
        } catch (cause) {
          if (cause instanceof RpcError) return err({ kind: "rpc", code: cause.code, message: cause.message });
          if (cause instanceof TransportFault) return err({ kind: "unreachable", message: cause.message });
          throw cause;
        } finally {
          if (isBroadcast) onBroadcast(ticker, "after", raw);
        }
      }),
  };
}
