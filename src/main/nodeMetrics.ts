import type { ActiveCoin } from "../app/coin/coinRegistry.ts";
import { type Node, RECEIVED_WINDOW_SEC } from "../app/node.ts";
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
      ...node.coins.all().flatMap(serverMetrics),
    ];
  };
}

/** Of a coin that is followed through Electrum servers: how many are connected, and how many were found to lie and left. */
function serverMetrics(coin: ActiveCoin): Metric[] {
  const servers = coin.servers();
  if (servers.length === 0) return [];
  const count = (key: string, state: string): Metric => ({
    ...{ type: "gauge", key, labels: { coin: coin.ticker } },
    value: servers.filter((s) => s.state === state).length,
  });
  return [count("electrum.servers.connected", "connected"), count("electrum.servers.dropped", "dropped")];
}
