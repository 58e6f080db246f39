import { z } from "zod";
import { ok } from "../../core/util/result.ts";
import { banReason, banReasonToJson } from "../banShapes.ts";
import { defineMethod } from "../define.ts";

export const listBannedPubkeys = defineMethod()({
  name: "list_banned_pubkeys",
  style: "flat",
  summary: "Keys whose orders and requests this node ignores, and why.",
  source: "reference rpc.md 5.4",
  params: z.object({}),
  result: z.record(z.string(), banReason).describe("By X coordinate of the key, 64 hex."),
  handle: async (_, { peers }) => ok(Object.fromEntries(peers.banned().map((b) => [b.pubkey, banReasonToJson(b.reason)]))),
  errors: {},
  examples: [
    {
      title: "One ban",
      style: "flat",
      params: {},
      result: {
        b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1: { type: "Manual", reason: "never pays" },
      },
    },
  ],
});
