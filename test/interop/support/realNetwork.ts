import { type TestNetwork, topologyOf, withNetwork } from "../../e2e/support/network.ts";
import { BTC, LTC, type RegtestChain, startBtcd, startLitecoin } from "./regtestChains.ts";

export type RealChains = { readonly ltc: RegtestChain; readonly btc: RegtestChain };
export type RealOptions = {
  /** Any MM2.json fields for the maker and the taker. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly startLitecoin?: (blockTimeMs: number) => Promise<RegtestChain>;
  /** Litecoin's entry in the coins file. */
  readonly ltc?: typeof LTC;
  readonly blockTimeSec?: number;
};

/** Whole coins each side begins with on each chain, or a little more. */
const FUNDS = "20";

/** A seed, a maker and a taker as processes of their own, over litecoind and btcd. */
export async function withRealChains(
  options: RealOptions,
  work: (network: TestNetwork, chains: RealChains) => Promise<void>,
): Promise<void> {
  const { ltc = LTC, blockTimeSec = 0.5 } = options;
  const side = (name: string) => ({
    name,
    enable: [ltc.coin, BTC.coin],
    fund: { [ltc.coin]: FUNDS, [BTC.coin]: FUNDS },
    config: options.config ?? {},
  });
  const topology = topologyOf({
    coins: [ltc, BTC],
    block_time_s: blockTimeSec,
    nodes: [{ name: "seed", seed: true }, side("maker"), side("taker")],
  });
  const started = new Map<string, RegtestChain>();
  const chain = (ticker: string): RegtestChain => {
    const found = started.get(ticker);
    if (!found) throw new Error(`no chain ${ticker}`);
    return found;
  };
  await withNetwork(topology, (network) => work(network, { ltc: chain(ltc.coin), btc: chain(BTC.coin) }), {
    startChain: async (entry, blockTimeMs) => {
      const starter = entry.coin === ltc.coin ? (options.startLitecoin ?? startLitecoin) : startBtcd;
      const running = await starter(blockTimeMs);
      started.set(entry.coin, running);
      return running;
    },
  });
}
