import { afterEach, expect, test, vi } from "vitest";
import { HOUR_MS } from "../../../sim/world/simWorld.ts";
import { heldFee } from "../accountMeddling.ts";
import { type AccountWorld, ALL, accountWorld, ETH, match, UTXO } from "../accountTrade.ts";

const SEED = 20_241_125;
const LIMIT_MS = 120_000;
let t: AccountWorld;
afterEach(async () => {
  vi.restoreAllMocks();
  await t.world.close();
});

const used = (): bigint => t.world.accountChain(ETH).nonceOf(t.taker.account);
const swap = (): Promise<string> => match(t, UTXO, ETH, "4", "0.5");
const signs = (uuid: string, slot: string): boolean => t.taker.has(uuid, (e) => e.type === "tx_signed" && e.slot === slot);
const comesToNothing = async (uuid: string): Promise<void> => {
  await t.world.runUntil("the swap ends", () => t.taker.outcome(uuid) !== null, 2 * HOUR_MS);
  expect(t.taker.outcome(uuid)).toBe("failed");
};

test(
  "a dex fee that all nodes forget and refuse before the taker pays: no payment is signed behind it, the swap fails, and its nonce is filled",
  async () => {
    t = await accountWorld({ seed: SEED });
    const { forget } = heldFee(t);
    const uuid = await swap();
    await t.world.runUntil(
      "the maker has paid",
      () => t.taker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "makerPayment"),
      HOUR_MS,
    );
    forget();
    await comesToNothing(uuid);
    expect([signs(uuid, "takerPayment"), used()]).toEqual([false, 0n]);
    await t.world.advance(600_000);
    expect(used()).toBe(1n);
  },
  LIMIT_MS,
);

test(
  "a payment that was signed before a crash stays home when all nodes have forgotten the fee before it, and refuse it",
  async () => {
    t = await accountWorld({ seed: SEED });
    const { forget } = heldFee(t);
    t.taker.onEvent = (event) => {
      if (event.type === "tx_signed" && event.slot === "takerPayment") t.taker.crash();
    };
    const uuid = await swap();
    await t.world.runUntil("it has signed", () => signs(uuid, "takerPayment"), HOUR_MS);
    t.taker.onEvent = () => undefined;
    forget();
    await t.taker.start(ALL);
    await comesToNothing(uuid);
    expect(t.taker.has(uuid, (e) => e.type === "tx_attempted" && e.slot === "takerPayment")).toBe(false);
  },
  LIMIT_MS,
);
