import { z } from "zod";
import { ok } from "../../core/util/result.ts";
import { defineMethod } from "../define.ts";

export const version = defineMethod()({
  name: "version",
  style: "flat",
  flatReply: "bare",
  access: "public",
  needsKeys: false,
  summary: "Version of this node.",
  source: "reference rpc.md 5.3",
  params: z.object({}),
  result: z.object({ result: z.string(), datetime: z.string().describe("ISO time this node started (KDF: of its build).") }),
  handle: async (_, { node }) => ok({ result: node.version, datetime: node.startedAt }),
  errors: {},
  examples: [{ title: "Version", style: "flat", params: {}, result: { result: "0.1.0", datetime: "2026-11-21T00:00:00.000Z" } }],
});
