import { expect, test } from "vitest";
import { FakeAccountCoin, GAS } from "../../../test/fakes/fakeAccountCoin.ts";
import { available, buy, pair, place, sell, take } from "../../../test/fakes/orderSteps.ts";
import type { TestNode } from "../../../test/fakes/orderWorld.ts";
import { add, decimal, sub, toDecimalString, ZERO } from "../../core/money/rational.ts";

/** ETH and two tokens on it, in both nodes; the rest as always. */
async function chainPair() {
  const { world, maker, taker } = await pair();
  for (const node of [maker, taker]) {
    const ETH = new FakeAccountCoin("ETH", "10");
    for (const coin of [ETH, new FakeAccountCoin("TOK", "100", ETH), new FakeAccountCoin("TK2", "100", ETH)])
      node.coins.set(coin.ticker, coin);
  }
  return { world, maker, taker };
}
const lockedOf = (node: TestNode, ticker: string): string => toDecimalString(node.coin(ticker).locked());
const ethFor = (...parts: readonly (keyof typeof GAS)[]): string => toDecimalString(parts.map((p) => GAS[p]).reduce(add));
const HOUR_MS = 3_600_000;

test("at the match each side holds what it gives with its fees and what its claim costs, and hands both to the swap", async () => {
  const { world, maker, taker } = await chainPair();
  await place(maker, sell({ base: "TOK", rel: "ETH", price: decimal("0.1") }));
  await take(taker, buy("3", { base: "TOK", rel: "ETH", price: decimal("0.1") }));
  await world.clock.advance(100);
  expect([lockedOf(maker, "TOK"), lockedOf(maker, "ETH")]).toEqual(["3", ethFor("payment", "refund", "claim")]);
  await world.clock.advance(5_000);
  const [made] = maker.swaps.started;
  const [took] = taker.swaps.started;
  if (!made || !took) throw new Error("no swap");
  expect([made.claimReservation, took.claimReservation].every((r) => r !== null)).toBe(true);
  // 0.3 ETH and a dex fee of 1/777, its transaction, the payment, a refund, and the claim of the token.
  const fee = sub(taker.coin("ETH").locked(), ["payment", "dexFee", "refund", "claim"].map((p) => GAS[p as keyof typeof GAS]).reduce(add));
  expect(toDecimalString(fee).slice(0, 11)).toBe("0.300386100");
  // The match is over: what is held is the swap's, and it alone frees it.
  await world.clock.advance(HOUR_MS);
  expect(lockedOf(maker, "ETH")).toBe(ethFor("payment", "refund", "claim"));
  maker.coin("TOK").release(made.reservation);
  if (made.claimReservation) maker.coin("ETH").release(made.claimReservation);
  expect([lockedOf(maker, "TOK"), lockedOf(maker, "ETH")]).toEqual(["0", "0"]);
});

test("a match of coins that pay out of the contract has no hold for the claim", async () => {
  const { world, maker, taker } = await chainPair();
  await place(maker);
  await take(taker, buy("3"));
  await world.clock.advance(5_000);
  expect(maker.swaps.started).toMatchObject([{ claimReservation: null }]);
  expect(taker.swaps.started).toMatchObject([{ claimReservation: null }]);
});

test("a maker that cannot hold its claim's fee holds nothing and offers nothing, and does when the fee is there", async () => {
  const { world, maker, taker } = await chainPair();
  await place(maker, sell({ rel: "TOK" }));
  const eth = maker.coin("ETH");
  eth.trouble = { kind: "NotSufficientBaseCoinBalance", coin: "ETH", available: ZERO, required: GAS.claim, lockedBySwaps: ZERO };
  await take(taker, buy("3", { rel: "TOK" }));
  await world.clock.advance(2_000);
  expect(world.messages("MakerReserved")).toEqual([]);
  expect([maker.coin("AAA").openReservations, maker.coin("TOK").openReservations]).toEqual([0, 0]);
  eth.trouble = null;
  await world.clock.advance(5_000);
  expect(world.messages("MakerReserved")).toHaveLength(1);
  expect(maker.swaps.started).toHaveLength(1);
});

test("a taker that cannot hold its claim's fee any more takes no offer, and its own coin is free", async () => {
  const { world, maker, taker } = await chainPair();
  await place(maker, sell({ base: "ETH", volume: decimal("5") }));
  world.deliver = (sent) => {
    if (sent.message.type === "MakerReserved") taker.coin("ETH").setBalance("0");
    return true;
  };
  await take(taker, buy("3", { base: "ETH" }));
  await world.clock.advance(5_000);
  expect(world.messages("TakerConnect")).toEqual([]);
  expect([taker.coin("BBB").openReservations, taker.coin("ETH").openReservations]).toEqual([0, 0]);
  expect(taker.log.lines.find((l) => l.event === "offer_without_funds")?.fields).toMatchObject({ coin: "ETH" });
});

test("both holds of a handshake whose taker never connects are freed", async () => {
  const { world, maker, taker } = await chainPair();
  world.deliver = (sent) => sent.message.type !== "TakerConnect";
  await place(maker, sell({ base: "TOK", rel: "TK2" }));
  await take(taker, buy("3", { base: "TOK", rel: "TK2" }));
  await world.clock.advance(5_000);
  expect(lockedOf(maker, "ETH")).toBe(ethFor("payment", "refund", "claim"));
  await world.clock.advance(60_000);
  for (const node of [maker, taker]) for (const coin of node.coins.values()) expect(coin.openReservations, coin.ticker).toBe(0);
});

test.each([
  ["of a token", sell({ base: "TOK" })],
  ["whose claim the account pays", sell({ rel: "ETH" })],
])("an order %s is taken back while the fees cannot be paid, and offered again when they can", async (_, input) => {
  const { world, maker } = await chainPair();
  const uuid = await place(maker, input);
  await world.clock.advance(1_000);
  maker.coin("ETH").setBalance("0.001");
  await world.clock.advance(1_000);
  expect(world.messages("MakerOrderCancelled")).toMatchObject([{ uuid }]);
  expect(available(maker, uuid)).toBe("10");
  maker.coin("ETH").setBalance("1");
  // Others drop what they hear of a cancelled order for two minutes.
  await world.clock.advance(110_000);
  expect(world.messages("MakerOrderCreated")).toHaveLength(1);
  await world.clock.advance(15_000);
  expect(world.messages("MakerOrderCreated")).toMatchObject([{ uuid }, { uuid, maxVolume: decimal("10") }]);
});

test("a clock that is set back by hours keeps no order out of the books for longer", async () => {
  const { world, maker } = await chainPair();
  const uuid = await place(maker, sell({ base: "TOK" }));
  await world.clock.advance(1_000);
  maker.coin("ETH").setBalance("0.001");
  await world.clock.advance(1_000);
  maker.coin("ETH").setBalance("1");
  world.skewMs = -8 * 3_600_000;
  await world.clock.advance(125_000);
  expect(world.messages("MakerOrderCreated")).toMatchObject([{ uuid }, { uuid }]);
});

test("an order stays offered while open handshakes hold the fees of the next one", async () => {
  const { world, maker, taker } = await chainPair();
  maker.coin("ETH").setBalance("0.006");
  world.deliver = (sent) => sent.message.type !== "TakerConnect";
  await place(maker, sell({ base: "TOK" }));
  await take(taker, buy("3", { base: "TOK" }));
  await world.clock.advance(28_000);
  expect(lockedOf(maker, "ETH")).toBe(ethFor("payment", "refund"));
  expect(world.messages("MakerOrderCancelled")).toEqual([]);
});

test("an order of a coin that pays its own fees is cut to what they leave, the other coin's claim counted", async () => {
  const { world, maker } = await chainPair();
  const plain = await place(maker, sell({ base: "ETH", volume: decimal("9") }));
  const token = await place(maker, sell({ base: "ETH", rel: "TOK", volume: decimal("9"), cancelPrevious: false }));
  maker.coin("ETH").setBalance("5");
  await world.clock.advance(1_000);
  expect(available(maker, plain)).toBe("4.995");
  expect(available(maker, token)).toBe("4.9939");
});

test("max keeps the refund, the claim where the same coin pays for it, and at least 0.001 coins", async () => {
  const { maker } = await chainPair();
  const most = async (over: object, node = maker): Promise<string> => available(node, await place(node, sell({ volume: "max", ...over })));
  expect(await most({ base: "ETH" })).toBe("9.995");
  expect(await most({ base: "ETH", rel: "TOK" })).toBe("9.9939");
  expect(await most({ base: "TOK" })).toBe("99.999");
  expect(await most({ base: "TOK", feeReserveOnly: true })).toBe("100");
  maker.coin("ETH").setBalance("0.005");
  expect(await most({ base: "TOK" })).toBe("99.999");
  const short = await maker.orders.placeMakerOrder(sell({ base: "TOK", rel: "TK2", volume: "max" }));
  expect(short).toMatchObject({ ok: false, error: { kind: "NotSufficientBaseCoinBalance", coin: "ETH", required: decimal("0.0061") } });
  const poor = await maker.orders.placeMakerOrder(sell({ base: "ETH", rel: "TK2", volume: "max" }));
  expect(poor).toMatchObject({ ok: false, error: { kind: "NotSufficientBalance", coin: "ETH", required: decimal("0.0061") } });
});

test("an update asks for the fees of both coins like a new order", async () => {
  const { maker } = await chainPair();
  const uuid = await place(maker, sell({ rel: "ETH" }));
  maker.coin("ETH").setBalance("0.001");
  for (const volumeDelta of [decimal("1"), "max"] as const) {
    const updated = await maker.orders.updateMakerOrder({ uuid, volumeDelta });
    expect(updated).toMatchObject({ ok: false, error: { kind: "NotSufficientBalance", coin: "ETH", required: GAS.claim } });
  }
});

test.each(["setprice", "update_maker_order"])(
  "%s is refused while the backend that would tell what a claim can cost is away, after a look",
  async (method) => {
    const { maker } = await chainPair();
    const uuid = await place(maker, sell({ rel: "ETH", cancelPrevious: false }));
    const eth = maker.coin("ETH");
    eth.trouble = { kind: "Transport", coin: "ETH", message: "no node answers" };
    const ask = () =>
      method === "setprice"
        ? maker.orders.placeMakerOrder(sell({ rel: "ETH", cancelPrevious: false }))
        : maker.orders.updateMakerOrder({ uuid, volumeDelta: decimal("1") });
    expect(await ask()).toMatchObject({ ok: false, error: { kind: "Transport", coin: "ETH" } });
    eth.isBack = true;
    expect(await ask()).toMatchObject({ ok: true });
  },
);
