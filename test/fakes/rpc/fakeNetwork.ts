import type { Metric } from "../../../src/ports/metrics.ts";
import type { NodeApi } from "../../../src/rpc/ctx/network.ts";
import { NODE_KEY } from "./fakeRpcCoin.ts";

const OWN_ID = "12D3KooWKS3FYQu6BLnKipU3A978KRr91ZxgJn9dFt8b6igpAo2A";
const RELAY = "12D3KooWM2gM83qszqEzS3GkUYrz4YzFWe2PRZLFxd3RSwTecgJM";
const NEIGHBOUR = "12D3KooWPR2RoPi19vQtLugjCdvVmCcGLP2iXAzbDfP3tp81ZL4d";

/** Of the recorded node, and two values beside them. */
const METRICS: readonly Metric[] = [
  ["p2p.received_messages.period_in_secs", 60],
  ["p2p.received_messages.count", 0],
  ["p2p.relay_mesh.len", 1],
  ["orderbook.len", 0],
  ["p2p.connected_peers.count", 1],
  ["p2p.connected_relays.len", 1],
  ["swaps.active.len", 0],
  ["rpc.requests.count", 7],
].map(([key, value]) => ({ type: key === "rpc.requests.count" ? "counter" : "gauge", key: String(key), labels: {}, value: Number(value) }));

/** What a node tells of itself and its one peer. */
export const fakeNetwork = (onStop: () => void): NodeApi => ({
  version: "0.1.0",
  startedAt: "2026-11-21T00:00:00.000Z",
  netid: 9998,
  publicKey: NODE_KEY,
  hd: false,
  network: {
    peerId: OWN_ID,
    relays: () => [RELAY],
    mesh: () => ({
      topics: new Map([
        ["orbk/DOC:MARTY", []],
        [`hcheck/${OWN_ID}`, []],
      ]),
      peerTopics: new Map([
        [RELAY, []],
        [NEIGHBOUR, ["orbk/DOC:MARTY"]],
      ]),
      connectedRelays: [RELAY],
    }),
    peers: () => [
      {
        id: RELAY,
        idBytes: new Uint8Array(),
        address: "/ip4/127.0.0.1/tcp/47771",
        direction: "outbound",
      },
    ],
  },
  metrics: () => METRICS,
  stop: onStop,
});
