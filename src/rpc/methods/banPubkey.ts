import { z } from "zod";
import { err, ok } from "../../core/util/result.ts";
import { defineMethod } from "../define.ts";
import { optional, readPubkeyX, readU32, required, text } from "../field.ts";

const PUBKEY = "c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2";

type BanError = { readonly kind: "BannedAlready" } | { readonly kind: "TooManyBans" };

export const banPubkey = defineMethod<BanError>()({
  name: "ban_pubkey",
  style: "flat",
  summary: "Ignore the orders and requests of a key, over restarts.",
  source: "reference rpc.md 5.4",
  params: z.object({
    pubkey: required(readPubkeyX, { type: "string" }).describe("X coordinate of the key, 64 hex."),
    reason: text(),
    duration_min: optional(readU32, { type: "integer", minimum: 0 }).describe("Minutes; for good when left out."),
  }),
  result: z.literal("success"),
  async handle(p, { peers }) {
    const done = peers.ban(p.pubkey, p.reason, p.duration_min === undefined ? null : p.duration_min * 60_000);
    if (done === "done") return ok("success" as const);
    return err({ kind: done === "full" ? "TooManyBans" : "BannedAlready" });
  },
  errors: {
    BannedAlready: { http: 400, when: "The key is banned.", text: () => "Pubkey is banned already" },
    TooManyBans: { http: 400, when: "10,000 keys are banned by hand.", text: () => "Too many keys are banned; lift some bans first" },
  },
  examples: [
    { title: "For an hour", style: "flat", params: { pubkey: PUBKEY, reason: "never pays", duration_min: 60 }, result: "success" },
    {
      title: "Banned already",
      style: "flat",
      params: { pubkey: "b1".repeat(32), reason: "again" },
      error: "BannedAlready",
    },
  ],
});
