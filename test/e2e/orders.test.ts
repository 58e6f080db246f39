import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { type DevNode, until } from "../../src/devnet/devnet.ts";
import { orderFile, walletFolder } from "./support/files.ts";
import { topologyOf, withNetwork } from "./support/network.ts";

const BOTH = ["DOC", "MARTY"];
const funded = (name: string) => ({ name, enable: BOTH, fund: { DOC: "100", MARTY: "100" } });
const PAIR = topologyOf({ block_time_s: 0.5, nodes: [{ name: "seed", seed: true }, funded("alice"), funded("bob")] });

type Placed = { readonly uuid: string };
const place = async (node: DevNode, method: string, params: Record<string, unknown>): Promise<string> =>
  ((await node.rpc.call(method, params)).result as Placed).uuid;
const makerOrders = async (node: DevNode): Promise<Record<string, Record<string, unknown>>> =>
  ((await node.rpc.call("my_orders")).result as { maker_orders: Record<string, Record<string, unknown>> }).maker_orders;

async function seesAsks(node: DevNode, uuids: readonly string[]): Promise<void> {
  await until(`${node.name} sees ${uuids.length} asks`, async () => {
    const { asks } = await node.rpc.call("orderbook", { base: "DOC", rel: "MARTY" });
    const seen = (asks as Placed[]).map((a) => a.uuid).sort();
    return JSON.stringify(seen) === JSON.stringify([...uuids].sort()) ? true : null;
  });
}

/** Rows of the history table, which has KDF's columns. The node must not be running. */
function historyRows(node: DevNode): readonly Record<string, unknown>[] {
  const db = new DatabaseSync(join(walletFolder(node), "swapnode.db"), { readOnly: true });
  try {
    return db
      .prepare("SELECT uuid, type, initial_action, base, rel, status, was_taker FROM my_orders ORDER BY id")
      .all()
      .map((row) => ({ ...row }));
  } finally {
    db.close();
  }
}

const MAKER_FILE_KEYS = [
  "base",
  "base_orderbook_ticker",
  "conf_settings",
  "created_at",
  "matches",
  "max_base_vol",
  "min_base_vol",
  "p2p_privkey",
  "price",
  "rel",
  "rel_orderbook_ticker",
  "save_in_history",
  "started_swaps",
  "timeout_in_minutes",
  "updated_at",
  "uuid",
];
const TAKER_FILE_KEYS = [
  "base_orderbook_ticker",
  "created_at",
  "matches",
  "min_volume",
  "order_type",
  "p2p_privkey",
  "rel_orderbook_ticker",
  "request",
  "save_in_history",
  "timeout",
];
const keysOf = (value: unknown): readonly string[] => Object.keys(value as object).sort();

test("open orders survive kill -9 and SIGTERM of their node, are on offer again by themselves, and leave files and rows as KDF does", async () => {
  await withNetwork(PAIR, async ({ node, kill, revive }) => {
    const first = await place(node("alice"), "setprice", { base: "DOC", rel: "MARTY", price: "0.5", volume: "10" });
    const offer = { base: "DOC", rel: "MARTY", price: "0.6", volume: "5", cancel_previous: false };
    const unsaved = await place(node("alice"), "setprice", { ...offer, save_in_history: false });
    await seesAsks(node("bob"), [first, unsaved]);
    const before = await makerOrders(node("alice"));

    await kill("alice");
    expect(await revive("alice").then(makerOrders)).toEqual(before);
    expect(((await node("alice").rpc.call("coins_needed_for_kick_start")).result as string[]).sort()).toEqual(BOTH);
    await seesAsks(node("bob"), [first, unsaved]);

    await node("alice").process.stop();
    expect(await makerOrders(await revive("alice"))).toEqual(before);
    await seesAsks(node("bob"), [first, unsaved]);

    const alice = node("alice");
    expect(keysOf(orderFile(alice, "MAKER", first))).toEqual(MAKER_FILE_KEYS);
    expect(orderFile(alice, "MAKER", first)).toMatchObject({
      uuid: first,
      base: "DOC",
      rel: "MARTY",
      save_in_history: true,
      price: [
        [1, [1]],
        [1, [2]],
      ],
      max_base_vol: [
        [1, [10]],
        [1, [1]],
      ],
    });
    expect(orderFile(alice, "MAKER", unsaved)).toMatchObject({ uuid: unsaved, save_in_history: false });

    // Nobody sells at this price: the request stays a taker order.
    const bid = await place(alice, "buy", { base: "DOC", rel: "MARTY", price: "0.01", volume: "1" });
    await until("the taker file", async () => orderFile(alice, "TAKER", bid));
    expect(keysOf(orderFile(alice, "TAKER", bid))).toEqual(TAKER_FILE_KEYS);
    for (const uuid of [first, unsaved, bid]) await alice.rpc.call("cancel_order", { uuid });
    await seesAsks(node("bob"), []);

    await alice.process.stop();
    expect([first, unsaved, bid].map((uuid) => (["MAKER", "TAKER"] as const).map((folder) => orderFile(alice, folder, uuid)))).toEqual([
      [null, null],
      [null, null],
      [null, null],
    ]);
    expect(orderFile(alice, "HISTORY", first)).toMatchObject({ type: "Maker", order: { uuid: first } });
    expect(orderFile(alice, "HISTORY", unsaved)).toBeNull();
    expect(orderFile(alice, "HISTORY", bid)).toMatchObject({ type: "Taker", order: { request: { uuid: bid, action: "Buy" } } });
    expect(historyRows(alice)).toEqual([
      { uuid: first, type: "Maker", initial_action: "Sell", base: "DOC", rel: "MARTY", status: "Cancelled", was_taker: 0 },
      { uuid: bid, type: "Taker", initial_action: "Buy", base: "DOC", rel: "MARTY", status: "Cancelled", was_taker: 0 },
    ]);
  });
});

test("a changed order is seen as it is now by a node that follows the pair and by one that asks a relay, also after kill -9", async () => {
  await withNetwork(PAIR, async ({ node, kill, revive }) => {
    const uuid = await place(node("alice"), "setprice", { base: "DOC", rel: "MARTY", price: "0.5", volume: "10" });
    const best = async (): Promise<unknown> => {
      const params = { coin: "DOC", action: "buy", request_by: { type: "number", value: 5 } };
      const { result } = await node("bob").rpc.call("best_orders", { mmrpc: "2.0", params });
      return (result as { orders: Record<string, readonly Record<string, unknown>[]> }).orders.MARTY;
    };
    const shown = (price: string, volume: string) => [
      { uuid, coin: "MARTY", price: { decimal: price }, base_max_volume: { decimal: volume } },
    ];
    await until("the relay tells bob", async () => ((await best().catch(() => undefined)) !== undefined ? true : null));
    const { address } = await node("alice").rpc.call("my_balance", { coin: "MARTY" });
    expect(await best()).toMatchObject(shown("0.5", "10"));
    expect(await best()).toMatchObject([{ is_mine: false, address: { address_type: "Transparent", address_data: address } }]);
    expect((await node("bob").rpc.call("orderbook_depth", { pairs: [["MARTY", "DOC"]] })).result).toEqual([
      { pair: ["MARTY", "DOC"], depth: { asks: 0, bids: 1 } },
    ]);
    await seesAsks(node("bob"), [uuid]);

    await node("alice").rpc.call("update_maker_order", { uuid, new_price: "0.25", volume_delta: "-4", min_volume: "0.5" });
    const inBook = async (): Promise<unknown> => {
      const { asks } = await node("bob").rpc.call("orderbook", { base: "DOC", rel: "MARTY" });
      return (asks as readonly Record<string, unknown>[]).map((a) => [a.uuid, a.price, a.maxvolume, a.min_volume].join(" ")).join();
    };
    const changed = `${uuid} 0.25 6 0.5`;
    await until("bob's book has the new terms", async () => ((await inBook()) === changed ? true : null));
    expect(await best()).toMatchObject(shown("0.25", "6"));

    await kill("alice");
    const alice = await revive("alice");
    expect((await makerOrders(alice))[uuid]).toMatchObject({ price: "0.25", max_base_vol: "6", min_base_vol: "0.5" });
    await until("bob's book still has them", async () => ((await inBook()) === changed ? true : null));
    expect((await alice.rpc.call("orders_history_by_filter", { include_details: true })).result).toMatchObject({
      orders: [{ uuid, price: 0.25, volume: 6, status: "Updated" }],
      details: [{ type: "Maker", order: { uuid, price: "0.25", cancellable: true } }],
      found_records: 1,
      warnings: [],
    });
    const seed = (await node("seed").rpc.call("get_my_peer_id")).result;
    expect((await node("bob").rpc.call("get_relay_mesh")).result).toEqual([seed]);
    const pair = "orbk/DOC:MARTY";
    expect((await node("bob").rpc.call("get_gossip_mesh")).result).toMatchObject({ [pair]: [] });
    const bob = (await node("bob").rpc.call("get_my_peer_id")).result;
    expect(((await node("seed").rpc.call("get_gossip_topic_peers")).result as Record<string, string[]>)[pair]).toContain(bob);
    expect(((await node("seed").rpc.call("get_gossip_peer_topics")).result as Record<string, string[]>)[String(bob)]).toContain(pair);
  });
});
