import { z } from "zod";
import { err, ok } from "../../core/util/result.ts";
import { defineMethod } from "../define.ts";
import { NO_NETWORK } from "../networkFault.ts";

export const getMyPeerId = defineMethod<{ readonly kind: "NoNetwork" }>()({
  name: "get_my_peer_id",
  style: "flat",
  needsKeys: false,
  summary: "Peer id of this node.",
  source: "reference rpc.md 5.4",
  params: z.object({}),
  result: z.string(),
  handle: async (_, { node }) => (node.network ? ok(node.network.peerId) : err({ kind: "NoNetwork" as const })),
  errors: { NoNetwork: NO_NETWORK },
  examples: [{ title: "The id", style: "flat", params: {}, result: "12D3KooWKS3FYQu6BLnKipU3A978KRr91ZxgJn9dFt8b6igpAo2A" }],
});
