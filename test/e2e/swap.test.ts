import { expect, test } from "vitest";
import { until } from "../../src/devnet/devnet.ts";
import { KMD_FAMILY, LEGACY, SEGWIT, SEGWIT_ADDRESS } from "./support/coins.ts";
import { topologyOf, withNetwork } from "./support/network.ts";
import { ended, expectTraded, match, sidesOf, type Trade, take } from "./support/trade.ts";

const BOTH = ["DOC", "MARTY"];
const funded = (name: string) => ({ name, enable: BOTH, fund: { DOC: "100", MARTY: "100" } });
const PAIR = topologyOf({ block_time_s: 0.5, nodes: [{ name: "seed", seed: true }, funded("alice"), funded("bob")] });

test("buy and sell complete in both directions, an order is filled in parts, and its rest stays on offer", async () => {
  await withNetwork(PAIR, async ({ node }) => {
    const [alice, bob] = [node("alice"), node("bob")];
    const offer = { base: "DOC", rel: "MARTY", price: "0.5", volume: "10" } as const;
    const steps = [
      { maker: alice, taker: bob, trade: { ...offer, taken: "4", by: "buy" } },
      { maker: alice, taker: bob, trade: { ...offer, taken: "6", by: "sell" } },
      { maker: bob, taker: alice, trade: { base: "MARTY", rel: "DOC", price: "2", volume: "3", taken: "3", by: "sell" } },
    ] as const satisfies readonly { trade: Trade; [side: string]: unknown }[];
    for (const [i, { maker, taker, trade }] of steps.entries()) {
      const before = await sidesOf(maker, taker, BOTH);
      // The second step takes what the first left.
      const uuid = i === 1 ? await take(taker, trade) : await match(maker, taker, trade);
      const done = await ended(maker, taker, uuid);
      expect([done.maker.is_success, done.taker.is_success]).toEqual([true, true]);
      expectTraded(trade, before, await sidesOf(maker, taker, BOTH));
      if (i > 0) continue;
      const { result } = await alice.rpc.call("my_orders");
      const [order] = Object.values((result as { maker_orders: Record<string, { available_amount: string }> }).maker_orders);
      expect(order?.available_amount).toBe("6");
      await until("bob sees the rest", async () => {
        const { asks } = await bob.rpc.call("orderbook", { base: "DOC", rel: "MARTY" });
        return (asks as { maxvolume: string }[])[0]?.maxvolume === "6" ? true : null;
      });
    }
    const { result } = await alice.rpc.call("my_orders");
    expect(result).toMatchObject({ maker_orders: {}, taker_orders: {} });
  });
});

test("a node that joins late sees the whole book and can take from it", async () => {
  await withNetwork(PAIR, async ({ net, node, revive }) => {
    const alice = node("alice");
    await node("bob").process.stop();
    const trade = { base: "DOC", rel: "MARTY", price: "0.5", volume: "10", taken: "1", by: "buy" } as const;
    await alice.rpc.call("setprice", { base: "DOC", rel: "MARTY", price: "0.5", volume: "10" });
    await alice.rpc.call("setprice", { base: "DOC", rel: "MARTY", price: "0.6", volume: "5", cancel_previous: false });
    await alice.rpc.call("setprice", { base: "MARTY", rel: "DOC", price: "2.5", volume: "7" });
    await until("the seed has the book", async () => {
      const { numasks, numbids } = await node("seed").rpc.call("orderbook", { base: "DOC", rel: "MARTY" });
      return numasks === 2 && numbids === 1 ? true : null;
    });
    const bob = await revive("bob");
    const book = await until("bob has the book", async () => {
      const found = await bob.rpc.call("orderbook", { base: "DOC", rel: "MARTY" });
      return found.numasks === 2 && found.numbids === 1 ? found : null;
    });
    const asks = book.asks as { price: string; pubkey: string; maxvolume: string }[];
    expect(asks.map((a) => [a.price, a.maxvolume])).toEqual([
      ["0.6", "5"],
      ["0.5", "10"],
    ]);
    expect(asks.every((a) => a.pubkey === alice.pubkey)).toBe(true);
    const before = await sidesOf(alice, bob, BOTH);
    const uuid = await take(bob, trade);
    await ended(alice, bob, uuid);
    expectTraded(trade, before, await sidesOf(alice, bob, BOTH));
    expect(net.nodes.size).toBe(3);
  });
});

test("legacy, segwit and KMD-family coins trade for each other", async () => {
  const coins = [LEGACY, SEGWIT, SEGWIT_ADDRESS, KMD_FAMILY];
  const tickers = coins.map((c) => c.coin);
  const all = (name: string) => ({ name, enable: tickers, fund: Object.fromEntries(tickers.map((t) => [t, "50"])) });
  const topology = topologyOf({ coins, block_time_s: 0.5, nodes: [{ name: "seed", seed: true }, all("alice"), all("bob")] });
  await withNetwork(topology, async ({ node }) => {
    const [alice, bob] = [node("alice"), node("bob")];
    expect(alice.addresses.LEGA).toMatch(/^D/);
    expect(alice.addresses.SEGW).toMatch(/^[mn]/);
    expect(alice.addresses.SEGA).toMatch(/^segw1q/);
    expect(alice.addresses.KMDF).toMatch(/^R/);
    const trades = [
      { base: LEGACY.coin, rel: SEGWIT.coin, price: "2", volume: "5", taken: "5", by: "buy" },
      { base: SEGWIT_ADDRESS.coin, rel: KMD_FAMILY.coin, price: "0.1", volume: "5", taken: "4", by: "sell" },
      { base: KMD_FAMILY.coin, rel: LEGACY.coin, price: "1.5", volume: "2", taken: "2", by: "buy" },
    ] as const satisfies readonly Trade[];
    for (const trade of trades) {
      const before = await sidesOf(alice, bob, tickers);
      const uuid = await match(alice, bob, trade);
      const done = await ended(alice, bob, uuid);
      expect([done.maker.is_success, done.taker.is_success]).toEqual([true, true]);
      expectTraded(trade, before, await sidesOf(alice, bob, tickers));
    }
  });
});

test("both nodes stopped in the middle of a swap finish it after they are started again", async () => {
  await withNetwork(PAIR, async ({ node, logs, revive }) => {
    const [alice, bob] = [node("alice"), node("bob")];
    const trade = { base: "DOC", rel: "MARTY", price: "0.5", volume: "10", taken: "4", by: "buy" } as const;
    const before = await sidesOf(alice, bob, BOTH);
    const paying = logs.next("alice", { event: "swap_event", type: "tx_attempted", slot: "makerPayment" });
    const uuid = await match(alice, bob, trade);
    await paying;
    expect(await Promise.all([alice, bob].map((n) => n.process.stop().then(() => n.process.exited)))).toEqual([0, 0]);
    const [maker, taker] = await Promise.all([revive("alice"), revive("bob")]);
    const done = await ended(maker, taker, uuid);
    expect([done.maker.is_success, done.taker.is_success]).toEqual([true, true]);
    expectTraded(trade, before, await sidesOf(maker, taker, BOTH));
  });
});
