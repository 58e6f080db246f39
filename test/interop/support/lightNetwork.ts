import { setTimeout as later } from "node:timers/promises";
import { startNetwork, type TestNetwork, topologyOf } from "../../e2e/support/network.ts";
import { type ElectrumxServer, type Service, startElectrumx } from "./electrumxServer.ts";
import { BTC, LTC, type RegtestChain, startBtcd, startLitecoin } from "./regtestChains.ts";

/** Litecoin as nodes with and without a daemon of their own see it; Bitcoin's chain is beside it, followed through the daemon by all. */
export type ElectrumxNetwork = {
  readonly network: TestNetwork;
  readonly ltc: RegtestChain;
  /** Over litecoind, one for each of `SERVICES`. */
  readonly servers: readonly ElectrumxServer[];
};

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
async function sees(server: ElectrumxServer, height: number): Promise<void> {
  const deadline = Date.now() + IN_STEP_MS;
  while (Date.now() < deadline) {
    // One that was killed holds up nobody.
    if ((server.height() ?? height) >= height) return;
    await later(LOOK_MS);
  }
}

/**
 * A seed, `light`, `lighter` and `brief` over ElectrumX, `full` and `vanishing` over the daemon.
 * @param only these of them beside the seed
 * @param limits of the servers, by the names of ElectrumX's variables
 */
export async function startElectrumxNetwork(
  only: readonly string[] | null = null,
  limits: { readonly [variable: string]: string } = {},
): Promise<ElectrumxNetwork> {
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
  const servers: ElectrumxServer[] = [];
  let ltc: RegtestChain | null = null;
  const start = async (): Promise<RegtestChain> => {
    // Servers give any transaction, so their daemon indexes all of them.
    const chain = await startLitecoin(LTC_BLOCK_MS, ["-txindex=1"], {
      async start(rpcUrl) {
        const started = SERVICES.map(() => startElectrumx(rpcUrl, { coin: "Litecoin", net: "regtest" }, limits));
        servers.push(...(await Promise.all(started)));
      },
      inStep: (height) => Promise.all(servers.map((server) => sees(server, height))),
    });
    return {
      ...chain,
      electrum: servers.map((server, i) => {
        const protocol = SERVICES[i] ?? "TCP";
        return { url: server.url(protocol), protocol };
      }),
      async close() {
        await Promise.all(servers.map((server) => server.close()));
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
  return { network, ltc, servers };
}
