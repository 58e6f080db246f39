import type { ActiveCoin } from "../app/coin/enabling.ts";
import { type Node, RECEIVED_WINDOW_SEC } from "../app/node.ts";
import type { ServerHealth } from "../ports/electrum.ts";
import type { Metric, ReadMetrics } from "../ports/metrics.ts";
import type { P2p } from "../ports/network.ts";
import type { RequestCounts } from "../rpc/countedHandler.ts";

/** What the node tells those who watch it: KDF's gauges under their names, and beside them orders, swaps and the RPC. */
export function nodeMetrics(node: Node, p2p: P2p, requests: () => RequestCounts): ReadMetrics {
  const metric = (type: Metric["type"], key: string, value: number): Metric => ({ type, key, labels: {}, value });
  return () => {
    const { makers, takers } = node.orders.myOrders();
    const { answered, failed } = requests();
    return [
      metric("gauge", "p2p.received_messages.period_in_secs", RECEIVED_WINDOW_SEC),
      metric("gauge", "p2p.received_messages.count", node.receivedMessages()),
      metric("gauge", "p2p.relay_mesh.len", p2p.relays().length),
      metric("gauge", "orderbook.len", node.book.size),
      metric("gauge", "p2p.connected_peers.count", p2p.peers().length),
      metric("gauge", "p2p.connected_relays.len", p2p.mesh().connectedRelays.length),
      metric("gauge", "orders.maker.len", makers.length),
      metric("gauge", "orders.taker.len", takers.length),
      metric("gauge", "swaps.active.len", node.swaps.activeUuids().length),
      metric("counter", "swaps.finished.count", node.finishedSwaps()),
      metric("counter", "rpc.requests.count", answered),
      metric("counter", "rpc.failures.count", failed),
      ...node.coins.all().flatMap(serverCounts),
      ...nodeCounts(node.coins.all()),
    ];
  };
}

/** Of a coin that is followed through Electrum servers: how many are connected, and how many were found to lie and left. */
export function serverCounts(coin: Pick<ActiveCoin, "ticker" | "family" | "servers">): Metric[] {
  const servers = coin.servers();
  if (servers.length === 0 || coin.family === "account") return [];
  return counts("electrum.servers", coin.ticker, servers);
}

/** Of account chains, each once however many tokens are on it: how many nodes are there and in step, and how many serve another chain. */
export function nodeCounts(coins: readonly Pick<ActiveCoin, "accountInfo" | "servers">[]): Metric[] {
  const chains = new Map(
    coins.flatMap((coin) => (coin.accountInfo() === null ? [] : [[coin.accountInfo()?.platform ?? "", coin] as const])),
  );
  return [...chains].flatMap(([platform, coin]) => counts("account.nodes", platform, coin.servers()));
}

function counts(key: string, coin: string, servers: readonly ServerHealth[]): Metric[] {
  const inState = (state: "connected" | "dropped"): Metric => ({
    ...{ type: "gauge", key: `${key}.${state}`, labels: { coin } },
    value: servers.filter((s) => s.state === state).length,
  });
  return [inState("connected"), inState("dropped")];
}
