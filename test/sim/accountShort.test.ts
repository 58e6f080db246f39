import { afterEach, expect, test } from "vitest";
import { HOUR_MS } from "../../sim/world/simWorld.ts";
import { type Books, books } from "./accountAudit.ts";
import { ended } from "./accountRun.ts";
import { type AccountWorld, accountWorld, ETH, match, TOKEN, UTXO } from "./accountTrade.ts";

const SEED = 20_261_126;
const TIMEOUT_MS = 120_000;

let t: AccountWorld;
let before: Books;
afterEach(() => t.world.close());

test.each([
  [UTXO, ETH],
  [UTXO, TOKEN],
] as const)(
  "%s for %s: a taker whose nodes are too few to agree, from its payment until after its lock, has the secret from the one that is left",
  async (base, rel) => {
    t = await accountWorld({ seed: SEED, pollMs: 15_000 });
    before = books(t);
    const link = t.taker.link(ETH);
    let begun = false;
    t.taker.onEvent = (event) => {
      if (begun || event.type !== "tx_seen" || event.slot !== "takerPayment" || event.block === null) return;
      begun = true;
      link.isOneLeft = true;
      link.fault({ kind: "http_500" }, { forMs: 5 * HOUR_MS });
    };
    const uuid = await match(t, base, rel, "4", "0.5");
    // A maker that is not honest would take its own payment back after its lock, which ends before the outage does.
    await t.world.runUntil(
      "the taker has claimed",
      () => t.taker.has(uuid, (e) => e.type === "tx_confirmed" && e.slot === "makerPaymentSpend"),
      HOUR_MS,
    );
    expect(await ended(t, uuid, before, 4_000_000n)).toBe("success success");
    expect(begun).toBe(true);
  },
  TIMEOUT_MS,
);
