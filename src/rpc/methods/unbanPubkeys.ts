import { z } from "zod";
import { ok } from "../../core/util/result.ts";
import { banReason, banReasonToJson, unbanBy } from "../banShapes.ts";
import type { PeersApi } from "../ctx/network.ts";
import { defineMethod } from "../define.ts";

const BANNED = "b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1";
const OTHER = "c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2";

const shown = (bans: ReturnType<PeersApi["banned"]>) => Object.fromEntries(bans.map((b) => [b.pubkey, banReasonToJson(b.reason)]));

export const unbanPubkeys = defineMethod()({
  name: "unban_pubkeys",
  style: "flat",
  summary: "Lift bans, and forget what they were for.",
  source: "reference rpc.md 5.4",
  params: z.object({ unban_by: unbanBy().describe("All bans, or those of some keys.") }),
  result: z.object({
    still_banned: z.record(z.string(), banReason),
    unbanned: z.record(z.string(), banReason),
    were_not_banned: z.array(z.string()),
  }),
  async handle(p, { peers }) {
    const keys = p.unban_by.type === "All" ? peers.banned().map((b) => b.pubkey) : p.unban_by.data;
    const lifted = keys.map((key) => [key, peers.unban(key)] as const);
    return ok({
      still_banned: shown(peers.banned()),
      unbanned: shown(lifted.flatMap(([, ban]) => ban ?? [])),
      were_not_banned: lifted.flatMap(([key, ban]) => (ban ? [] : key)),
    });
  },
  errors: {},
  examples: [
    {
      title: "All",
      style: "flat",
      params: { unban_by: { type: "All" } },
      result: { still_banned: {}, unbanned: { [BANNED]: { type: "Manual", reason: "never pays" } }, were_not_banned: [] },
    },
    {
      title: "One that was not banned",
      style: "flat",
      params: { unban_by: { type: "Few", data: [OTHER] } },
      result: { still_banned: { [BANNED]: { type: "Manual", reason: "never pays" } }, unbanned: {}, were_not_banned: [OTHER] },
    },
  ],
});
