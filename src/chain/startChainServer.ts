import { err, ok, type Result } from "../core/util/result.ts";
import type { Clock } from "../ports/clock.ts";
import type { Rng } from "../ports/rng.ts";
import type { SignatureVerifier } from "../ports/signatures.ts";
import { type BadCoin, coinEntryToChainParams } from "./chainParams.ts";
import { ChainDaemon } from "./daemon.ts";
import { EmbeddedChain, type EmbeddedChainOptions } from "./embeddedChain.ts";
import { RpcServer } from "./rpcServer.ts";

export type ChainServerOptions = EmbeddedChainOptions & {
  /** Entry of a coins file, as parsed from JSON. */
  readonly coin: unknown;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly verifier?: SignatureVerifier;
  /** 0: any free port. */
  readonly port: number;
  readonly user: string;
  readonly password: string;
  /** A block every so often by the clock; null: only when asked. */
  readonly blockTimeMs: number | null;
  readonly txIndex?: boolean;
  /** Called when a client calls `stop`; closing is up to the caller. */
  readonly onStop?: () => void;
};

export type ChainServer = {
  readonly daemon: ChainDaemon;
  readonly port: number;
  /** With user and password in it. */
  readonly rpcUrl: string;
  close(): Promise<void>;
};

/** Starts one embedded chain behind its JSON-RPC port on loopback. Rejects when the port is taken. */
export async function startChainServer(options: ChainServerOptions): Promise<Result<ChainServer, BadCoin>> {
  const params = coinEntryToChainParams(options.coin);
  if (!params.ok) return err(params.error);
  const { clock, rng, verifier, txIndex, onStop, user, password } = options;
  const chain = new EmbeddedChain({ params: params.value, clock, rng, ...(verifier ? { verifier } : {}) }, options);
  const daemon = new ChainDaemon(chain, clock, { ...(txIndex === undefined ? {} : { txIndex }), ...(onStop ? { onStop } : {}) });
  const server = new RpcServer(daemon, { port: options.port, user, password });
  const port = await server.listen();
  chain.autoMine(options.blockTimeMs);
  return ok({
    daemon,
    port,
    rpcUrl: `http://${encodeURIComponent(user)}:${encodeURIComponent(password)}@127.0.0.1:${port}`,
    close: async () => {
      daemon.close();
      await server.close();
    },
  });
}
