import { err, ok, type Result } from "../core/util/result.ts";
import type { Clock } from "../ports/clock.ts";
import type { Rng } from "../ports/rng.ts";
import type { SignatureVerifier } from "../ports/signatures.ts";
import { type BadCoin, coinEntryToChainParams } from "./chainParams.ts";
import { ChainDaemon } from "./daemon.ts";
import { electrumFaultMethods } from "./electrum/electrumFaultMethods.ts";
import { ElectrumListener } from "./electrum/electrumListener.ts";
import { ElectrumServer } from "./electrum/electrumServer.ts";
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
  /** Electrum servers over the chain, by their ports (0: any free one). Default: none. */
  readonly electrumPorts?: readonly number[];
  /** Called when a client calls `stop`; closing is up to the caller. */
  readonly onStop?: () => void;
};

export type ChainServer = {
  readonly daemon: ChainDaemon;
  readonly port: number;
  /** With user and password in it. */
  readonly rpcUrl: string;
  /** Each with its port on loopback, plain TCP. */
  readonly electrum: readonly { readonly server: ElectrumServer; readonly port: number }[];
  close(): Promise<void>;
};

/** Starts one embedded chain behind its JSON-RPC port on loopback. Rejects when the port is taken. */
export async function startChainServer(options: ChainServerOptions): Promise<Result<ChainServer, BadCoin>> {
  const params = coinEntryToChainParams(options.coin);
  if (!params.ok) return err(params.error);
  const { clock, rng, verifier, txIndex, onStop, user, password } = options;
  const chain = new EmbeddedChain({ params: params.value, clock, rng, ...(verifier ? { verifier } : {}) }, options);
  const electrum: { server: ElectrumServer; port: number; listener: ElectrumListener }[] = [];
  const daemon = new ChainDaemon(chain, clock, {
    ...(txIndex === undefined ? {} : { txIndex }),
    ...(onStop ? { onStop } : {}),
    methods: electrumFaultMethods(() => electrum.map((e) => e.server)),
  });
  const server = new RpcServer(daemon, { port: options.port, user, password });
  const close = async (): Promise<void> => {
    for (const { server: one, listener } of electrum) {
      one.close();
      await listener.close();
    }
    daemon.close();
    await server.close();
  };
  const port = await server.listen();
  try {
    for (const wanted of options.electrumPorts ?? []) electrum.push(await startElectrum(daemon, clock, wanted));
  } catch (cause) {
    await close();
    throw cause;
  }
  chain.autoMine(options.blockTimeMs);
  const rpcUrl = `http://${encodeURIComponent(user)}:${encodeURIComponent(password)}@127.0.0.1:${port}`;
  return ok({ daemon, port, rpcUrl, electrum, close });
}

async function startElectrum(daemon: ChainDaemon, clock: Clock, wanted: number) {
  const server = new ElectrumServer(daemon, clock);
  const listener = new ElectrumListener(server, { port: wanted });
  return { server, listener, port: await listener.listen() };
}
