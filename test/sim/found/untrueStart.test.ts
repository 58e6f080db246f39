import { expect, test } from "vitest";
import { HOUR_MS } from "../../../sim/world/simWorld.ts";
import { books } from "../accountAudit.ts";
import { ended } from "../accountRun.ts";
import { accountWorld, ETH, match, UTXO } from "../accountTrade.ts";

const TIMEOUT_MS = 120_000;

// `npm run sim:soak -- --from 400019 --orders 120 --accounts 2 --electrum 40%`: most of a taker's nodes named heights 500 too high when
// its swap began, and its node was down while the maker claimed. The claim was looked for above those heights only, for ever.
test.each([
  ["down while the maker claims", true],
  ["there all the time", false],
])(
  "a taker whose nodes named untrue heights when its swap began, and which is %s, finds the claim and its secret",
  async (_what, isDown) => {
    const t = await accountWorld({ seed: 400_019, pollMs: 15_000 });
    const { world, taker } = t;
    const before = books(t);
    taker.link(ETH).fault({ kind: "wrong_height", delta: 500 });
    await world.advance(60_000);
    const uuid = await match(t, UTXO, ETH, "4", "0.5");
    await world.runUntil("the taker pays", () => taker.has(uuid, (e) => e.type === "tx_attempted" && e.slot === "takerPayment"), HOUR_MS);
    taker.link(ETH).faults.clear();
    if (isDown) {
      taker.crash();
      await world.advance(HOUR_MS);
      await taker.start([UTXO, ETH]);
    }
    expect(await ended(t, uuid, before)).toBe("success success");
    await world.close();
  },
  TIMEOUT_MS,
);
