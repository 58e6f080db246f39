import { z } from "zod";
import { err, ok } from "../../core/util/result.ts";
import { defineMethod } from "../define.ts";

export const getPublicKey = defineMethod<{ readonly kind: "NoLogin" }>()({
  name: "get_public_key",
  style: "v2",
  needsKeys: false,
  summary: "Compressed public key of this node.",
  source: "reference rpc.md 5.4",
  params: z.unknown(),
  result: z.object({ public_key: z.string().describe("66 hex.") }),
  async handle(_, { node }) {
    return node.publicKey === null ? err({ kind: "NoLogin" as const }) : ok({ public_key: node.publicKey });
  },
  errors: {
    NoLogin: {
      http: 500,
      type: "Internal",
      when: "The node runs without a passphrase.",
      text: () => "public_key not available",
      data: () => "public_key not available",
    },
  },
  examples: [
    {
      title: "The node's key",
      style: "v2",
      params: {},
      result: { public_key: "03fa9e4fb4432e2d1d0fef27cec588ea4ca580dfe29fa279831913f5ee5f9970ac" },
    },
  ],
});
