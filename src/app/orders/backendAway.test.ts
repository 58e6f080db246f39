import { expect, test } from "vitest";
import { FakeTradingCoin } from "../../../test/fakes/fakeTradingCoin.ts";
import { available, buy, pair, place, sell, take } from "../../../test/fakes/orderSteps.ts";
import { decimal } from "../../core/money/rational.ts";

const outage = { kind: "Transport", coin: "AAA", message: "nothing listens there" } as const;

/** Has the coin's backend away, and back after a look that takes until `end`. */
function slowLook(coin: FakeTradingCoin): { end(): void } {
  coin.trouble = { ...outage, coin: coin.ticker };
  coin.isBack = true;
  let end = (): void => undefined;
  coin.look = new Promise((resolve) => {
    end = resolve;
  });
  return { end: () => end() };
}

test.each(["setprice", "update_maker_order"])(
  "while %s looks at a backend that is away, other orders go on being matched",
  async (method) => {
    const { world, maker, taker } = await pair();
    const coin = new FakeTradingCoin("CCC");
    maker.coins.set("CCC", coin);
    await place(maker);
    const uuid = await place(maker, sell({ base: "CCC" }));
    const look = slowLook(coin);
    const asked =
      method === "setprice"
        ? maker.orders.placeMakerOrder(sell({ base: "CCC" }))
        : maker.orders.updateMakerOrder({ uuid, volumeDelta: decimal("1") });
    await take(taker, buy("1"));
    await world.clock.advance(10_000);
    expect(maker.swaps.started.map((s) => s.makerCoin)).toEqual(["AAA"]);
    look.end();
    expect(await asked).toMatchObject({ ok: true });
  },
);

test("an order's volume can be changed again as soon as a look finds the backend back; its price needs no look", async () => {
  const { maker } = await pair();
  const uuid = await place(maker);
  const coin = maker.coin("AAA");
  coin.trouble = outage;
  expect(await maker.orders.updateMakerOrder({ uuid, volumeDelta: decimal("1") })).toEqual({ ok: false, error: outage });
  expect(await maker.orders.updateMakerOrder({ uuid, price: decimal("3") })).toMatchObject({ ok: true });
  coin.isBack = true;
  expect(await maker.orders.updateMakerOrder({ uuid, volumeDelta: "max" })).toMatchObject({ ok: true });
});

test("a node that is closed waits for what was asked of it and still looks at a backend", async () => {
  const { maker } = await pair();
  const look = slowLook(maker.coin("AAA"));
  const asked = maker.orders.placeMakerOrder(sell());
  const order: string[] = [];
  const closed = maker.orders.close().then(() => order.push("closed"));
  asked.then(() => order.push("placed")).catch(() => order.push("failed"));
  look.end();
  await closed;
  expect(order).toEqual(["placed", "closed"]);
});

test("orders of before wait for the first scan of their coin: what is counted by then neither ends nor cuts them", async () => {
  const { world, maker } = await pair();
  const uuid = await place(maker);
  await maker.restart();
  const coin = maker.coin("AAA");
  coin.isScanned = false;
  coin.setBalance("0");
  await world.clock.advance(60_000);
  coin.setBalance("3");
  await world.clock.advance(60_000);
  expect([available(maker, uuid), maker.orders.ownOrders.orders().length]).toEqual(["10", 0]);
  coin.isScanned = true;
  coin.setBalance("12");
  await world.clock.advance(5_000);
  expect([available(maker, uuid), maker.orders.ownOrders.orders().length]).toEqual(["10", 1]);
});

test("orders of before are offered again some at a time, and what their coin can pay is reckoned once for all of these", async () => {
  const COUNT = 250;
  const { world, maker } = await pair();
  for (let i = 0; i < COUNT; i++) await place(maker, sell({ cancelPrevious: false }));
  await maker.restart();
  const coin = maker.coin("AAA");
  let reckonings = 0;
  const maxPayment = coin.maxPayment.bind(coin);
  coin.maxPayment = (...args) => {
    reckonings++;
    return maxPayment(...args);
  };
  const offered = (): number => maker.orders.ownOrders.orders().length;
  await world.clock.advance(100);
  // A wallet of thousands of outputs takes milliseconds for each reckoning, and each order is signed.
  expect(offered()).toBe(100);
  await world.clock.advance(2_000);
  expect([offered(), new Set(maker.orders.ownOrders.orders().map(({ uuid }) => uuid)).size]).toEqual([COUNT, COUNT]);
  expect(reckonings).toBeLessThan(10);
});

test("orders that wait for their coin keep no others from being offered", async () => {
  const { world, maker } = await pair();
  maker.coins.set("CCC", new FakeTradingCoin("CCC"));
  for (let i = 0; i < 120; i++) await place(maker, sell({ base: "CCC", cancelPrevious: false }));
  const uuid = await place(maker);
  await maker.restart();
  maker.coin("CCC").isScanned = false;
  await world.clock.advance(1_000);
  expect(maker.orders.ownOrders.orders()).toMatchObject([{ uuid }]);
});

const counting = { kind: "Transport", coin: "AAA", message: "the AAA chain is still being read" } as const;

test("while the first scan of either coin goes on nothing is bought, and no offer is taken or made: a fee would be paid for nothing", async () => {
  const { world, maker, taker } = await pair();
  await place(maker);
  taker.coin("AAA").isScanned = false;
  expect(await taker.orders.placeTakerOrder(buy("1"))).toEqual({ ok: false, error: counting });
  taker.coin("AAA").isScanned = true;
  maker.coin("BBB").isScanned = false;
  await take(taker, buy("1"));
  await world.clock.advance(5_000);
  expect(world.messages("MakerReserved")).toEqual([]);
  maker.coin("BBB").isScanned = true;
  await world.clock.advance(1_000);
  taker.coin("BBB").isScanned = false;
  await world.clock.advance(5_000);
  expect([world.messages("MakerReserved").length > 0, world.messages("TakerConnect")]).toEqual([true, []]);
  taker.coin("BBB").isScanned = true;
  await world.clock.advance(5_000);
  expect([maker.swaps.started.length, taker.swaps.started.length]).toEqual([1, 1]);
});

test.each(["AAA", "BBB"])(
  "a new order waits for the first scan of %s before others hear of it: none of them would be answered",
  async (ticker) => {
    const { world, maker } = await pair();
    maker.coin(ticker).isScanned = false;
    const uuid = await place(maker);
    await world.clock.advance(10_000);
    expect([available(maker, uuid), maker.orders.ownOrders.orders(), world.sent]).toEqual(["10", [], []]);
    maker.coin(ticker).isScanned = true;
    await world.clock.advance(1_000);
    expect(maker.orders.ownOrders.orders()).toMatchObject([{ uuid }]);
  },
);

test("no order is made of all there is while that is still being counted", async () => {
  const { maker } = await pair();
  const uuid = await place(maker);
  maker.coin("AAA").isScanned = false;
  const refusal = { ok: false, error: counting };
  expect(await maker.orders.placeMakerOrder(sell({ volume: "max" }))).toEqual(refusal);
  expect(await maker.orders.updateMakerOrder({ uuid, volumeDelta: "max" })).toEqual(refusal);
  expect(await maker.orders.updateMakerOrder({ uuid, volumeDelta: decimal("1") })).toMatchObject({ ok: true });
});

test("orders wait for the block that their coin's change waits for: twenty payments between two blocks neither end nor cut them", async () => {
  const { world, maker } = await pair();
  const uuid = await place(maker);
  const coin = maker.coin("AAA");
  coin.waiting = decimal("99");
  coin.setBalance("0");
  await world.clock.advance(60_000);
  expect([available(maker, uuid), maker.orders.ownOrders.orders().length]).toEqual(["10", 1]);
  coin.waiting = decimal("0");
  coin.setBalance("4");
  await world.clock.advance(60_000);
  expect(available(maker, uuid)).toBe("3.9999");
});

test("a node that cannot begin swaps offers nothing and takes nothing, says why, and goes on when it can again", async () => {
  const { world, maker, taker } = await pair();
  await place(maker);
  maker.swaps.trouble = "the copies cannot be written";
  await take(taker, buy("1"));
  await world.clock.advance(5_000);
  expect(world.messages("MakerReserved")).toEqual([]);
  const refused = { ok: false, error: { kind: "Transport", message: "the copies cannot be written" } };
  expect(await maker.orders.placeMakerOrder(sell())).toMatchObject(refused);
  expect(await maker.orders.placeTakerOrder({ ...buy("1"), price: decimal("1") })).toMatchObject(refused);
  taker.swaps.trouble = "the copies cannot be written";
  maker.swaps.trouble = null;
  await world.clock.advance(8_000);
  expect([world.messages("MakerReserved").length > 0, world.messages("TakerConnect")]).toEqual([true, []]);
  taker.swaps.trouble = null;
  await world.clock.advance(10_000);
  expect([maker.swaps.started.length, taker.swaps.started.length]).toEqual([1, 1]);
});
