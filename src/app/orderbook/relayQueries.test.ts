import { expect, test } from "vitest";
import { type BookNode, BookWorld, orderConf, orderUuid } from "../../../test/fakes/bookWorld.ts";
import type { BestOrdersLimit } from "../../core/book/selection.ts";
import { encodeBestOrdersAnswer, encodeDepthAnswer } from "../../core/message/orderbookAnswer.ts";
import type { OrderbookItem } from "../../core/message/types.ts";
import { type Rational, rational } from "../../core/money/rational.ts";

const FOREIGN = `02${"ab".repeat(32)}`;
const never = new AbortController().signal;

/** A promise while time passes. */
async function settled<T>(world: BookWorld, promise: Promise<T>): Promise<T> {
  await world.clock.advance(60_000);
  return promise;
}
const uuidsOf = async (world: BookWorld, node: BookNode, coin: string, action: "buy" | "sell", limit: BestOrdersLimit) => {
  const best = await settled(world, node.service.bestOrders(coin, action, limit, never));
  return best && Object.fromEntries([...best].map(([other, entries]) => [other, entries.map(({ item }) => Number(item.uuid.slice(-12)))]));
};
const item = (n: number, over: Partial<OrderbookItem> = {}): OrderbookItem => ({
  pubkey: FOREIGN,
  base: "AAA",
  rel: "BBB",
  price: rational(BigInt(n)),
  maxVolume: rational(5n),
  minVolume: rational(1n, 100n),
  uuid: orderUuid(n),
  createdAt: 1,
  ...over,
});
/** A relay that tells what it is told to. */
function lyingRelay(world: BookWorld, name: string, told: readonly (readonly [ticker: string, items: readonly OrderbookItem[]])[]) {
  const relay = world.hub.node(name, { isRelay: true });
  relay.setRequestHandler(async () => ({
    kind: "ok",
    data: encodeBestOrdersAnswer({ orders: new Map(told), protocolInfos: new Map(), confs: new Map([[orderUuid(1), orderConf]]) }),
  }));
}

test("best orders come from a relay for pairs this node does not follow, per coin and cheapest first", async () => {
  const world = new BookWorld();
  world.relay("relay");
  const maker = world.light("maker", "relay");
  const viewer = world.light("viewer", "relay");
  for (const n of [3, 1, 2]) maker.offer(n);
  maker.offer(4, { rel: "CCC" });
  maker.offer(5, { base: "CCC", rel: "AAA" });
  await world.clock.advance(1_000);
  expect(await uuidsOf(world, viewer, "AAA", "buy", { count: 2 })).toEqual({ BBB: [1, 2], CCC: [4] });
  expect(await uuidsOf(world, viewer, "AAA", "sell", { count: 2 })).toEqual({ CCC: [5] });
  // 5 AAA each: the second is needed for the sixth.
  expect(await uuidsOf(world, viewer, "AAA", "buy", { volume: rational(6n) })).toEqual({ BBB: [1, 2], CCC: [4] });
  expect(await uuidsOf(world, viewer, "AAA", "buy", { volume: rational(5n) })).toEqual({ BBB: [1], CCC: [4] });
  expect(viewer.requests()).toEqual(["BestOrdersByNumber", "BestOrdersByNumber", "BestOrders", "BestOrders"]);
});

test("a relay answers from its own book and asks nobody", async () => {
  const world = new BookWorld();
  const relay = world.relay("relay");
  const maker = world.light("maker", "relay");
  maker.offer(1);
  await world.clock.advance(1_000);
  expect(await uuidsOf(world, relay, "AAA", "buy", { count: 9 })).toEqual({ BBB: [1] });
  expect(await settled(world, relay.service.depths([["AAA", "BBB"]], never))).toEqual([{ asks: 1, bids: 0 }]);
  expect(relay.requests()).toEqual([]);
});

test("without a relay, and with one that has never heard of the coin, there is no answer", async () => {
  const world = new BookWorld();
  const alone = world.light("alone");
  expect(await uuidsOf(world, alone, "AAA", "buy", { count: 9 })).toBeNull();
  world.relay("relay");
  const viewer = world.light("viewer", "relay");
  expect(await uuidsOf(world, viewer, "AAA", "buy", { count: 9 })).toBeNull();
  expect(await uuidsOf(world, viewer, "A".repeat(1_000_000), "buy", { count: 9 })).toBeNull();
  expect(viewer.requests().length).toBe(1);
  const broken = new AbortController();
  const asked = viewer.service.bestOrders("AAA", "buy", { count: 9 }, broken.signal);
  world.clock.after(5, () => broken.abort());
  expect(await settled(world, asked)).toBeNull();
  expect(await settled(world, viewer.service.depths([["AAA", "BBB"]], broken.signal))).toEqual([null]);
});

test("own orders are shown as they are, whatever a relay says of them", async () => {
  const world = new BookWorld();
  const viewer = world.light("viewer");
  lyingRelay(world, "relay", [["BBB", [item(1, { pubkey: viewer.pubkey }), item(2, { pubkey: viewer.pubkey })]]]);
  world.hub.connect("viewer", "relay");
  viewer.offer(1, { price: rational(7n) });
  const best = await settled(world, viewer.service.bestOrders("AAA", "buy", { count: 9 }, never));
  expect([...(best ?? [])]).toMatchObject([["BBB", [{ isMine: true, item: { uuid: orderUuid(1), price: rational(7n) } }]]]);
});

test("an order is not hidden behind another key's of the same uuid", async () => {
  const world = new BookWorld();
  const viewer = world.light("viewer");
  const squatter = `02${"cd".repeat(32)}`;
  lyingRelay(world, "relay", [["BBB", [item(1, { pubkey: squatter }), item(1)]]]);
  world.hub.connect("viewer", "relay");
  const best = await settled(world, viewer.service.bestOrders("AAA", "buy", { count: 9 }, never));
  expect(best?.get("BBB")?.map((entry) => entry.item.pubkey)).toEqual([squatter, FOREIGN]);
});

test("what the book would not list is not listed: other coins, nothing offered, endless numbers, one name twice, banned keys", async () => {
  const world = new BookWorld();
  const viewer = world.light("viewer");
  const banned = `02${"cd".repeat(32)}`;
  viewer.banned.add(banned);
  const endless: Rational = rational(1n << 700n, (1n << 700n) + 1n);
  lyingRelay(world, "relay", [
    // Listed under a coin that none of them trades: the order itself counts.
    ["XXX", [item(1)]],
    [
      "BBB",
      [
        item(2, { base: "CCC" }),
        item(3, { maxVolume: rational(0n) }),
        item(4, { price: rational(-1n) }),
        item(5, { price: endless }),
        item(6, { pubkey: banned }),
        item(7, { rel: "AAA" }),
        item(8, { rel: "B:B" }),
        item(1, { price: rational(1n, 1_000n) }),
        item(9),
      ],
    ],
  ]);
  world.hub.connect("viewer", "relay");
  const best = await settled(world, viewer.service.bestOrders("AAA", "buy", { count: 100 }, never));
  expect([...(best ?? []).values()].flat().map(({ item: i, confirmed, isMine }) => [i.uuid, i.price, confirmed, isMine])).toEqual([
    [orderUuid(1), rational(1n), false, false],
    [orderUuid(9), rational(9n), false, false],
  ]);
  expect(best?.get("BBB")?.[0]?.conf).toEqual(orderConf);
});

test("what a maker signed stands against what a relay tells: its terms and its cancellation, also where another key has its uuid", async () => {
  const world = new BookWorld();
  world.relay("honest");
  const maker = world.light("maker", "honest");
  const viewer = world.light("viewer", "honest");
  viewer.service.follow("AAA", "BBB");
  await world.clock.advance(1_000);
  for (const n of [1, 2, 3]) maker.offer(n);
  await world.clock.advance(1_000);
  maker.cancel(3);
  await world.clock.advance(1_000);
  world.hub.disconnect("viewer", "honest");
  const foreign = { pubkey: FOREIGN };
  const own = { pubkey: maker.pubkey };
  lyingRelay(world, "liar", [["BBB", [item(1, { ...own, price: rational(1n, 1_000n) }), item(2, foreign), item(3, own), item(4, own)]]]);
  world.hub.connect("viewer", "liar");
  const best = await viewerAnswer(world, viewer);
  expect(best).toEqual([
    { uuid: orderUuid(1), price: rational(1n, 10n), confirmed: true },
    { uuid: orderUuid(2), price: rational(2n), confirmed: false },
    { uuid: orderUuid(4), price: rational(4n), confirmed: false },
  ]);
});

async function viewerAnswer(world: BookWorld, viewer: BookNode) {
  const asked = viewer.service.bestOrders("AAA", "buy", { count: 100 }, never);
  await world.clock.advance(1_000);
  return (await asked)?.get("BBB")?.map(({ item: { uuid, price }, confirmed }) => ({ uuid, price, confirmed }));
}

test("a relay that answers garbage is passed over for the next", async () => {
  const world = new BookWorld();
  world.relay("honest");
  const viewer = world.light("viewer");
  const garbage = world.hub.node("garbage", { isRelay: true });
  garbage.setRequestHandler(async () => ({ kind: "ok", data: new Uint8Array([0xc1]) }));
  world.hub.connect("viewer", "garbage");
  world.hub.connect("viewer", "honest");
  const maker = world.light("maker", "honest");
  maker.offer(1);
  await world.clock.advance(1_000);
  expect(await uuidsOf(world, viewer, "AAA", "buy", { count: 9 })).toEqual({ BBB: [1] });
  expect(viewer.p2p.asked.map(({ peer }) => peer)).toEqual(["garbage", "honest"]);
});

test("depths: followed pairs from the own book, others from a relay, in the order asked; what nobody tells is unknown", async () => {
  const world = new BookWorld();
  world.relay("relay");
  const maker = world.light("maker", "relay");
  const viewer = world.light("viewer", "relay");
  viewer.service.follow("AAA", "BBB");
  await world.clock.advance(1_000);
  maker.offer(1);
  maker.offer(2, { base: "CCC", rel: "AAA" });
  await world.clock.advance(1_000);
  const before = viewer.requests().length;
  const pairs = [
    ["AAA", "CCC"],
    ["BBB", "AAA"],
    ["CCC", "AAA"],
    ["KMD", "LTC"],
  ] as const;
  expect(await settled(world, viewer.service.depths(pairs, never))).toEqual([
    { asks: 0, bids: 1 },
    { asks: 0, bids: 1 },
    { asks: 1, bids: 0 },
    { asks: 0, bids: 0 },
  ]);
  expect(viewer.requests().slice(before)).toEqual(["OrderbookDepth"]);
  const alone = world.light("alone");
  expect(await settled(world, alone.service.depths(pairs, never))).toEqual([null, null, null, null]);
});

test("a relay can tell depths only of pairs that were asked about", async () => {
  const world = new BookWorld();
  const viewer = world.light("viewer");
  const relay = world.hub.node("relay", { isRelay: true });
  relay.setRequestHandler(async () => ({
    kind: "ok",
    data: encodeDepthAnswer([
      { base: "BBB", rel: "AAA", asks: 9, bids: 9 },
      { base: "CCC", rel: "AAA", asks: 3, bids: 4 },
    ]),
  }));
  world.hub.connect("viewer", "relay");
  const depths = viewer.service.depths(
    [
      ["AAA", "BBB"],
      ["CCC", "AAA"],
    ],
    never,
  );
  expect(await settled(world, depths)).toEqual([null, { asks: 3, bids: 4 }]);
});
