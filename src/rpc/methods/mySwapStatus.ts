import { z } from "zod";
import { err, ok } from "../../core/util/result.ts";
import { defineMethod } from "../define.ts";
import { type Read, readUuid, required, uuid } from "../field.ts";
import { wrongType } from "../serdeText.ts";
import { statusToJson, swapStatusShape, typedSwap, typedSwapShape } from "../swapStatus.ts";

const NO_UUID = wrongType(null, "a UUID string");
const readNestedUuid: Read<{ readonly uuid: string }> = (params) => {
  const value: unknown = typeof params === "object" && params !== null && "uuid" in params ? params.uuid : null;
  const uuid = readUuid(value);
  return uuid.ok ? ok({ uuid: uuid.value }) : uuid;
};

/** `params.uuid`, although the call is flat; its absence reads like a null uuid. */
export const nestedUuid = () =>
  z.object({
    params: required(
      readNestedUuid,
      { type: "object", properties: { uuid: { type: "string", format: "uuid" } }, required: ["uuid"] },
      NO_UUID,
    ),
  });

export const mySwapStatus = defineMethod<{ readonly kind: "NoSwapWithUuid"; readonly uuid: string }>()({
  name: "my_swap_status",
  style: "flat",
  summary: "Show one swap of this node. The uuid stands inside `params`.",
  source: "reference rpc.md 5.3, 7",
  params: nestedUuid(),
  result: swapStatusShape,
  async handle({ params }, { swaps }) {
    const status = await swaps.status(params.uuid);
    return status ? ok(statusToJson(status)) : err({ kind: "NoSwapWithUuid" as const, uuid: params.uuid });
  },
  errors: {
    NoSwapWithUuid: { http: 400, when: "This node has no such swap.", text: ({ uuid }) => `No swap with uuid ${uuid}` },
  },
  examples: [
    { title: "A finished swap", style: "flat", params: { params: { uuid: "aa2e902d-a810-4d81-aecb-202c8b037216" } } },
    { title: "No such swap", style: "flat", params: { params: { uuid: "00000000-0000-0000-0000-000000000001" } }, error: "NoSwapWithUuid" },
  ],
});

export const mySwapStatusV2 = defineMethod<{ readonly kind: "NoSwapWithUuid"; readonly uuid: string }>()({
  name: "my_swap_status",
  style: "v2",
  struct: "MySwapStatusRequest",
  summary: "Show one swap of this node, its type beside its data.",
  source: "reference rpc.md 5.3",
  params: z.object({ uuid: uuid() }),
  result: typedSwapShape,
  async handle({ uuid: id }, { swaps }) {
    const status = await swaps.status(id);
    return status ? ok(typedSwap(status)) : err({ kind: "NoSwapWithUuid" as const, uuid: id });
  },
  errors: {
    NoSwapWithUuid: { http: 400, when: "This node has no such swap.", text: (e) => e.uuid, data: (e) => e.uuid },
  },
  examples: [{ title: "No such swap", style: "v2", params: { uuid: "00000000-0000-0000-0000-000000000001" }, error: "NoSwapWithUuid" }],
});
