import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { MOMENTS } from "./support/moments.ts";
import { topologyOf, withNetwork } from "./support/network.ts";
import { ended, expectTraded, match, sidesOf } from "./support/trade.ts";

const BOTH = ["DOC", "MARTY"];
const TRADE = { base: "DOC", rel: "MARTY", price: "0.5", volume: "10", taken: "4", by: "buy" } as const;

let copies: string;
beforeEach(() => {
  copies = mkdtempSync(join(tmpdir(), "swapnode-copies-"));
});
afterEach(() => rmSync(copies, { recursive: true, force: true }));

const funded = (name: string) => ({
  name,
  enable: BOTH,
  fund: { DOC: "100", MARTY: "100" },
  config: { swapnode: { swap_copies: copies } },
});
const network = () => topologyOf({ block_time_s: 0.5, nodes: [{ name: "seed", seed: true }, funded("maker"), funded("taker")] });

/** A swap taken from a copy pays nothing any more: these have paid. */
const PAID = MOMENTS.filter(
  ({ who, line }) => !("slot" in line && line.slot === "makerPayment") || (who === "maker" && line.type !== "tx_signed"),
);

for (const { who, moment, line } of PAID) {
  test(`a ${who} killed ${moment}, whose data is lost for good, finishes the swap from its copy`, async () => {
    await withNetwork(network(), async ({ node, logs, revive }) => {
      const before = await sidesOf(node("maker"), node("taker"), BOTH);
      const victim = node(who);
      const dying = logs.next(who, line, () => victim.process.kill("SIGKILL"));
      const uuid = await match(node("maker"), node("taker"), TRADE);
      await dying;
      expect(await victim.process.exited).toBe("SIGKILL");
      const dbdir = String(victim.config.mm2.dbdir);
      rmSync(dbdir, { recursive: true });
      mkdirSync(dbdir);
      await revive(who);
      const [maker, taker] = [node("maker"), node("taker")];
      const done = await ended(maker, taker, uuid);
      expect([done.maker.is_success, done.taker.is_success]).toEqual([true, true]);
      expectTraded(TRADE, before, await sidesOf(maker, taker, BOTH));
      for (const wallet of readdirSync(copies)) {
        expect(statSync(join(copies, wallet, "open-swaps")).mode & 0o777).toBe(0o600);
        expect(readdirSync(join(copies, wallet))).toEqual(["open-swaps"]);
      }
    });
  });
}
