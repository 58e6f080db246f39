import { z } from "zod";
import { ok } from "../../core/util/result.ts";
import { defineMethod } from "../define.ts";

const gauge = (key: string, value: number) => ({ type: "gauge" as const, key, labels: {}, value });

export const metrics = defineMethod()({
  name: "metrics",
  style: "flat",
  flatReply: "bare",
  access: "public",
  needsKeys: false,
  summary: "What this node measures: peers, messages, book, orders, swaps, RPC calls. The same in Prometheus' format: `prometheusport`.",
  source: "reference rpc.md 5.4, a recorded reply",
  params: z.object({}),
  result: z.object({
    metrics: z.array(
      z.object({
        type: z.enum(["gauge", "counter"]).describe("How much there is now, or a count since the start."),
        key: z.string(),
        labels: z.record(z.string(), z.string()),
        value: z.number(),
      }),
    ),
  }),
  handle: async (_, { node }) => ok({ metrics: node.metrics().map((m) => ({ ...m, labels: { ...m.labels } })) }),
  errors: {},
  examples: [
    {
      title: "A light node with one relay",
      style: "flat",
      params: {},
      result: {
        metrics: [
          gauge("p2p.received_messages.period_in_secs", 60),
          gauge("p2p.received_messages.count", 0),
          gauge("p2p.relay_mesh.len", 1),
          gauge("orderbook.len", 0),
          gauge("p2p.connected_peers.count", 1),
          gauge("p2p.connected_relays.len", 1),
          gauge("swaps.active.len", 0),
          { type: "counter", key: "rpc.requests.count", labels: {}, value: 7 },
        ],
      },
    },
  ],
});
