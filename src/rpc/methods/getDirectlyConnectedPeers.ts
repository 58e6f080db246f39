import { z } from "zod";
import { err, ok } from "../../core/util/result.ts";
import { defineMethod } from "../define.ts";
import { NO_NETWORK } from "../networkFault.ts";

export const getDirectlyConnectedPeers = defineMethod<{ readonly kind: "NoNetwork" }>()({
  name: "get_directly_connected_peers",
  style: "flat",
  needsKeys: false,
  summary: "Connected peers and their addresses.",
  source: "reference rpc.md 5.4",
  params: z.object({}),
  result: z.record(z.string(), z.array(z.string())).describe("Multiaddresses by peer id."),
  async handle(_, { node }) {
    if (!node.network) return err({ kind: "NoNetwork" as const });
    const peers: Record<string, string[]> = {};
    for (const { id, address } of node.network.peers()) peers[id] = [...(peers[id] ?? []), address];
    return ok(peers);
  },
  errors: { NoNetwork: NO_NETWORK },
  examples: [
    {
      title: "One peer",
      style: "flat",
      params: {},
      result: { "12D3KooWM2gM83qszqEzS3GkUYrz4YzFWe2PRZLFxd3RSwTecgJM": ["/ip4/127.0.0.1/tcp/47771"] },
    },
  ],
});
