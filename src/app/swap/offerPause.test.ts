import { expect, test } from "vitest";
import type { ChainStatus } from "../../ports/chain.ts";
import { OfferPause } from "./offerPause.ts";
import type { SwapCoin } from "./swapCoin.ts";

const at = (hash: string, state: ChainStatus["state"] = "ready"): SwapCoin => {
  const tip = { height: 1, hash, timeSec: 0, medianTimePastSec: 0 };
  return { chain: { status: () => ({ state, tip, progress: null, error: null }) } } as unknown as SwapCoin;
};

/** Pauses after each of so many offers under the same circumstances. */
function pauses(pause: OfferPause, coin: SwapCoin, txid: string, offers: number): readonly number[] {
  return Array.from({ length: offers }, () => {
    const ms = pause.ms(coin, txid);
    pause.offered();
    return ms;
  });
}

test("what is refused is offered ever more rarely, up to a minute", () => {
  expect(pauses(new OfferPause(5_000), at("b1"), "tx", 8)).toEqual([5_000, 5_000, 10_000, 20_000, 40_000, 60_000, 60_000, 60_000]);
});

test.each([
  ["a new block", at("b2"), "tx"],
  ["another version", at("b1"), "tx2"],
  ["a backend that went away", at("b1", "unreachable"), "tx"],
] as const)("%s begins it anew", (_, coin, txid) => {
  const pause = new OfferPause(5_000);
  pauses(pause, at("b1"), "tx", 8);
  expect(pauses(pause, coin, txid, 3)).toEqual([5_000, 5_000, 10_000]);
  // And back.
  expect(pause.ms(at("b1"), "tx")).toBe(5_000);
});
