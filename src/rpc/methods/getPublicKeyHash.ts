import { z } from "zod";
import { rmd160Hex } from "../../core/keys/dbIds.ts";
import { fromHex } from "../../core/util/bytes.ts";
import { err, ok } from "../../core/util/result.ts";
import { defineMethod } from "../define.ts";

export const getPublicKeyHash = defineMethod<{ readonly kind: "NoLogin" }>()({
  name: "get_public_key_hash",
  style: "v2",
  needsKeys: false,
  summary: "Hash of this node's public key: RIPEMD160(SHA256(key)). It names the node's data folder.",
  source: "reference rpc.md 5.4",
  params: z.unknown(),
  result: z.object({ public_key_hash: z.string().describe("40 hex.") }),
  async handle(_, { node }) {
    if (node.publicKey === null) return err({ kind: "NoLogin" });
    return ok({ public_key_hash: rmd160Hex(fromHex(node.publicKey)) });
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
      title: "The hash of the node's key",
      style: "v2",
      params: {},
      result: { public_key_hash: "888f037df61b07c24ab0c1be470c18351d28b17c" },
    },
  ],
});
