import { z } from "zod";
import { err, ok } from "../../core/util/result.ts";
import { defineMethod } from "../define.ts";
import { NO_NETWORK } from "../networkFault.ts";

type NoNetwork = { readonly kind: "NoNetwork" };
const noNetwork = { kind: "NoNetwork" as const };
const lists = z.record(z.string(), z.array(z.string()));
const mutable = (map: ReadonlyMap<string, readonly string[]>): Record<string, string[]> =>
  Object.fromEntries(Array.from(map, ([name, list]) => [name, [...list]]));

const common = {
  style: "flat",
  needsKeys: false,
  source: "reference rpc.md 5.5",
  params: z.object({}),
  errors: { NoNetwork: NO_NETWORK },
} as const;
const RELAY = "12D3KooWM2gM83qszqEzS3GkUYrz4YzFWe2PRZLFxd3RSwTecgJM";
const NEIGHBOUR = "12D3KooWPR2RoPi19vQtLugjCdvVmCcGLP2iXAzbDfP3tp81ZL4d";
const PAIR = "orbk/DOC:MARTY";

export const getGossipMesh = defineMethod<NoNetwork>()({
  ...common,
  name: "get_gossip_mesh",
  summary: "Topics this node is subscribed to, and the peers it sends their messages to beside its relays.",
  result: lists.describe("Peer ids by topic."),
  async handle(_, { node }) {
    return node.network ? ok(mutable(node.network.mesh().topics)) : err(noNetwork);
  },
  examples: [
    {
      title: "A light node of one pair",
      style: "flat",
      params: {},
      result: { [PAIR]: [], "hcheck/12D3KooWKS3FYQu6BLnKipU3A978KRr91ZxgJn9dFt8b6igpAo2A": [] },
    },
  ],
});

export const getRelayMesh = defineMethod<NoNetwork>()({
  ...common,
  name: "get_relay_mesh",
  summary: "Relays this node sends its messages to.",
  result: z.array(z.string()).describe("Peer ids."),
  async handle(_, { node }) {
    return node.network ? ok([...node.network.relays()]) : err(noNetwork);
  },
  examples: [{ title: "One relay", style: "flat", params: {}, result: [RELAY] }],
});

export const getGossipPeerTopics = defineMethod<NoNetwork>()({
  ...common,
  name: "get_gossip_peer_topics",
  summary: "Topics each connected peer is subscribed to. Relays subscribe to none and get all.",
  result: lists.describe("Topics by peer id."),
  async handle(_, { node }) {
    return node.network ? ok(mutable(node.network.mesh().peerTopics)) : err(noNetwork);
  },
  examples: [{ title: "A relay and a light node", style: "flat", params: {}, result: { [RELAY]: [], [NEIGHBOUR]: [PAIR] } }],
});

export const getGossipTopicPeers = defineMethod<NoNetwork>()({
  ...common,
  name: "get_gossip_topic_peers",
  summary: "Connected peers that are subscribed to each topic.",
  result: lists.describe("Peer ids by topic."),
  async handle(_, { node }) {
    if (!node.network) return err(noNetwork);
    const peers = new Map<string, string[]>();
    for (const [peer, topics] of node.network.mesh().peerTopics) {
      for (const topic of topics) {
        const known = peers.get(topic);
        if (known) known.push(peer);
        else peers.set(topic, [peer]);
      }
    }
    return ok(mutable(peers));
  },
  examples: [{ title: "A topic of one peer", style: "flat", params: {}, result: { [PAIR]: [NEIGHBOUR] } }],
});
