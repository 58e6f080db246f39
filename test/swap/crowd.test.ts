import { afterEach, describe, expect, test } from "vitest";
import { SwapWorld, type Ticker } from "../fakes/swapWorld.ts";

let world: SwapWorld;
afterEach(() => world.close());

test("eight swaps of the same two nodes, started in one second on one output each, all succeed, and no output is spent twice", async () => {
  world = await SwapWorld.open();
  const uuids: string[] = [];
  for (let i = 0; i < 8; i++) uuids.push(await world.start({ makerAmount: "0.5", takerAmount: "0.25" }));
  for (const uuid of uuids) expect(await world.finish(uuid), world.report()).toEqual({ maker: "success", taker: "success" });
  const inputs: string[] = [];
  for (const uuid of uuids) {
    for (const side of [world.maker, world.taker]) {
      const { own } = await side.state(uuid);
      for (const slot of ["fee", side.role === "maker" ? "makerPayment" : "takerPayment"] as const) {
        const raw = own[slot]?.raw;
        const ticker: Ticker = side.role === "maker" ? "AAA" : "BBB";
        const decoded = raw ? await world.daemon(ticker).call("decoderawtransaction", [raw]) : { vin: [] };
        for (const { txid, vout } of (decoded as { vin: { txid: string; vout: number }[] }).vin) inputs.push(`${txid}:${vout}`);
      }
    }
  }
  expect(inputs.length).toBeGreaterThanOrEqual(24);
  expect(new Set(inputs).size).toBe(inputs.length);
});

describe("a backend that refuses every broadcast for a minute", () => {
  for (const [who, ticker] of [
    ["maker", "AAA"],
    ["maker", "BBB"],
    ["taker", "AAA"],
    ["taker", "BBB"],
  ] as const) {
    test(`the ${who}'s of ${ticker}: what is refused is sent again, and the swap succeeds`, async () => {
      world = await SwapWorld.open();
      const rpc = world.side(who).rpcOf(ticker);
      rpc.instead.set("sendrawtransaction", { ok: false, error: { kind: "rpc", code: -26, message: "66: mempool min fee not met" } });
      const uuid = await world.start();
      await world.until("something is refused", () => (rpc.counts.get("sendrawtransaction") ?? 0) > 2, 120).catch(() => undefined);
      await world.advance(60);
      rpc.instead.clear();
      expect(await world.finish(uuid), world.report()).toEqual({ maker: "success", taker: "success" });
    });
  }
});

test("a transaction evicted from the mempool at any time comes back by itself", async () => {
  world = await SwapWorld.open({ blockSec: null });
  const uuid = await world.start();
  for (const [role, slot, ticker] of [
    ["taker", "fee", "BBB"],
    ["maker", "makerPayment", "AAA"],
    ["taker", "takerPayment", "BBB"],
    ["maker", "takerPaymentSpend", "BBB"],
    ["taker", "makerPaymentSpend", "AAA"],
  ] as const) {
    const txid = async (): Promise<string> => (await world.side(role).state(uuid)).own[slot]?.txid ?? "";
    const { graph } = world.chain(ticker).mempool;
    await world.until(`${slot} is out`, async () => graph.get(await txid()) !== undefined, 60);
    graph.removeWithDescendants(await txid());
    await world.until(`${slot} is back`, async () => graph.get(await txid()) !== undefined, 60);
    world.mine(ticker);
  }
  expect(await world.finish(uuid, 120)).toEqual({ maker: "success", taker: "success" });
});
