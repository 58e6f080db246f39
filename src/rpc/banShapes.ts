import { z } from "zod";
import type { BanReason } from "../core/peers/peerRecord.ts";
import { err, ok } from "../core/util/result.ts";
import { type Read, readList, readPubkeyX, required } from "./field.ts";
import { named } from "./named.ts";
import { readTagged } from "./orderInputs.ts";
import { MISSING } from "./serdeText.ts";

/** Why a key is banned, as replies show it (reference rpc.md 5.4). */
export const banReason = named(
  "BanReason",
  z.discriminatedUnion("type", [
    z.object({ type: z.literal("Manual"), reason: z.string() }),
    z.object({
      type: z.literal("FailedSwap"),
      caused_by_swap: z.string(),
      caused_by_event: z.object({
        type: z.enum(["Maker", "Taker"]).describe("This node's part in the swap."),
        event: z.object({ type: z.string(), data: z.object({ error: z.string() }) }),
      }),
    }),
  ]),
);

export const banReasonToJson = (r: BanReason): z.input<typeof banReason> =>
  r.kind === "Manual"
    ? { type: "Manual", reason: r.reason }
    : {
        type: "FailedSwap",
        caused_by_swap: r.swap,
        caused_by_event: { type: r.side, event: { type: r.event, data: { error: r.detail } } },
      };

/** Which bans `unban_pubkeys` lifts. */
type UnbanBy = { readonly type: "All" } | { readonly type: "Few"; readonly data: readonly string[] };

const readUnbanBy: Read<UnbanBy> = (value) => {
  const tagged = readTagged(value, "UnbanPubkeysReq", "adjacently", ["All", "Few"]);
  if (!tagged.ok) return tagged;
  if (tagged.value.type === "All") return ok({ type: "All" });
  if (tagged.value.data === undefined) return err(`${MISSING} \`data\``);
  const keys = readList(readPubkeyX)(tagged.value.data);
  return keys.ok ? ok({ type: "Few", data: [...new Set(keys.value)] }) : keys;
};

export const unbanBy = () =>
  required<UnbanBy>(readUnbanBy, {
    title: "UnbanBy",
    oneOf: [
      { type: "object", properties: { type: { const: "All" } }, required: ["type"] },
      {
        type: "object",
        properties: { type: { const: "Few" }, data: { type: "array", items: { type: "string" } } },
        required: ["type", "data"],
      },
    ],
  });
