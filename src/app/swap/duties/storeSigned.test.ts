import { expect, test } from "vitest";
import { swapTerms } from "../../../../test/fakes/swapTerms.ts";
import type { SwapEvent } from "../../../core/swap/events.ts";
import { fold } from "../../../core/swap/swapState.ts";
import { fromHex, toHex } from "../../../core/util/bytes.ts";
import type { SwapTask } from "../swapTask.ts";
import { storeReplaced, storeSpend } from "./storeSigned.ts";

test("what is held for a claim stays with its swap once it is signed, less what each version may cost", async () => {
  const events: SwapEvent[] = [{ type: "started", terms: swapTerms("maker", { takerCoin: "ACCOUNT" }) }];
  const [used, released]: string[][] = [[], []];
  const coin = {
    relayPolicy: "nonce",
    chain: { status: () => ({ tip: null }) },
    useClaimGas: ({ id }: { readonly id: string }, raw: Uint8Array) => void used?.push(`${id} ${toHex(raw)}`),
    release: ({ id }: { readonly id: string }) => void released?.push(id),
  };
  const task = {
    get state() {
      return fold(events);
    },
    coin: () => coin,
    emit: async (event: SwapEvent) => void events.push(event),
    claimReservation: { id: "gas" },
  } as unknown as SwapTask;
  const signed = (id: string) => ({ txid: id, raw: fromHex(id), fee: 5n });
  await storeSpend(task, "takerPaymentSpend", signed("c1"), null);
  await storeReplaced(task, "takerPaymentSpend", signed("c2"));
  expect([used, released, task.claimReservation]).toEqual([["gas c1", "gas c2"], [], { id: "gas" }]);
});
