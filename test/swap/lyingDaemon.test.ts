import { afterEach, expect, test } from "vitest";
import type { Role } from "../../src/core/swap/events.ts";
import { fromHex } from "../../src/core/util/bytes.ts";
import { parseTx } from "../../src/core/utxo/txCodec.ts";
import { type SwapSide, SwapWorld, type Ticker } from "../fakes/swapWorld.ts";

let world: SwapWorld;
afterEach(() => world.close());

const MONTH_SEC = 30 * 24 * 3_600;
/** Where the time stands in a block header of Bitcoin's shape. */
const TIME_AT = 68;
const OWN: { readonly [R in Role]: Ticker } = { maker: "AAA", taker: "BBB" };

const aboutToday = (): number => Math.floor(world.clock.nowMs() / 1_000);

/** The daemon moves the time of every block it tells from now on; waits until that is the median. Gives the way back to the truth. */
async function lieAboutTime(side: SwapSide, ticker: Ticker, offsetSec: number): Promise<() => void> {
  const { twist } = side.rpcOf(ticker);
  twist.set("getblockheader", (answer) => {
    const header = answer.ok ? (answer.value as { readonly time: number }) : null;
    return header ? { ok: true, value: { ...header, time: header.time + offsetSec } } : answer;
  });
  twist.set("getblock", (answer) => {
    if (!answer.ok || typeof answer.value !== "string") return answer;
    const block = Buffer.from(answer.value, "hex");
    block.writeUInt32LE(block.readUInt32LE(TIME_AT) + offsetSec, TIME_AT);
    return { ok: true, value: block.toString("hex") };
  });
  const believed = (): boolean =>
    Math.abs((side.coin(ticker).chain.status().tip?.medianTimePastSec ?? 0) - aboutToday()) > Math.abs(offsetSec) / 2;
  await world.until("the lie is believed", believed);
  return () => twist.clear();
}

/** The daemon tells of a best chain that ends `blocks` before the true one, as after a restart without its last data. */
function jumpBack(side: SwapSide, ticker: Ticker, blocks: number): () => void {
  const { twist } = side.rpcOf(ticker);
  const { state } = world.chain(ticker);
  const top = Math.max(0, state.tip.height - blocks);
  twist.set("getbestblockhash", () => ({ ok: true, value: state.at(top)?.block.hash ?? "" }));
  twist.set("getblockhash", (answer, [height]) =>
    Number(height) > top ? { ok: false, error: { kind: "rpc", code: -8, message: "Block height out of range" } } : answer,
  );
  return () => twist.clear();
}

const has = async (side: SwapSide, uuid: string, type: string, slot?: string): Promise<boolean> =>
  (await side.events(uuid)).some(({ event }) => event.type === type && (slot === undefined || ("slot" in event && event.slot === slot)));

test.each(["maker", "taker"] as const)(
  "a daemon whose blocks claim next month makes the %s take back nothing before its lock",
  async (role) => {
    world = await SwapWorld.open();
    const side = world.side(role);
    await lieAboutTime(side, OWN[role], MONTH_SEC);
    const uuid = await world.start();
    expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
    expect(await has(side, uuid, "refund_decided")).toBe(false);
  },
);

test("a refund signed on the word of such a daemon is final at the true lock, not next month", async () => {
  world = await SwapWorld.open();
  await lieAboutTime(world.taker, "BBB", MONTH_SEC);
  const uuid = await world.start();
  await world.until("the taker has paid", () => has(world.taker, uuid, "tx_seen", "takerPayment"));
  await world.maker.stop();
  await world.until("the taker ends", async () => (await world.outcome(world.taker, uuid)) !== null, 6_000);
  const { own } = await world.taker.state(uuid);
  expect(await world.outcome(world.taker, uuid)).toBe("refunded");
  const refund = parseTx(fromHex(own.takerPaymentRefund?.raw ?? ""), { kind: "bitcoin" });
  expect(refund.ok && refund.value.lockTime).toBeLessThanOrEqual(aboutToday());
});

test("a maker whose daemon says the taker may refund by now keeps its secret, and both take their own back", async () => {
  world = await SwapWorld.open();
  await lieAboutTime(world.maker, "BBB", MONTH_SEC);
  const uuid = await world.start();
  expect(await world.finish(uuid, 8_000)).toEqual({ maker: "refunded", taker: "refunded" });
  expect((await world.maker.state(uuid)).own.takerPaymentSpend).toBeUndefined();
});

test("a daemon stuck in last month does not make it early enough to reveal the secret", async () => {
  world = await SwapWorld.open();
  world.maker.refuse = (e) => (e.type === "tx_attempted" && e.slot === "takerPaymentSpend" ? "full" : null);
  await lieAboutTime(world.maker, "BBB", -MONTH_SEC);
  const uuid = await world.start();
  await world.until("the claim is signed", () => has(world.maker, uuid, "tx_signed", "takerPaymentSpend"));
  await world.maker.stop();
  world.maker.refuse = () => null;
  // The taker may refund by now.
  await world.advance(900);
  await world.maker.restart();
  expect(await world.finish(uuid)).toEqual({ maker: "refunded", taker: "refunded" });
  expect(await has(world.maker, uuid, "tx_attempted", "takerPaymentSpend")).toBe(false);
});

test("a daemon stuck in last month holds a refund up only until it tells the truth", async () => {
  world = await SwapWorld.open();
  const honest = await lieAboutTime(world.taker, "BBB", -MONTH_SEC);
  const uuid = await world.start();
  await world.until("the taker has paid", () => has(world.taker, uuid, "tx_seen", "takerPayment"));
  await world.maker.stop();
  await world.advance(3_000);
  expect(await has(world.taker, uuid, "refund_decided")).toBe(false);
  honest();
  // Six honest blocks are the median of eleven.
  await world.until("the taker has its own back", async () => (await world.outcome(world.taker, uuid)) === "refunded", 400);
});

test.each([
  ["taker", "AAA", "tx_confirmed", "makerPayment"],
  ["taker", "BBB", "tx_seen", "takerPayment"],
  ["taker", "BBB", "tx_signed", "makerPaymentSpend"],
  ["maker", "AAA", "tx_seen", "makerPayment"],
  ["maker", "BBB", "tx_confirmed", "takerPayment"],
  ["maker", "BBB", "tx_attempted", "takerPaymentSpend"],
] as const)(
  "a daemon of the %s for %s whose height jumps back at %s %s, and forward again, costs no swap",
  async (role, ticker, type, slot) => {
    world = await SwapWorld.open();
    const uuid = await world.start();
    const side = world.side(role);
    await world.until("that moment", () => has(side, uuid, type, slot));
    const before = side.coin(ticker).chain.status().tip?.height ?? 0;
    const forward = jumpBack(side, ticker, 5);
    await world.until("the index follows it down", () => (side.coin(ticker).chain.status().tip?.height ?? 0) < before);
    await world.advance(60);
    forward();
    expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
    await world.until("the index is forward again", () => (side.coin(ticker).chain.status().tip?.height ?? 0) > before);
  },
);
