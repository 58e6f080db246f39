import { z } from "zod";
import { ok } from "../../core/util/result.ts";
import { defineMethod } from "../define.ts";

export const help = defineMethod()({
  name: "help",
  style: "flat",
  flatReply: "bare",
  access: "public",
  needsKeys: false,
  summary: "Where the methods are described.",
  source: "reference rpc.md 5.4",
  params: z.object({}),
  result: z.object({ result: z.string(), version: z.string() }),
  handle: async (_, { node }) =>
    ok({
      result: "All methods are described in docs/reference/rpc.md and docs/reference/openapi.json of the swapnode repository",
      version: node.version,
    }),
  errors: {},
  examples: [
    {
      title: "Help",
      style: "flat",
      params: {},
      result: {
        result: "All methods are described in docs/reference/rpc.md and docs/reference/openapi.json of the swapnode repository",
        version: "0.1.0",
      },
    },
  ],
});
