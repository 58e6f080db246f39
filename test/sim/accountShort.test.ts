import { afterEach, expect, test } from "vitest";
import { HOUR_MS } from "../../sim/world/simWorld.ts";
import type { Slot } from "../../src/core/swap/events.ts";
import { type Books, books } from "./accountAudit.ts";
import { onSend } from "./accountMeddling.ts";
import { ended } from "./accountRun.ts";
import { type AccountWorld, accountWorld, ETH, match, TOKEN, UTXO } from "./accountTrade.ts";

const SEED = 20_261_126;
const TIMEOUT_MS = 120_000;

let t: AccountWorld;
let before: Books;
afterEach(() => t.world.close());

/** From a step of the taker's on too few of its nodes are left to agree on anything, for longer than both locks. */
function shortFrom(slot: Slot): void {
  const link = t.taker.link(ETH);
  t.taker.onEvent = (event) => {
    if (link.isOneLeft || event.type !== "tx_seen" || event.slot !== slot || event.block === null) return;
    link.isOneLeft = true;
    link.fault({ kind: "http_500" }, { forMs: 6 * HOUR_MS });
  };
}

test.each([
  [UTXO, ETH],
  [UTXO, TOKEN],
] as const)(
  "%s for %s: a taker whose nodes are too few to agree, from its payment until after its lock, has the secret from the one that is left",
  async (base, rel) => {
    t = await accountWorld({ seed: SEED, pollMs: 15_000 });
    before = books(t);
    shortFrom("takerPayment");
    const uuid = await match(t, base, rel, "4", "0.5");
    // A maker that is not honest would take its own payment back after its lock, which ends before the outage does.
    await t.world.runUntil(
      "the taker has claimed",
      () => t.taker.has(uuid, (e) => e.type === "tx_confirmed" && e.slot === "makerPaymentSpend"),
      HOUR_MS,
    );
    expect(await ended(t, uuid, before, 4_000_000n)).toBe("success success");
  },
  TIMEOUT_MS,
);

test.each([
  [UTXO, ETH],
  [UTXO, TOKEN],
] as const)(
  "%s for %s: its refund is in a block before the maker's lock, though no block was seen since: behind that nothing keeps a maker from claiming",
  async (base, rel) => {
    t = await accountWorld({ seed: SEED, pollMs: 15_000 });
    before = books(t);
    shortFrom("takerPayment");
    t.maker.storeFault = (_uuid, { event }) => (event.type === "tx_signed" && event.slot === "takerPaymentSpend" ? "refuse" : undefined);
    let refund: string | null = null;
    onSend(t.taker, "refund", ({ txid }) => {
      refund ??= txid;
    });
    const uuid = await match(t, base, rel, "4", "0.5");
    const isMined = (): boolean => refund !== null && t.world.accountChain(ETH).find(refund)?.block != null;
    await t.world.runUntil("the refund is in a block", isMined, 4 * HOUR_MS);
    expect(t.taker.link(ETH).isOneLeft).toBe(true);
    expect(await ended(t, uuid, before, 4_000_000n)).toBe("refunded refunded");
  },
  TIMEOUT_MS,
);
