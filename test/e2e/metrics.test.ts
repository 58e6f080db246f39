import { expect, test } from "vitest";
import { type DevNode, until } from "../../src/devnet/devnet.ts";
import { topologyOf, withNetwork } from "./support/network.ts";

const BOTH = ["DOC", "MARTY"];
const funded = (name: string) => ({ name, enable: BOTH, fund: { DOC: "100", MARTY: "100" } });
const PAIR = topologyOf({ block_time_s: 0.5, nodes: [{ name: "seed", seed: true }, funded("alice"), funded("bob")] });

type Values = Readonly<Record<string, number>>;

async function measured(node: DevNode): Promise<Values> {
  const { metrics } = await node.rpc.call("metrics");
  return Object.fromEntries((metrics as { key: string; value: number }[]).map(({ key, value }) => [key, value]));
}

const reaches = (node: DevNode, what: string, holds: (values: Values) => boolean): Promise<Values> =>
  until(`${node.name}: ${what}`, async () => {
    const values = await measured(node);
    return holds(values) ? values : null;
  });

test("metrics tell of peers, messages, the book, orders, calls, and a swap from its start to its end", async () => {
  await withNetwork(PAIR, async ({ node }) => {
    const [seed, alice, bob] = [node("seed"), node("alice"), node("bob")];
    await reaches(seed, "two peers", (v) => v["p2p.connected_peers.count"] === 2);
    expect(await reaches(alice, "a relay", (v) => v["p2p.relay_mesh.len"] === 1)).toMatchObject({
      "p2p.connected_relays.len": 1,
      "p2p.received_messages.period_in_secs": 60,
      "orders.maker.len": 0,
      "swaps.active.len": 0,
      "swaps.finished.count": 0,
      "rpc.failures.count": 0,
    });
    await alice.rpc.call("setprice", { base: "DOC", rel: "MARTY", price: "1", volume: "1" });
    const withOrder = await reaches(seed, "the order", (v) => v["orderbook.len"] === 1);
    expect(withOrder["p2p.received_messages.count"]).toBeGreaterThan(0);
    expect(await measured(alice)).toMatchObject({ "orders.maker.len": 1 });

    const before = await measured(bob);
    await expect(bob.rpc.call("order_status", { uuid: "00000000-0000-4000-8000-000000000001" })).rejects.toThrow();
    const after = await measured(bob);
    expect(after["rpc.failures.count"]).toBe((before["rpc.failures.count"] ?? 0) + 1);
    // The first `metrics` and the refused call; the one that tells is not answered yet.
    expect(after["rpc.requests.count"]).toBe((before["rpc.requests.count"] ?? 0) + 2);

    await bob.rpc.call("buy", { base: "DOC", rel: "MARTY", price: "1", volume: "1" });
    await reaches(bob, "a swap", (v) => v["swaps.active.len"] === 1);
    for (const side of [alice, bob]) {
      expect(await reaches(side, "the end of the swap", (v) => v["swaps.finished.count"] === 1)).toMatchObject({ "orders.maker.len": 0 });
    }
  });
});
