import { afterEach, expect, test } from "vitest";
import { txToChainTx } from "../../src/chain/chainTx.ts";
import { decimal } from "../../src/core/money/rational.ts";
import { fromHex } from "../../src/core/util/bytes.ts";
import { signInputs } from "../../src/core/utxo/signInput.ts";
import type { Tx } from "../../src/core/utxo/tx.ts";
import { parseTx } from "../../src/core/utxo/txCodec.ts";
import { malleate } from "../fakes/malleate.ts";
import { SwapWorld, type Ticker } from "../fakes/swapWorld.ts";

/** What a daemon says whose mempool asks for more. */
const REFUSED = { ok: false, error: { kind: "rpc", code: -26, message: "mempool min fee not met" } } as const;

let world: SwapWorld;
afterEach(() => world.close());

const sum = (outputs: readonly { readonly value: bigint }[]): bigint => outputs.reduce((n, u) => n + u.value, 0n);
/** What the taker can build on now. */
const ready = (): bigint => sum(world.taker.coin("BBB").ledger.ready());
const txOf = (raw: string | undefined): Tx => {
  const tx = parseTx(fromHex(raw ?? ""), world.chain("BBB").params.template.format);
  if (!tx.ok) throw new Error(tx.error.detail);
  return tx.value;
};
const parents = (raw: string | undefined): readonly string[] => txOf(raw).inputs.map((i) => i.txid);
/** The taker's mempool, and every other, loses all. */
function forgetAll(): void {
  world.chain("BBB").mempool.graph.clear();
  world.chain("BBB").held.clear();
}

/** A swap whose fee is in the mempool, and of which the maker never hears. */
async function lostFee(lockDurationSec = 7_800): Promise<string> {
  const uuid = await world.start({ lockDurationSec });
  world.lose(world.maker, (m, of) => m.type === "TakerFee" && of === uuid);
  await world.withheld(world.taker, uuid, "fee");
  return uuid;
}
const comesToNothing = (uuid: string): Promise<void> =>
  world.until("it comes to nothing", async () => (await world.outcome(world.taker, uuid)) === "failed");
/** All swaps of the taker are settled, and what it has is free. */
const comesToRest = (): Promise<void> =>
  world.until(
    "all is settled and free",
    async () => ready() === world.taker.units("BBB") && (await world.taker.store.unsettled()).length === 0,
    20_000,
  );

/** A swap on top of another one's fee, whose payment takes an output that came in meanwhile as well. */
async function builtOn(fee: string | undefined, makerCoin: Ticker = "AAA"): Promise<string> {
  const uuid = await world.start({ lockDurationSec: 7_800, takerAmount: "1", makerCoin });
  await world.withheld(world.taker, uuid, "fee");
  world.fund("BBB", world.taker, 90_000_000n);
  await world.withheld(world.taker, uuid, "takerPayment");
  const { own } = await world.taker.state(uuid);
  if (fee !== undefined) expect(parents(own.fee?.raw)).toEqual([fee]);
  expect(parents(own.takerPayment?.raw)).toHaveLength(2);
  return uuid;
}
/** On scripts of the old kind anybody can change the id of a transaction on its way into a block. */
function mineMalleated(raw: string | undefined): void {
  world.chain("BBB").mempool.graph.clear();
  expect(world.chain("BBB").mineExactly(world.maker.script, [malleate(txOf(raw))])).toMatchObject({ ok: true });
  world.chain("BBB").held.clear();
}

const counted = (): bigint => sum(world.taker.coin("BBB").ledger.spendable());

test("the change of a payment counts once when a block has it under another id", async () => {
  world = await SwapWorld.open();
  const uuid = await world.start({ lockDurationSec: 7_800 });
  const { taker } = world;
  await world.until("the payment leaves", async () => (await taker.state(uuid)).own.takerPayment?.attempted === true);
  await world.until("the fee is in a block", async () => (await taker.state(uuid)).facts.fee?.block != null);
  mineMalleated((await taker.state(uuid)).own.takerPayment?.raw);
  await world.advance(5);
  expect(counted()).toBe(taker.units("BBB"));
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

test("the change of a payment does not count whose fee came into a block under another id", async () => {
  world = await SwapWorld.open();
  const uuid = await world.start({ lockDurationSec: 7_800 });
  await world.withheld(world.taker, uuid, "fee");
  await world.withheld(world.taker, uuid, "takerPayment");
  mineMalleated((await world.taker.state(uuid)).own.fee?.raw);
  await world.advance(5);
  expect(counted()).toBe(world.taker.units("BBB"));
});

test("a fee that mempools forget after its swap came to nothing is sent again: the next swap is paid for from its change", async () => {
  world = await SwapWorld.open();
  await comesToNothing(await lostFee());
  forgetAll();
  await world.advance(60);
  expect(ready()).toBe(world.taker.units("BBB"));
  expect(await world.finish(await world.start())).toEqual({ maker: "success", taker: "success" });
});

test("after a restart without the other coin nothing is promised that such a fee has taken, and the coin it waits for is named", async () => {
  world = await SwapWorld.open();
  await comesToNothing(await lostFee(600));
  await world.taker.stop();
  forgetAll();
  await world.taker.restart(["BBB"]);
  await world.advance(100);
  expect([sum(world.taker.coin("BBB").ledger.spendable()), [...world.taker.runner.kickStartCoins()].sort()]).toEqual([0n, ["AAA", "BBB"]]);
  await world.taker.enable("AAA");
  await world.advance(60);
  expect(ready()).toBe(world.taker.units("BBB"));
});

test("a swap that was promised the change of such a fee has its money, though the fee is not listed when its swap ends", async () => {
  world = await SwapWorld.open();
  const first = await lostFee();
  await world.advance(670);
  let second = "";
  const listen = world.lose(world.taker, (m, uuid) => m.type === "Negotiation" && uuid === second);
  second = await world.start({ lockDurationSec: 7_800 });
  const { instead } = world.taker.rpcOf("BBB");
  instead.set("sendrawtransaction", REFUSED);
  forgetAll();
  await comesToNothing(first);
  instead.clear();
  listen();
  expect(await world.finish(second)).toEqual({ maker: "success", taker: "success" });
});

test("a swap whose fee stands on a fee that was malleated ends, is settled, and what its payment took is free again", async () => {
  world = await SwapWorld.open();
  const first = (await world.taker.state(await lostFee())).own.fee;
  const second = await builtOn(first?.txid);
  mineMalleated(first?.raw);
  await world.until("it is over", async () => (await world.outcome(world.taker, second)) !== null);
  expect(await world.outcome(world.taker, second)).toBe("cancelled");
  await comesToRest();
});

test("a failed swap whose fee was malleated is not forgotten while a swap that stands on it waits for its other coin: that one ends, too", async () => {
  world = await SwapWorld.open({ third: true });
  const first = await lostFee();
  const fee = (await world.taker.state(first)).own.fee;
  const second = await builtOn(fee?.txid, "CCC");
  await comesToNothing(first);
  await world.taker.stop();
  mineMalleated(fee?.raw);
  await world.taker.restart(["AAA", "BBB"]);
  await world.advance(600);
  await world.taker.stop();
  await world.taker.restart();
  await world.until("it is over", async () => (await world.outcome(world.taker, second)) !== null);
  await comesToRest();
});

/** Another wallet of the seed spends the output that came in, in a block. @returns the swap, cancelled by that, its fee in no block */
async function cancelledByRival(): Promise<string> {
  const uuid = await builtOn(undefined);
  const { own } = await world.taker.state(uuid);
  const payment = txOf(own.takerPayment?.raw);
  const input = payment.inputs.find((i) => i.txid !== own.fee?.txid);
  const spent = input && world.taker.coin("BBB").ledger.own.source(input);
  if (!input || !spent) throw new Error("no input");
  const outputs = [{ value: spent.value - 1_000n, script: world.maker.script }];
  const unsigned = { ...payment, inputs: [{ ...input, scriptSig: new Uint8Array() }], outputs };
  const rival = signInputs(unsigned, [spent], world.taker.key, { kind: "legacy" });
  world.chain("BBB").mempool.graph.clear();
  expect(world.chain("BBB").mineExactly(world.maker.script, [txToChainTx(rival)])).toMatchObject({ ok: true });
  await world.until("it is over", async () => (await world.outcome(world.taker, uuid)) !== null, 20_000);
  expect(await world.outcome(world.taker, uuid)).toBe("cancelled");
  return uuid;
}

test("a payment loses an input to another wallet of the seed, and mempools forget its fee: that is sent again, and the swap settled", async () => {
  world = await SwapWorld.open();
  await cancelledByRival();
  forgetAll();
  await world.advance(1_000);
  expect([ready(), await world.taker.store.unsettled()]).toEqual([world.taker.units("BBB"), []]);
});

test("the coin that the fee of a cancelled swap waits for after a restart is named", async () => {
  world = await SwapWorld.open();
  await cancelledByRival();
  await world.taker.stop();
  forgetAll();
  await world.taker.restart(["BBB"]);
  expect([...world.taker.runner.kickStartCoins()].sort()).toEqual(["AAA", "BBB"]);
});

test("a reorganisation undoes the confirmed fee of a swap that came to nothing, and mempools forget it: it is sent again", async () => {
  world = await SwapWorld.open();
  const uuid = await lostFee();
  const fee = (await world.taker.state(uuid)).own.fee?.txid ?? "";
  await world.advance(600);
  world.chain("BBB").held.clear();
  await world.until("the fee is deep enough", async () => (await world.taker.state(uuid)).facts.fee?.confirmed === true, 100);
  await comesToNothing(uuid);
  const { tip } = world.chain("BBB").state;
  const height = world.taker.coin("BBB").chain.tx(fee)?.block?.height ?? tip.height;
  world.chain("BBB").reorg({ depth: tip.height - height + 1, forget: [fee] });
  await world.advance(60);
  expect(world.taker.coin("BBB").chain.tx(fee)).toBeDefined();
  expect(await world.finish(await world.start())).toEqual({ maker: "success", taker: "success" });
});

test("the other coin closes while such a fee is in no block, and mempools forget it: nothing counts on its change", async () => {
  world = await SwapWorld.open();
  await comesToNothing(await lostFee());
  // As it does before it is opened over another backend.
  await world.drive(world.taker.runner.park("AAA"));
  forgetAll();
  await world.advance(60);
  expect(sum(world.taker.coin("BBB").ledger.spendable())).toBe(0n);
});

test("such a fee that is refused, in a fee spike perhaps, backs no promise; when it is taken again it does", async () => {
  world = await SwapWorld.open();
  await comesToNothing(await lostFee());
  world.chain("BBB").policy.entryFeePerKb = 50_000n;
  forgetAll();
  await world.advance(60);
  expect(world.taker.coin("BBB").reserve([decimal("1")], 1_000)).toMatchObject({ ok: false });
  world.chain("BBB").policy.entryFeePerKb = 0n;
  await world.advance(60);
  expect(ready()).toBe(world.taker.units("BBB"));
});

test("two failed swaps, the fee of the second on the change of the first, both refused past the first's lock: money counts once", async () => {
  world = await SwapWorld.open();
  const first = await lostFee(600);
  const second = await lostFee();
  expect(parents((await world.taker.state(second)).own.fee?.raw)).toEqual([(await world.taker.state(first)).own.fee?.txid]);
  world.taker.rpcOf("BBB").instead.set("sendrawtransaction", REFUSED);
  forgetAll();
  await comesToNothing(first);
  await comesToNothing(second);
  await world.advance(3_000);
  expect(world.taker.coin("BBB").reserve([decimal("15")], 1_000)).toMatchObject({ ok: false });
  expect(sum(world.taker.coin("BBB").ledger.spendable())).toBeLessThanOrEqual(world.taker.units("BBB"));
  // Taken at last, the one after the other.
  world.taker.rpcOf("BBB").instead.clear();
  await world.advance(60);
  expect(ready()).toBe(world.taker.units("BBB"));
});

test("past the lock such a fee is offered again before its inputs are anybody else's", async () => {
  world = await SwapWorld.open();
  const uuid = await lostFee(600);
  await comesToNothing(uuid);
  await world.taker.stop();
  forgetAll();
  await world.advance(20_000);
  await world.taker.restart();
  await world.advance(60);
  expect(world.taker.coin("BBB").chain.tx((await world.taker.state(uuid)).own.fee?.txid ?? "")).toBeDefined();
});

test("a successful swap whose payment was malleated is kept while a swap on its change waits for its other coin: that one ends, too", async () => {
  world = await SwapWorld.open({ third: true });
  const first = await world.start({ lockDurationSec: 7_800 });
  await world.withheld(world.taker, first, "takerPayment");
  const { own } = await world.taker.state(first);
  world.chain("BBB").held.delete(own.fee?.txid ?? "");
  await world.advance(10);
  const second = await builtOn(undefined, "CCC");
  expect(parents((await world.taker.state(second)).own.fee?.raw)).toEqual([own.takerPayment?.txid]);
  await world.taker.stop();
  mineMalleated(own.takerPayment?.raw);
  await world.taker.restart(["AAA", "BBB"]);
  await world.until("the first succeeds", async () => (await world.outcome(world.taker, first)) !== null, 6_000);
  await world.advance(900);
  await world.taker.stop();
  await world.taker.restart();
  await world.until("the second is over", async () => (await world.outcome(world.taker, second)) !== null, 20_000);
  await comesToRest();
});
