import { afterAll, beforeAll, describe, expect, onTestFailed, test } from "vitest";
import { printTails } from "../e2e/support/network.ts";
import { ended, expectTraded, match, sidesOf, type Trade } from "../e2e/support/trade.ts";
import { type ElectrumxNetwork, startElectrumxNetwork } from "./support/electrumxNetwork.ts";
import { electrumxSkipReason, isElectrumxSkipped } from "./support/programs.ts";
import { BTC, LTC } from "./support/regtestChains.ts";

const BOTH = [LTC.coin, BTC.coin];
const SELLS_LTC = { base: LTC.coin, rel: BTC.coin, price: "0.5", volume: "2", taken: "2", by: "buy" } as const;
const SELLS_BTC = { base: BTC.coin, rel: LTC.coin, price: "4", volume: "0.5", taken: "0.5", by: "sell" } as const;

describe.skipIf(isElectrumxSkipped)(`ElectrumX over litecoind${electrumxSkipReason}`, () => {
  let started: ElectrumxNetwork;
  beforeAll(async () => {
    started = await startElectrumxNetwork();
  });
  afterAll(() => started?.network.net.stop());

  /** A swap between two nodes, in which `meanwhile` happens, that ends well. */
  async function swap(maker: string, taker: string, trade: Trade, meanwhile: () => Promise<void> = async () => undefined): Promise<void> {
    const { logs, node } = started.network;
    onTestFailed(() => printTails(logs));
    const before = await sidesOf(node(maker), node(taker), BOTH);
    const happening = meanwhile();
    const uuid = await match(node(maker), node(taker), trade);
    await happening;
    const done = await ended(node(maker), node(taker), uuid);
    expect([done.maker.is_success, done.taker.is_success]).toEqual([true, true]);
    expectTraded(trade, before, await sidesOf(node(maker), node(taker), BOTH));
  }

  test("one node over TCP, TLS and WebSocket to three servers and one on the daemon swap in every role", async () => {
    await swap("light", "full", SELLS_LTC);
    await swap("full", "light", SELLS_LTC);
    await swap("light", "full", SELLS_BTC);
    await swap("full", "light", SELLS_BTC);
  });
});
