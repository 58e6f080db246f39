import { spawnSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { DevNode } from "../../src/devnet/devnet.ts";
import { topologyOf, withNetwork } from "./support/network.ts";
import { expectEndedWell, match, sidesOf } from "./support/trade.ts";

const BOTH = ["DOC", "MARTY"];
const funded = (name: string) => ({ name, enable: BOTH, fund: { DOC: "100", MARTY: "100" } });
const PAIR = topologyOf({ block_time_s: 0.5, nodes: [{ name: "seed", seed: true }, funded("maker"), funded("taker")] });
const TRADE = { base: "DOC", rel: "MARTY", price: "0.5", volume: "10", taken: "4", by: "buy" } as const;
/** What a swap logs that has something to store and cannot: first at once, then at each new try. */
const TROUBLE = { event: "swap_trouble", what: /the disk is full/ } as const;
const TRIES = 3;

/** No file of the process may grow past so many bytes. */
const limitFiles = (pid: number, bytes: number | "unlimited"): boolean =>
  spawnSync("prlimit", ["--pid", String(pid), `--fsize=${bytes}:unlimited`]).status === 0;
/** Nothing can be written, not even over what is there. `false` lifts it. */
const setFull = (pid: number, full: boolean): boolean => limitFiles(pid, full ? 1 : "unlimited");
/** What is there can be written over, and nothing grows: a disk without space. */
function setFilledUp({ process, dataDir }: DevNode): void {
  const files = readdirSync(dataDir, { recursive: true, encoding: "utf8" }).filter((file) => /\.db(?:-wal)?$/.test(file));
  expect(files).toHaveLength(2);
  limitFiles(process.pid, Math.max(...files.map((file) => statSync(join(dataDir, file)).size)));
}
const skipped = setFull(process.pid, false) ? "" : " (skipped: prlimit is not there)";

const offers = async (node: DevNode): Promise<readonly string[]> =>
  Object.keys(((await node.rpc.call("my_orders")).result as { maker_orders: object }).maker_orders);

test.skipIf(skipped !== "")(
  `a node whose disk is full refuses an order with a sentence, keeps those it has, and goes on when there is space${skipped}`,
  async () => {
    await withNetwork(PAIR, async ({ node }) => {
      const maker = node("maker");
      const offer = { base: "DOC", rel: "MARTY", price: "0.5", volume: "10", cancel_previous: false };
      await maker.rpc.call("setprice", offer);
      const before = await offers(maker);
      setFull(maker.process.pid, true);
      await expect(maker.rpc.call("setprice", offer)).rejects.toThrow(/the disk of the node is full, so nothing was stored/);
      await expect(maker.rpc.call("cancel_all_orders", { cancel_by: { type: "All" } })).rejects.toThrow(/the disk of the node is full/);
      expect(await offers(maker)).toEqual(before);
      setFull(maker.process.pid, false);
      await maker.rpc.call("setprice", offer);
      expect(await offers(maker)).toHaveLength(2);
    });
  },
);

test.skipIf(skipped !== "")(
  `a disk that fills up when the maker has just signed its payment costs the swap nothing but time${skipped}`,
  async () => {
    await withNetwork(PAIR, async ({ node, logs }) => {
      const [maker, taker] = [node("maker"), node("taker")];
      const before = await sidesOf(maker, taker, BOTH);
      const full = logs.next("maker", { type: "tx_signed", slot: "makerPayment" }, () => setFull(maker.process.pid, true));
      const uuid = await match(maker, taker, TRADE);
      await full;
      for (let tries = 0; tries < TRIES; tries++) await logs.next("maker", TROUBLE);
      setFull(maker.process.pid, false);
      await expectEndedWell({ maker, taker, trade: TRADE, before, uuid });
    });
  },
);

test.skipIf(skipped !== "")(
  `one that fills up when the taker has just let its payment go keeps the taker from its coin for that long, and the maker from nothing${skipped}`,
  async () => {
    await withNetwork(PAIR, async ({ node, logs }) => {
      const [maker, taker] = [node("maker"), node("taker")];
      const before = await sidesOf(maker, taker, BOTH);
      const full = logs.next("taker", { type: "tx_attempted", slot: "takerPayment" }, () => setFull(taker.process.pid, true));
      const claimed = logs.next("maker", { type: "tx_confirmed", slot: "takerPaymentSpend" });
      const uuid = await match(maker, taker, TRADE);
      await Promise.all([full.then(() => logs.next("taker", TROUBLE)), claimed]);
      setFull(taker.process.pid, false);
      await expectEndedWell({ maker, taker, trade: TRADE, before, uuid });
    });
  },
);

test.skipIf(skipped !== "")(
  `disks that fill up once the swap has begun, and stay so, cost neither side anything: there is room kept for it${skipped}`,
  async () => {
    await withNetwork(PAIR, async ({ node, logs }) => {
      const [maker, taker] = [node("maker"), node("taker")];
      const before = await sidesOf(maker, taker, BOTH);
      const started = [maker, taker].map((n) => logs.next(n.name, { type: "negotiated" }, () => setFilledUp(n)));
      const uuid = await match(maker, taker, TRADE);
      await Promise.all(started);
      await expectEndedWell({ maker, taker, trade: TRADE, before, uuid });
    });
  },
);
