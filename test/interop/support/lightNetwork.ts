import { setTimeout as later } from "node:timers/promises";
import { startNetwork, type TestNetwork, topologyOf } from "../../e2e/support/network.ts";
import { type ElectrsServer, startElectrs } from "./electrsServer.ts";
import { type ElectrumxServer, type Service, startElectrumx } from "./electrumxServer.ts";
import type { LightServer } from "./lightServer.ts";
import { BTC, LTC, type RegtestChain, startBtcd, startLitecoin } from "./regtestChains.ts";

/** Litecoin as nodes with and without a daemon of their own see it; Bitcoin's chain is beside it, followed through the daemon by all. */
export type LightNetwork<S extends LightServer> = {
  readonly network: TestNetwork;
  readonly ltc: RegtestChain;
  /** Over litecoind. */
  readonly servers: readonly S[];
};
export type ElectrumxNetwork = LightNetwork<ElectrumxServer>;

/** A server, and how nodes reach it. */
type Reached<S> = { readonly server: S; readonly url: string; readonly protocol: Service };

/** What the nodes reach each server by. */
const SERVICES: readonly Service[] = ["TCP", "SSL", "WSS"];
const LTC_BLOCK_MS = 1_000;
/** A server that is away or stuck holds up no block for longer, ms. */
const IN_STEP_MS = 15_000;
const LOOK_MS = 250;
const FUNDS = "20";

/** Of `brief` and `vanishing`: the taker payment is locked for so long, the maker payment for twice as long. */
export const BRIEF_LOCK_SEC = 20;
const brief = { swapnode: { profile_overrides: { payment_locktime_sec: BRIEF_LOCK_SEC } } };

const side = (name: string, backend: "electrum" | "daemon", config: object = {}) => ({
  name,
  config,
  backend: { [LTC.coin]: backend },
  enable: [LTC.coin, BTC.coin],
  fund: { [LTC.coin]: FUNDS, [BTC.coin]: FUNDS },
});

/**
 * ElectrumX looks at its daemon's blocks every five seconds and at its mempool every five, and tells its clients of neither while the
 * two are not of the same block: where blocks come faster it may fall silent for good.
 */
async function sees(server: LightServer, height: number): Promise<void> {
  const deadline = Date.now() + IN_STEP_MS;
  while (Date.now() < deadline) {
    // One that was killed holds up nobody.
    if ((server.height() ?? height) >= height) return;
    await later(LOOK_MS);
  }
}

/** With ElectrumX, one server for each of `SERVICES`. @param limits of the servers, by the names of ElectrumX's variables. See `startLightNetwork`. */
export function startElectrumxNetwork(
  only: readonly string[] | null = null,
  limits: { readonly [variable: string]: string } = {},
): Promise<ElectrumxNetwork> {
  return startLightNetwork(only, [], (rpcUrl) =>
    SERVICES.map(async (protocol) => {
      const server = await startElectrumx(rpcUrl, { coin: "Litecoin", net: "regtest" }, limits);
      return { server, url: server.url(protocol), protocol };
    }),
  );
}

/** With electrs, three servers over TCP. See `startLightNetwork`. */
export function startElectrsNetwork(): Promise<LightNetwork<ElectrsServer>> {
  return startLightNetwork(null, ["-rest"], (rpcUrl) =>
    SERVICES.map(async () => {
      const server = await startElectrs(rpcUrl);
      return { server, url: server.url, protocol: "TCP" as const };
    }),
  );
}

/**
 * A seed, `light`, `lighter` and `brief` over Electrum servers, `full` and `vanishing` over the daemon.
 * @param only these of them beside the seed
 * @param daemonArgs more arguments of litecoind
 */
async function startLightNetwork<S extends LightServer>(
  only: readonly string[] | null,
  daemonArgs: readonly string[],
  startServers: (rpcUrl: string) => readonly Promise<Reached<S>>[],
): Promise<LightNetwork<S>> {
  const topology = topologyOf({
    coins: [LTC, BTC],
    block_time_s: 0.5,
    nodes: [
      { name: "seed", seed: true },
      side("light", "electrum"),
      side("lighter", "electrum"),
      side("full", "daemon"),
      side("brief", "electrum", brief),
      side("vanishing", "daemon", brief),
    ].filter(({ name }) => only === null || name === "seed" || only.includes(name)),
  });
  const reached: Reached<S>[] = [];
  let ltc: RegtestChain | null = null;
  const start = async (): Promise<RegtestChain> => {
    // Servers give any transaction, so their daemon indexes all of them.
    const chain = await startLitecoin(LTC_BLOCK_MS, ["-txindex=1", ...daemonArgs], {
      async start(rpcUrl) {
        reached.push(...(await Promise.all(startServers(rpcUrl))));
      },
      inStep: (height) => Promise.all(reached.map(({ server }) => sees(server, height))),
    });
    return {
      ...chain,
      electrum: reached.map(({ url, protocol }) => ({ url, protocol })),
      async close() {
        await Promise.all(reached.map(({ server }) => server.close()));
        await chain.close();
      },
    };
  };
  const network = await startNetwork(topology, {
    startChain: async (entry, blockTimeMs) => {
      if (entry.coin !== LTC.coin) return startBtcd(blockTimeMs);
      ltc = await start();
      return ltc;
    },
  });
  if (ltc === null) throw new Error("no chain of Litecoin was started");
  return { network, ltc, servers: reached.map(({ server }) => server) };
}
