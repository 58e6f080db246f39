import { expect, test } from "vitest";
import { swapTerms } from "../../../test/fakes/swapTerms.ts";
import { begin } from "../../core/swap/swapState.ts";
import { forgetSwap } from "./forgetSwap.ts";
import type { SwapTask } from "./swapTask.ts";

test("of a swap that is over nothing stays watched, also what only its chains showed", async () => {
  const gone: string[] = [];
  const chain = { unwatch: async ({ txids = [] }: { readonly txids?: readonly string[] }) => void gone.push(...txids) };
  const coin = { chain, relayPolicy: "nonce", releaseInputs: () => undefined };
  const tx = (txid: string) => ({ txid, raw: "", block: null, confirmed: false });
  const own = { ...tx("claim 2"), notAfter: null, attempted: true, replaced: [tx("claim 1")] };
  const state = {
    ...begin({ type: "started", terms: swapTerms("maker") }),
    own: { takerPaymentSpend: own },
    received: { takerPayment: tx("announced") },
    facts: { takerPayment: tx("seen under another id"), makerPaymentSpend: tx("their claim"), takerPaymentRefund: tx("") },
  };
  await forgetSwap({ state, coin: () => coin } as unknown as SwapTask);
  expect(gone.sort()).toEqual(["announced", "claim 1", "claim 2", "seen under another id", "their claim"]);
});
