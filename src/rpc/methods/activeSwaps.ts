import { z } from "zod";
import type { ShownSwap } from "../../core/swap/shownSwap.ts";
import { ok } from "../../core/util/result.ts";
import type { RpcContext } from "../ctx.ts";
import { defineMethod } from "../define.ts";
import { flag } from "../field.ts";
import { savedSwap, typedSwap, typedSwapShape } from "../swapStatus.ts";

const params = z.object({ include_status: flag(false).describe("Also give the status of each.") });

async function statuses<T>({ swaps }: RpcContext, uuids: readonly string[], show: (swap: ShownSwap) => T) {
  return Object.fromEntries([...(await swaps.statuses(uuids))].map(([uuid, swap]) => [uuid, show(swap)]));
}

export const activeSwaps = defineMethod()({
  name: "active_swaps",
  style: "flat",
  flatReply: "bare",
  needsKeys: false,
  summary: "List the swaps that are running now.",
  source: "reference rpc.md 5.3",
  params,
  result: z.object({ uuids: z.array(z.string()), statuses: z.record(z.string(), z.looseObject({})).nullable() }),
  async handle({ include_status }, ctx) {
    const uuids = [...ctx.swaps.active()];
    return ok({ uuids, statuses: include_status ? await statuses(ctx, uuids, savedSwap) : null });
  },
  errors: {},
  examples: [{ title: "Uuids only", style: "flat", params: {}, result: { uuids: [], statuses: null } }],
});

export const activeSwapsV2 = defineMethod()({
  name: "active_swaps",
  style: "v2",
  struct: "ActiveSwapsRequest",
  needsKeys: false,
  summary: "List the swaps that are running now.",
  source: "reference rpc.md 5.3",
  params,
  result: z.object({ uuids: z.array(z.string()), statuses: z.record(z.string(), typedSwapShape) }),
  async handle({ include_status }, ctx) {
    const uuids = [...ctx.swaps.active()];
    return ok({ uuids, statuses: include_status ? await statuses(ctx, uuids, typedSwap) : {} });
  },
  errors: {},
  examples: [{ title: "Uuids only", style: "v2", params: {}, result: { uuids: [], statuses: {} } }],
});
