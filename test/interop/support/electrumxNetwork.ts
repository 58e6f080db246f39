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
/** ElectrumX looks at its daemon every five seconds and tells its clients only what it saw of one and the same block twice. */
const LTC_BLOCK_MS = 2_500;
const FUNDS = "20";

const side = (name: string, backend: "electrum" | "daemon") => ({
  name,
  backend: { [LTC.coin]: backend },
  enable: [LTC.coin, BTC.coin],
  fund: { [LTC.coin]: FUNDS, [BTC.coin]: FUNDS },
});

/** A seed, `light` and `lighter` over ElectrumX, and `full` over the daemon. */
export async function startElectrumxNetwork(): Promise<ElectrumxNetwork> {
  const topology = topologyOf({
    coins: [LTC, BTC],
    block_time_s: 0.5,
    nodes: [{ name: "seed", seed: true }, side("light", "electrum"), side("lighter", "electrum"), side("full", "daemon")],
  });
  const servers: ElectrumxServer[] = [];
  let ltc: RegtestChain | null = null;
  const start = async (): Promise<RegtestChain> => {
    // Servers give any transaction, so their daemon indexes all of them.
    const chain = await startLitecoin(LTC_BLOCK_MS, ["-txindex=1"], async (rpcUrl) => {
      const started = SERVICES.map(() => startElectrumx(rpcUrl, { coin: "Litecoin", net: "regtest" }));
      servers.push(...(await Promise.all(started)));
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
