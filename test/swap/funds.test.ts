import { afterEach, expect, test } from "vitest";
import { decimal, toUnits } from "../../src/core/money/rational.ts";
import { fromHex } from "../../src/core/util/bytes.ts";
import { SwapWorld } from "../fakes/swapWorld.ts";

let world: SwapWorld;
afterEach(() => world.close());

const hasMark = async (uuid: string): Promise<boolean> => (await world.maker.state(uuid)).own.makerPayment?.attempted === true;

/** A maker stopped with a payment that is marked as started and that no daemon has. */
async function stoppedWithPayment(): Promise<string> {
  world = await SwapWorld.open();
  world.lose(world.taker, (m) => m.type === "MakerPayment");
  const uuid = await world.start();
  world.maker.rpcOf("AAA").instead.set("sendrawtransaction", { ok: false, error: { kind: "unreachable", message: "no" } });
  await world.until("the mark", () => hasMark(uuid));
  await world.maker.stop();
  world.maker.rpcOf("AAA").instead.clear();
  return uuid;
}

test("the inputs of a stored payment are taken as soon as its coin is enabled, though the other coin is not", async () => {
  await stoppedWithPayment();
  await world.maker.restart(["AAA"]);
  const coin = world.maker.coin("AAA");
  expect(coin.ledger.spendable().filter((u) => coin.chain.outputs(u.script).some((o) => o.txid === u.txid && o.vout === u.vout))).toEqual(
    [],
  );
  const all = { to: coin.address, amount: "max" as const, fee: undefined, broadcast: true };
  expect((await world.drive(coin.withdraw(all, new AbortController().signal))).ok).toBe(false);
});

test("whoever is told first of an enabled coin finds stored swaps served before him", async () => {
  const uuid = await stoppedWithPayment();
  const seen: bigint[] = [];
  const opened = world.maker.restart([]);
  await opened;
  world.maker.coins.onActivated(() => {
    const coin = world.maker.coins.utxo("AAA");
    if (coin) seen.push(coin.ledger.spendable().reduce((n, u) => n + u.value, 0n));
  });
  await world.maker.enable("AAA");
  const paid = (await world.maker.state(uuid)).own.makerPayment;
  expect(paid).toBeDefined();
  // Only the change of the payment is left.
  expect(seen[0]).toBeLessThan(1_000_000_000n - 200_000_000n);
  await world.maker.enable("BBB");
});

test("a swap that has still to pay gets its promise back before anybody else is promised anything", async () => {
  world = await SwapWorld.open();
  const stop = world.lose(world.maker, (m) => m.type === "TakerFee");
  const uuid = await world.start();
  await world.until("it is negotiated", async () => (await world.maker.state(uuid)).negotiated !== null);
  await world.maker.stop();
  stop();
  await world.maker.restart(["AAA"]);
  expect(world.maker.coin("AAA").reserve([decimal("9")], 60_000).ok).toBe(false);
  await world.maker.enable("BBB");
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
  expect(world.maker.coin("AAA").ledger.held()).toBe(0n);
});

test("a coin disabled while a finished swap is watched: the watch goes on when it is enabled again, and ends", async () => {
  world = await SwapWorld.open();
  const uuid = await world.start();
  await world.finish(uuid);
  expect(await world.drive(world.maker.coins.disable("BBB", false))).toMatchObject({ ok: true });
  await world.advance(60);
  expect(await world.maker.store.unsettled()).toHaveLength(1);
  await world.maker.enable("BBB");
  await world.until("it is settled", async () => (await world.maker.store.unsettled()).length === 0, 600);
});

test("a settled swap leaves nothing behind: no lock, no promise, no watched contract", async () => {
  world = await SwapWorld.open();
  const before = [
    await world.maker.watches("AAA"),
    await world.maker.watches("BBB"),
    await world.taker.watches("AAA"),
    await world.taker.watches("BBB"),
  ];
  const uuid = await world.start();
  await world.finish(uuid);
  await world.until(
    "it is settled",
    async () => (await world.maker.store.unsettled()).length + (await world.taker.store.unsettled()).length === 0,
    600,
  );
  await world.advance(10);
  const after = [
    await world.maker.watches("AAA"),
    await world.maker.watches("BBB"),
    await world.taker.watches("AAA"),
    await world.taker.watches("BBB"),
  ];
  expect(after).toEqual(before);
  const { spendable } = {
    spendable: world.maker
      .coin("AAA")
      .ledger.spendable()
      .reduce((n, u) => n + u.value, 0n),
  };
  expect(spendable).toBe(world.maker.units("AAA"));
});

test("a swap given up with a fee signed but never sent frees the fee's inputs, also after a restart", async () => {
  world = await SwapWorld.open();
  world.taker.refuse = (e) => (e.type === "tx_attempted" ? "full" : null);
  const uuid = await world.start();
  await world.until("the fee is signed", async () => (await world.taker.state(uuid)).own.fee !== undefined);
  await world.taker.stop();
  world.taker.refuse = () => null;
  await world.advance(1_000);
  await world.taker.restart();
  await world.until("it is over", async () => (await world.outcome(world.taker, uuid)) !== null);
  expect(await world.outcome(world.taker, uuid)).toBe("failed");
  await world.advance(5);
  expect(
    world.taker
      .coin("BBB")
      .ledger.spendable()
      .reduce((n, u) => n + u.value, 0n),
  ).toBe(toUnits(decimal("10"), 8));
});

test("two makers' starts in the same second that draw the same salt get different secrets", async () => {
  world = await SwapWorld.open();
  world.maker.salts.push(7, 7, 7);
  const uuids = await Promise.all(
    [1, 2, 3].map((n) => {
      const coin = world.maker.coin("AAA");
      const held = coin.reserve([decimal("1")], 60_000);
      if (!held.ok) throw new Error("no funds");
      const uuid = `11111111-0000-4000-8000-00000000000${n}`;
      return world.drive(world.maker.runner.start(world.match("maker", uuid, held.value, { makerAmount: "1" }))).then(() => uuid);
    }),
  );
  const hashes = await Promise.all(uuids.map(async (uuid) => (await world.maker.state(uuid)).terms.secretHash));
  expect(new Set(hashes).size).toBe(3);
});

test("the change of a payment that is being cancelled counts no more after a restart: nobody will ever have it", async () => {
  world = await SwapWorld.open();
  const { maker } = world;
  const { held, mempool } = world.chain("AAA");
  const uuid = await world.start();
  await world.withheld(maker, uuid, "makerPayment");
  await world.until("it is cancelled", async () => (await maker.state(uuid)).own.cancel?.attempted === true);
  const { makerPayment, cancel } = (await maker.state(uuid)).own;
  mempool.graph.removeWithDescendants(makerPayment?.txid ?? "");
  held.add(cancel?.txid ?? "");
  await world.until("the cancellation is out", () => mempool.graph.get(cancel?.txid ?? "") !== undefined, 120);
  const counted = (): bigint =>
    maker
      .coin("AAA")
      .ledger.spendable()
      .reduce((n, u) => n + u.value, 0n);
  expect(counted()).toBe(maker.units("AAA"));
  await maker.stop();
  await maker.restart();
  await world.advance(5);
  expect(counted()).toBe(maker.units("AAA"));
  held.clear();
  await world.until("it is over", async () => (await world.outcome(maker, uuid)) === "cancelled");
});

test.each([0, 700])(
  "a withdrawal whose change a swap paid from %i s later is sent again, and what it spends stays taken, until a block has it",
  async (startSec) => {
    world = await SwapWorld.open();
    const chain = world.chain("AAA");
    const coin = world.maker.coin("AAA");
    const request = { to: coin.address, amount: decimal("1"), fee: undefined, broadcast: true };
    const sent = await world.drive(coin.withdraw(request, new AbortController().signal));
    if (!sent.ok) throw new Error(sent.error.kind);
    const { txid } = sent.value;
    chain.held.add(txid);
    await world.advance(startSec);
    const uuid = await world.start({ lockDurationSec: 7_800 });
    await world.until("the maker pays from its change", () => hasMark(uuid));
    expect(coin.spends(fromHex((await world.maker.state(uuid)).own.makerPayment?.raw ?? ""), txid)).toBe(true);
    for (const laterSec of [0, 700]) {
      await world.advance(laterSec);
      chain.mempool.graph.removeWithDescendants(txid);
      await world.until("it is sent again", () => chain.mempool.graph.get(txid) !== undefined, 120);
    }
  },
);

test("a withdrawal of before a start, whose change a swap pays from, is sent again when mempools forget it", async () => {
  world = await SwapWorld.open();
  const { maker } = world;
  const chain = world.chain("AAA");
  const request = { to: maker.coin("AAA").address, amount: decimal("1"), fee: undefined, broadcast: true };
  const sent = await world.drive(maker.coin("AAA").withdraw(request, new AbortController().signal));
  if (!sent.ok) throw new Error(sent.error.kind);
  const { txid } = sent.value;
  chain.held.add(txid);
  await world.advance(10);
  await maker.stop();
  await maker.restart();
  await world.advance(100);
  const uuid = await world.start({ lockDurationSec: 7_800 });
  await world.until("the maker pays from its change", () => hasMark(uuid));
  const coin = maker.coin("AAA");
  expect(coin.spends(fromHex((await maker.state(uuid)).own.makerPayment?.raw ?? ""), txid)).toBe(true);
  chain.mempool.graph.removeWithDescendants(txid);
  await world.until("it is sent again", () => chain.mempool.graph.get(txid) !== undefined, 120);
  chain.held.clear();
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});
