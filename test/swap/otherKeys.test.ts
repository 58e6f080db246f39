import { afterEach, expect, test } from "vitest";
import { testKey } from "../fakes/chainWorld.ts";
import { SwapWorld } from "../fakes/swapWorld.ts";

// In an HD wallet a coin's key follows from the derivation path of its entry: with another coins file a swap can come back to other keys.

let world: SwapWorld;
afterEach(() => world.close());

const [FIRST, OTHER] = [testKey("first path"), testKey("other path")];
const troubles = (side: "maker" | "taker"): string[] =>
  world.side(side).log.lines.flatMap((l) => (l.event === "swap_trouble" ? [String(l.fields.what)] : []));

/** A taker that pays a swap it could not claim would lose its coin. */
async function afterTheFee(): Promise<string> {
  world = await SwapWorld.open({ blockSec: null }, ({ taker }) => taker.coinKeys.set("AAA", FIRST));
  const uuid = await world.start();
  world.chain("BBB").autoMine(20_000);
  await world.until("the maker pays", async () => (await world.maker.state(uuid)).own.makerPayment?.attempted === true);
  await world.taker.stop();
  world.taker.coinKeys.set("AAA", OTHER);
  await world.taker.restart();
  world.chain("AAA").autoMine(20_000);
  return uuid;
}

test("a taker whose key changed over a restart pays nothing it could not claim, and says which coin it is", async () => {
  const uuid = await afterTheFee();
  expect(await world.finish(uuid)).toEqual({ maker: "refunded", taker: "failed" });
  expect((await world.taker.state(uuid)).own.takerPayment).toBeUndefined();
  expect(troubles("taker")).toContainEqual(expect.stringMatching(/AAA was enabled with another key.*derivation_path/));
  expect(await world.taker.status(uuid)).toMatchObject({ swapnode: { outcome: "failed" } });
});

test("with the right key again in time the swap goes on", async () => {
  const uuid = await afterTheFee();
  await world.advance(40);
  expect(world.taker.runner.unseenOf(uuid)).toMatch(/AAA was enabled with another key/);
  await world.taker.stop();
  world.taker.coinKeys.set("AAA", FIRST);
  await world.taker.restart();
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

test("a taker pays no fee for a swap whose key it has lost, and a maker no payment that it could not take back", async () => {
  world = await SwapWorld.open({}, ({ maker, taker }) => {
    taker.coinKeys.set("AAA", FIRST);
    maker.coinKeys.set("BBB", FIRST);
  });
  const [first, second] = [await world.start(), await world.start()];
  world.taker.refuse = (event) => (event.type === "tx_signed" && event.slot === "fee" ? "full" : null);
  await world.until(
    "both agree",
    async () => (await world.taker.state(first)).negotiated !== null && (await world.taker.state(second)).negotiated !== null,
  );
  await world.taker.stop();
  world.taker.refuse = () => null;
  world.taker.coinKeys.set("AAA", OTHER);
  await world.taker.restart();
  await world.advance(60);
  expect((await world.taker.state(first)).own.fee).toBeUndefined();
  await world.maker.stop();
  world.maker.coinKeys.set("BBB", OTHER);
  await world.maker.restart();
  await world.taker.stop();
  world.taker.coinKeys.set("AAA", FIRST);
  await world.taker.restart();
  await world.until("the fee is there", async () => (await world.maker.state(second)).received.fee !== undefined);
  expect(await world.finish(second)).toEqual({ maker: "failed", taker: "failed" });
  expect((await world.maker.state(second)).own.makerPayment).toBeUndefined();
});

test("a claim that was signed with the right key goes on being sent, though none with a higher fee can be made", async () => {
  world = await SwapWorld.withPolicy("replace");
  await world.taker.stop();
  world.taker.coinKeys.set("AAA", FIRST);
  await world.taker.restart();
  const uuid = await world.start();
  await world.withheld(world.taker, uuid, "makerPaymentSpend");
  await world.taker.stop();
  const claim = (await world.taker.state(uuid)).own.makerPaymentSpend?.txid ?? "";
  world.chain("AAA").mempool.graph.removeWithDescendants(claim);
  world.chain("AAA").held.clear();
  world.taker.coinKeys.set("AAA", OTHER);
  // By now it is due to pay more.
  await world.advance(600);
  await world.taker.restart();
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
  expect((await world.taker.state(uuid)).facts.makerPaymentSpend?.txid).toBe(claim);
  expect(troubles("taker")).toContainEqual(expect.stringMatching(/AAA was enabled with another key/));
});
