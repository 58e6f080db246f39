import { z } from "zod";
import { toHex } from "../../core/util/bytes.ts";
import { err, ok } from "../../core/util/result.ts";
import { AWAITED, withWhy } from "../coinFaults.ts";
import type { RecoverError } from "../ctx/swaps.ts";
import { defineMethod } from "../define.ts";
import { nestedUuid } from "./mySwapStatus.ts";

type NotActive = Extract<RecoverError, { readonly kind: "CoinNotActive" }>;
type Failure = Exclude<RecoverError, NotActive> | (NotActive & { readonly why: string | null });

export const recoverFundsOfSwap = defineMethod<Failure>()({
  name: "recover_funds_of_swap",
  style: "flat",
  summary:
    "Take back or claim what a finished swap left behind. This node does so by itself; the call is for swaps brought in from elsewhere.",
  source: "reference rpc.md 5.3",
  params: nestedUuid(),
  result: z.object({
    action: z.enum(["RefundedMyPayment", "SpentOtherPayment"]),
    coin: z.string(),
    tx_hash: z.string(),
    tx_hex: z.string(),
  }),
  async handle({ params }, { swaps, coins }, { signal }) {
    const done = await swaps.recoverFunds(params.uuid, signal);
    if (!done.ok) return err(done.error.kind === "CoinNotActive" ? { ...done.error, why: coins.whyAway(done.error.coin) } : done.error);
    const { action, coin, txid, raw } = done.value;
    return ok({ action, coin, tx_hash: txid, tx_hex: toHex(raw) });
  },
  errors: {
    SwapNotFound: { http: 404, when: "This node has no such swap.", text: () => "swap data is not found" },
    CoinNotActive: {
      http: 400,
      when: `A coin of the swap is not enabled. ${AWAITED}`,
      text: ({ coin, why }) => withWhy(`Coin ${coin} is not activated`, why),
    },
    SwapNotFinished: { http: 400, when: "The swap is still running.", text: () => "Swap must be finished before recover funds attempt" },
    NotRecoverable: { http: 400, when: "There is nothing to recover; the text says how the swap ended.", text: ({ reason }) => reason },
  },
  examples: [
    {
      title: "A swap that was paid out",
      style: "flat",
      params: { params: { uuid: "aa2e902d-a810-4d81-aecb-202c8b037216" } },
      error: "NotRecoverable",
    },
    {
      title: "A swap that runs",
      style: "flat",
      params: { params: { uuid: "bb2e902d-a810-4d81-aecb-202c8b037216" } },
      error: "SwapNotFinished",
    },
    {
      title: "A swap of a coin that is not enabled",
      style: "flat",
      params: { params: { uuid: "cc2e902d-a810-4d81-aecb-202c8b037216" } },
      error: "CoinNotActive",
    },
    { title: "No such swap", style: "flat", params: { params: { uuid: "00000000-0000-0000-0000-000000000001" } }, error: "SwapNotFound" },
  ],
});
