import { type DevNode, type Devnet, startDevnet, until } from "../../src/devnet/devnet.ts";
import { parseTopology } from "../../src/devnet/topology.ts";

/** Coin the maker of a trading net sells, and the one it gets. */
export const BASE = "DOC";
export const REL = "MARTY";

/** A faucet pays from its own change; the mempool takes 25 such payments in a row. */
const FUNDED_PER_BLOCK = 20;

const coin = (ticker: string, blockS: number) => ({
  coin: ticker,
  mm2: 1,
  is_testnet: true,
  pubtype: 60,
  p2shtype: 85,
  wiftype: 188,
  txfee: 1_000,
  required_confirmations: 1,
  avg_blocktime: blockS,
  protocol: { type: "UTXO" },
});

export type TradingNet = { readonly net: Devnet; readonly maker: DevNode; readonly taker: DevNode };

/** A seed, a maker and a taker as processes of their own with one whole coin of each kind, and two embedded chains in this process. */
export async function startTradingNet(blockS: number, onLog?: (node: string, line: string) => void): Promise<TradingNet> {
  const side = (name: string) => ({ name, enable: [BASE, REL], fund: { [BASE]: "1", [REL]: "1" } });
  const topology = parseTopology(
    JSON.stringify({
      coins: [coin(BASE, blockS), coin(REL, blockS)],
      block_time_s: blockS,
      nodes: [{ name: "seed", seed: true }, side("maker"), side("taker")],
    }),
  );
  if (!topology.ok) throw new Error(topology.error);
  const net = await startDevnet({ topology: topology.value, keepDataDir: null, say: () => undefined, ...(onLog ? { onLog } : {}) });
  const [maker, taker] = [net.nodes.get("maker"), net.nodes.get("taker")];
  if (maker && taker) return { net, maker, taker };
  await net.stop();
  throw new Error("the network lacks its maker or taker");
}

/** Pays a node `outputs` equal parts of `coins` whole coins, and waits until it can spend them. */
export async function fund({ net }: TradingNet, node: DevNode, ticker: string, coins: number, outputs: number): Promise<void> {
  const chain = net.chains.get(ticker);
  const part = (coins / outputs).toFixed(8);
  for (let i = 1; i <= outputs; i++) {
    await chain?.fund(node.addresses[ticker] ?? "", part);
    if (i % FUNDED_PER_BLOCK === 0) await chain?.daemon.call("chain_mine", [1]);
  }
  await until(`${node.name} has its ${ticker}`, async () =>
    Number((await node.rpc.call("my_balance", { coin: ticker })).balance) >= coins ? true : null,
  );
}
