import type { NodeApi } from "../../../src/rpc/ctx/network.ts";
import { NODE_KEY } from "./fakeRpcCoin.ts";

/** What a node tells of itself and its one peer. */
export const fakeNetwork = (onStop: () => void): NodeApi => ({
  version: "0.1.0",
  startedAt: "2026-11-21T00:00:00.000Z",
  netid: 9998,
  publicKey: NODE_KEY,
  hd: false,
  network: {
    peerId: "12D3KooWKS3FYQu6BLnKipU3A978KRr91ZxgJn9dFt8b6igpAo2A",
    peers: () => [
      {
        id: "12D3KooWM2gM83qszqEzS3GkUYrz4YzFWe2PRZLFxd3RSwTecgJM",
        idBytes: new Uint8Array(),
        address: "/ip4/127.0.0.1/tcp/47771",
        direction: "outbound",
      },
    ],
  },
  stop: onStop,
});
