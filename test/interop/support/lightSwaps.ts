import { afterAll, beforeAll, describe, expect, onTestFailed, test } from "vitest";
import { printTails } from "../../e2e/support/network.ts";
import {
  ended,
  endedAt,
  expectChange,
  expectTraded,
  match,
  mostForRefund,
  sidesOf,
  type Trade,
  wealthOf,
} from "../../e2e/support/trade.ts";
import { BRIEF_LOCK_SEC, type LightNetwork } from "./lightNetwork.ts";
import type { LightServer } from "./lightServer.ts";
import { BTC, LTC } from "./regtestChains.ts";

const BOTH = [LTC.coin, BTC.coin];
const SELLS_LTC = { base: LTC.coin, rel: BTC.coin, price: "0.5", volume: "2", taken: "2", by: "buy" } as const;
const SELLS_BTC = { base: BTC.coin, rel: LTC.coin, price: "4", volume: "0.5", taken: "0.5", by: "sell" } as const;

/** What a test reads of `electrum_servers`. */
type Server = { readonly state: string; readonly contradictions: number; readonly height: number | null };

/** Swaps of nodes on Electrum servers over litecoind, with trouble of all kinds. @param name of the servers */
export function testSwapsOnServers(name: string, start: () => Promise<LightNetwork<LightServer>>): void {
  describe(`${name} over litecoind`, () => {
    let started: LightNetwork<LightServer>;
    beforeAll(async () => {
      started = await start();
    });
    afterAll(() => started?.network.net.stop());

    /** A swap between two nodes, in which `meanwhile` happens, that ends well. */
    async function swap(
      maker: string,
      taker: string,
      trade: Trade,
      meanwhile: () => Promise<unknown> = async () => undefined,
    ): Promise<void> {
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

    async function serversOf(name: string): Promise<readonly Server[]> {
      const { result } = await started.network.node(name).rpc.call("electrum_servers", { mmrpc: "2.0", id: 1, params: { coin: LTC.coin } });
      return (result as { servers: readonly Server[] }).servers;
    }

    test("one node with three servers and one on the daemon swap in both directions", async () => {
      await swap("light", "full", SELLS_LTC);
      await swap("full", "light", SELLS_BTC);
      const { result } = await started.network.node("light").rpc.call("my_tx_history", { coin: LTC.coin, limit: 100 });
      const { transactions } = result as { transactions: readonly { my_balance_change: string }[] };
      const { balance } = await started.network.node("light").rpc.call("my_balance", { coin: LTC.coin });
      expect(transactions.reduce((sum, tx) => sum + Number(tx.my_balance_change), 0)).toBeCloseTo(Number(balance), 6);
    });

    test("both on servers: a server killed in the middle of a swap changes nothing, and is used again when it is back", async () => {
      const [server] = started.servers;
      const { logs } = started.network;
      await swap("light", "lighter", SELLS_LTC, async () => {
        await logs.next("lighter", { type: "tx_attempted", slot: "takerPayment" });
        await server?.kill();
      });
      const back = ["light", "lighter"].map((name) => logs.next(name, { event: "server_connected" }));
      await server?.start();
      await Promise.all(back);
      expect((await serversOf("light")).map(({ state }) => state)).toEqual(["connected", "connected", "connected"]);
    });

    test("both on servers: a maker and a taker, each killed with -9 in the middle, finish the swap after they are started again", async () => {
      const { logs, kill, revive } = started.network;
      const killedAt = async (name: string, slot: string): Promise<void> => {
        await logs.next(name, { type: "tx_attempted", slot }, () => started.network.node(name).process.kill("SIGKILL"));
        await kill(name);
        await revive(name);
      };
      await swap("light", "lighter", SELLS_BTC, () =>
        Promise.all([killedAt("light", "makerPayment"), killedAt("lighter", "takerPayment")]),
      );
    });

    test("both on servers: the block with the maker's payment is taken out of the chain, and the swap ends well", async () => {
      await swap("light", "lighter", SELLS_LTC, async () => {
        const confirmed = await started.network.logs.next("lighter", { type: "tx_confirmed", slot: "makerPayment" });
        await started.ltc.reorg(Number(confirmed.height));
      });
    });

    test("a maker on servers whose taker disappears for good gets its payment back", async () => {
      const { node, logs } = started.network;
      onTestFailed(() => printTails(logs));
      const [maker, taker] = [node("brief"), node("vanishing")];
      const before = await wealthOf(maker, BOTH);
      const locked = logs.next("brief", { type: "tx_confirmed", slot: "makerPayment" });
      const paying = logs.next("brief", { type: "tx_attempted", slot: "makerPayment" }, () => taker.process.kill("SIGKILL"));
      const uuid = await match(maker, taker, SELLS_LTC);
      await paying;
      await locked;
      await started.ltc.leapTo(Math.floor(Date.now() / 1_000) + 2 * BRIEF_LOCK_SEC + 1);
      expect(await endedAt(maker, uuid)).toMatchObject({ is_success: false, swapnode: { outcome: "refunded" } });
      expectChange("the maker", LTC.coin, before, await wealthOf(maker, BOTH), "0", mostForRefund(SELLS_LTC.taken));
    });

    test("no server was found lying", async () => {
      for (const { contradictions } of [...(await serversOf("light")), ...(await serversOf("lighter"))]) expect(contradictions).toBe(0);
    });
  });
}
