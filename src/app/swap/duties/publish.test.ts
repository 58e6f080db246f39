import { expect, test } from "vitest";
import { swapTerms } from "../../../../test/fakes/swapTerms.ts";
import type { SwapEvent } from "../../../core/swap/events.ts";
import { fold } from "../../../core/swap/swapState.ts";
import type { SwapTask } from "../swapTask.ts";
import { publish } from "./publish.ts";

test("of a claim that was signed before a restart and leaves after it, gas is held to make it dearer", async () => {
  const slot = "makerPaymentSpend";
  const events: SwapEvent[] = [
    { type: "started", terms: swapTerms("taker", { makerCoin: "ACCOUNT" }) },
    { type: "tx_signed", slot, txid: "c1", raw: "c1", notAfter: null },
  ];
  const done: string[] = [];
  const coin = {
    relayPolicy: "nonce",
    chain: { status: () => ({ tip: null }), tx: () => undefined },
    reserveClaimAgain: (ttlMs: number) => ({ ok: true, value: { id: `gas for ${ttlMs > 0}` } }),
    adopt: ({ id }: { readonly id: string }) => void done.push(`adopted ${id}`),
  };
  const task: Partial<SwapTask> = {
    get state() {
      return fold(events);
    },
    coin: () => coin as unknown as ReturnType<SwapTask["coin"]>,
    times: () => ({ makerLock: 1_000 }) as ReturnType<SwapTask["times"]>,
    nowSec: () => 0,
    emitIf: async (_when, event) => {
      done.push(event.type);
      return false;
    },
    claimReservation: null,
  };
  await publish(task as SwapTask, slot, new AbortController().signal);
  expect(done).toEqual(["adopted gas for true", "tx_attempted"]);
});
