import { createDaemonClient } from "../../src/adapters/jsonRpc/daemonClient.ts";
import { parseDaemonUrl } from "../../src/adapters/jsonRpc/daemonUrl.ts";
import { createSystemClock } from "../../src/adapters/system/systemClock.ts";
import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import { VirtualClock } from "../../src/adapters/virtualClock/virtualClock.ts";
import { coinEntryToChainParams } from "../../src/chain/chainParams.ts";
import { txToChainTx } from "../../src/chain/chainTx.ts";
import { ChainDaemon } from "../../src/chain/daemon.ts";
import { EmbeddedChain } from "../../src/chain/embeddedChain.ts";
import { TransportFault } from "../../src/chain/faults.ts";
import { RpcError } from "../../src/chain/rpc/rpcError.ts";
import { startChainServer } from "../../src/chain/startChainServer.ts";
import { err, ok } from "../../src/core/util/result.ts";
import { sleep } from "../../src/ports/clock.ts";
import type { DaemonRpc } from "../../src/ports/daemonRpc.ts";
import { FaultyRpc } from "../fakes/faultyRpc.ts";
import type { ChainHarness, TrueBlock } from "./chainHarness.ts";

export const LEGACY_COIN = { coin: "TST", pubtype: 60, p2shtype: 85 };
export const SEGWIT_COIN = { ...LEGACY_COIN, segwit: true, bech32_hrp: "tst" };
export const KMD_COIN = { ...LEGACY_COIN, txversion: 4, overwintered: 1 };

export function steer(chain: EmbeddedChain): Omit<ChainHarness, "rpc" | "clock" | "pollMs" | "pass" | "close"> {
  function must<T>(result: { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: unknown }): T {
    if (!result.ok)
      throw new Error(
        `the embedded chain refused: ${JSON.stringify(result.error, (_k, v: unknown) => (typeof v === "bigint" ? `${v}` : v))}`,
      );
    return result.value;
  }
  return {
    format: chain.params.template.format,
    pay: (script, value) => must(chain.payFromFaucet(script, value)).txid,
    send(tx) {
      const made = txToChainTx(tx);
      must(chain.send(made));
      return made.txid;
    },
    mine: (count = 1) => void must(chain.mine(count)),
    reorg: (depth, count, forget = []) => void must(chain.reorg({ depth, blocks: count, forget })),
    blocks: () =>
      Array.from({ length: chain.state.tip.height + 1 }, (_, height): TrueBlock => {
        const entry = chain.state.at(height);
        if (!entry) throw new Error(`no block ${height}`);
        return { height, hash: entry.block.hash, txs: entry.block.txs.map((t) => t.tx) };
      }),
    mempool: () => chain.mempool.graph.entries().map((e) => e.chainTx.tx),
  };
}

/** The embedded chain's daemon by function call. */
export function functionCallRpc(daemon: ChainDaemon): DaemonRpc {
  return {
    async call(method, params) {
      try {
        return ok(await daemon.call(method, params));
      } catch (cause) {
        if (cause instanceof RpcError) return err({ kind: "rpc", code: cause.code, message: cause.message });
        if (cause instanceof TransportFault) return err({ kind: "unreachable", message: cause.message });
        throw cause;
      }
    },
  };
}

export async function startEmbeddedChain(coin: object): Promise<ChainHarness> {
  const params = coinEntryToChainParams(coin);
  if (!params.ok) throw new Error(params.error.detail);
  const clock = new VirtualClock();
  const chain = new EmbeddedChain({ params: params.value, clock, rng: seededRng(1) });
  const daemon = new ChainDaemon(chain, clock);
  return {
    ...steer(chain),
    rpc: new FaultyRpc(functionCallRpc(daemon)),
    clock,
    pollMs: 1_000,
    pass: async (ms) => void (await clock.advance(ms)),
    close: async () => daemon.close(),
  };
}

/** The same over real HTTP and the real clock. */
export async function startHttpChain(coin: object): Promise<ChainHarness> {
  const clock = createSystemClock();
  const options = { coin, clock, rng: seededRng(1), port: 0, user: "user", password: "pass word#1", blockTimeMs: null };
  const started = await startChainServer(options);
  if (!started.ok) throw new Error(started.error.detail);
  const server = started.value;
  const endpoint = parseDaemonUrl(`http://127.0.0.1:${server.port}/`, options.user, options.password);
  if (!endpoint.ok) throw new Error(endpoint.error.detail);
  const client = createDaemonClient(endpoint.value, clock);
  return {
    ...steer(server.daemon.chain),
    rpc: new FaultyRpc(client),
    clock,
    pollMs: 20,
    pass: (ms) => sleep(clock, ms),
    async close() {
      client.close();
      await server.close();
    },
  };
}
