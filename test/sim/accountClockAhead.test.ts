import { afterEach, expect, test } from "vitest";
import { HOUR_MS } from "../../sim/world/simWorld.ts";
import { type Books, books } from "./accountAudit.ts";
import { type AccountWorld, accountWorld, ETH, match, TOKEN, UTXO } from "./accountTrade.ts";

const SEED = 20_261_130;
const MINUTE_MS = 60_000;
const TIMEOUT_MS = 120_000;

let t: AccountWorld;
let before: Books;
afterEach(() => t.world.close());

/** A maker whose payment is in a block, and whose taker is gone for good. */
async function paid(): Promise<string> {
  t = await accountWorld({ seed: SEED, pollMs: 15_000 });
  before = books(t);
  const { world, maker, taker } = t;
  const uuid = await match(t, TOKEN, UTXO, "4", "0.5");
  const isPaid = () => maker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "makerPayment" && e.block !== null);
  await world.runUntil("the maker has paid", isPaid, HOUR_MS);
  taker.crash();
  return uuid;
}

/** How many refunds of the maker came into blocks and failed there. */
const failedRefunds = (uuid: string): number => {
  const chain = t.world.accountChain(ETH);
  const ids = t.maker.events(uuid).flatMap((e) => ("slot" in e && e.slot === "makerPaymentRefund" && "txid" in e ? [e.txid] : []));
  return [...new Set(ids)].filter((txid) => chain.find(txid)?.receipt?.succeeded === false).length;
};

test(
  "a maker whose clock is set six hours ahead takes nothing back from an account chain before its time, and has it back once the lock has passed",
  async () => {
    const uuid = await paid();
    const { world, maker } = t;
    maker.skewMs = 6 * HOUR_MS;
    await world.advance(3 * HOUR_MS);
    expect(maker.has(uuid, (e) => e.type === "tx_signed" && e.slot === "makerPaymentRefund")).toBe(false);
    maker.skewMs = 0;
    await world.runUntil("the maker ends", () => maker.outcome(uuid) !== null, 3 * HOUR_MS);
    expect([maker.outcome(uuid), failedRefunds(uuid)]).toEqual(["refunded", 0]);
    expect(books(t).maker.purse[TOKEN]).toBe(before.maker.purse[TOKEN]);
  },
  TIMEOUT_MS,
);

test(
  "with nodes that stand still, too, its refund fails in a block, and is tried a few times more until its time, not a hundred times and then no more",
  async () => {
    const uuid = await paid();
    const { world, maker } = t;
    maker.link(ETH).isStuck = true;
    maker.skewMs = 6 * HOUR_MS;
    await world.advance(30 * MINUTE_MS);
    maker.link(ETH).isStuck = false;
    await world.advance(2.5 * HOUR_MS);
    maker.skewMs = 0;
    await world.runUntil("the maker ends", () => maker.outcome(uuid) !== null, 3 * HOUR_MS);
    expect(maker.outcome(uuid)).toBe("refunded");
    expect(failedRefunds(uuid)).toBeGreaterThan(0);
    expect(failedRefunds(uuid)).toBeLessThan(10);
  },
  TIMEOUT_MS,
);
