import fc from "fast-check";
import { expect, test } from "vitest";
import { keyHex, OrderWorld, type TestNode } from "../../../test/fakes/orderWorld.ts";
import { add, decimal, gte, lte, type Rational, rational, ZERO } from "../../core/money/rational.ts";
import { availableVolume } from "../../core/order/makerOrder.ts";

const seed = Number(process.env.FC_SEED ?? 20_261_121);
console.info(`orders properties: seed ${seed}`);

type Act =
  | { readonly do: "setprice" | "buy" | "sell"; readonly who: number; readonly n: number; readonly price: number }
  | { readonly do: "update"; readonly who: number; readonly n: number; readonly price: number }
  | { readonly do: "cancelAll" | "restart" | "diskFull" | "swapFails"; readonly who: number }
  | { readonly do: "balance"; readonly who: number; readonly n: number }
  | { readonly do: "wait"; readonly ms: number };

const who = fc.nat(2);
const anyAct: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom("setprice" as const, "buy" as const, "sell" as const),
      who,
      n: fc.integer({ min: 1, max: 30 }),
      price: fc.integer({ min: 1, max: 5 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom("cancelAll" as const, "restart" as const, "diskFull" as const, "swapFails" as const), who }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("update" as const),
      who,
      n: fc.integer({ min: -20, max: 20 }),
      price: fc.integer({ min: 1, max: 5 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("balance" as const), who, n: fc.integer({ min: 1, max: 100 }) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.constantFrom(10, 800, 3_100, 31_000) }) },
);

async function run(world: OrderWorld, nodes: readonly TestNode[], act: Act): Promise<void> {
  if (act.do === "wait") {
    await world.clock.advance(act.ms);
    return;
  }
  const node = nodes[act.who];
  if (!node) throw new Error("no such node");
  // a full disk is a broken promise; the property is about what holds afterwards
  const tolerate = (work: Promise<unknown>): Promise<unknown> =>
    work.catch((error: unknown) => expect(String(error)).toContain("disk is full"));
  if (act.do === "setprice") {
    const volume = rational(BigInt(act.n));
    await tolerate(
      node.orders.placeMakerOrder({
        base: "AAA",
        rel: "BBB",
        price: rational(BigInt(act.price), 3n),
        volume,
        cancelPrevious: act.n % 2 === 0,
      }),
    );
  } else if (act.do === "buy" || act.do === "sell") {
    const [action, base, rel] = act.do === "buy" ? (["Buy", "AAA", "BBB"] as const) : (["Sell", "BBB", "AAA"] as const);
    await tolerate(
      node.orders.placeTakerOrder({ action, base, rel, price: rational(BigInt(act.price)), volume: rational(BigInt(act.n), 2n) }),
    );
  } else if (act.do === "update") {
    const [order] = node.orders.myOrders().makers;
    const change = { price: rational(BigInt(act.price), 3n), volumeDelta: act.n === 0 ? ("max" as const) : rational(BigInt(act.n)) };
    if (order) await tolerate(node.orders.updateMakerOrder({ uuid: order.uuid, ...change }));
  } else if (act.do === "cancelAll") await tolerate(node.orders.cancelAllOrders({ type: "All" }));
  else if (act.do === "restart") await node.restart();
  else if (act.do === "diskFull") node.disk.fail = true;
  else if (act.do === "swapFails") node.swaps.failNext = true;
  else if (act.do === "balance") node.coin("AAA").setBalance(String(act.n));
}

const orderOf = (node: TestNode, uuid: string) => node.orders.myOrders().makers.find((o) => o.uuid === uuid);

/** What must hold whatever happened, with messages lost at random. */
function check(world: OrderWorld, nodes: readonly TestNode[]): void {
  const requests = new Map(world.messages("TakerRequest").map((r) => [r.uuid, r]));
  for (const node of nodes) {
    for (const order of node.orders.myOrders().makers) expect(gte(availableVolume(order), ZERO)).toBe(true);
    // The network was told what the order is, whatever is stored or refused in between.
    for (const { uuid, price, minVolume } of node.orders.ownOrders.orders()) {
      expect({ price, minVolume }).toEqual({ price: orderOf(node, uuid)?.price, minVolume: orderOf(node, uuid)?.minBaseVol });
    }
    const uuids = node.swaps.started.map((m) => m.uuid);
    expect(new Set(uuids).size).toBe(uuids.length);
    for (const swap of node.swaps.started.filter((s) => s.role === "taker")) {
      const request = requests.get(swap.uuid);
      if (!request) throw new Error("a swap without a request");
      const [paid, got]: readonly Rational[] = [swap.takerAmount, swap.makerAmount];
      if (!paid || !got) throw new Error("no amounts");
      if (request.action === "Buy") expect([got, lte(paid, request.relAmount)]).toEqual([request.baseAmount, true]);
      else expect([paid, gte(got, request.relAmount)]).toEqual([request.baseAmount, true]);
      // the taker never starts a swap whose maker has not stored the same one
      const maker = nodes.find((n) => keyHex(n) === Buffer.from(swap.counterparty).toString("hex"));
      expect(maker?.swaps.started.find((m) => m.uuid === swap.uuid)).toMatchObject({
        role: "maker",
        makerAmount: swap.makerAmount,
        takerAmount: swap.takerAmount,
        lockDurationSec: swap.lockDurationSec,
      });
    }
  }
}

test("any mix of orders, updates, cancels, lost messages, restarts and full disks: no oversold order, no worse price, no uuid twice, no lone taker swap", async () => {
  let swaps = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyAct, { minLength: 10, maxLength: 40 }),
      fc.array(fc.boolean(), { minLength: 1, maxLength: 50 }),
      async (acts, losses) => {
        const world = new OrderWorld();
        const nodes = [await world.node("a"), await world.node("b"), await world.node("c")];
        let at = 0;
        world.deliver = (sent, to) => sent.from === to || !(losses[at++ % losses.length] && at % 5 === 0);
        for (const act of acts) {
          await run(world, nodes, act);
          check(world, nodes);
        }
        for (const node of nodes) node.disk.fail = false;
        await world.clock.advance(100_000);
        check(world, nodes);
        // what no swap took is free again
        for (const node of nodes) {
          const started = node.swaps.started.length;
          expect(node.coin("AAA").openReservations + node.coin("BBB").openReservations).toBeLessThanOrEqual(started);
          swaps += started;
        }
      },
    ),
    { seed, numRuns: 60 },
  );
  expect(swaps).toBeGreaterThan(20);
});

test("the sum of what an order's takers hold and got never exceeds what it was placed with", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.integer({ min: 1, max: 8 }), fc.constantFrom(5, 900, 3_100)), { minLength: 1, maxLength: 20 }),
      async (takes) => {
        const world = new OrderWorld();
        const maker = await world.node("maker");
        const taker = await world.node("taker");
        await maker.orders.placeMakerOrder({ base: "AAA", rel: "BBB", price: decimal("2"), volume: decimal("10") });
        for (const [volume, waitMs] of takes) {
          await taker.orders.placeTakerOrder({
            action: "Buy",
            base: "AAA",
            rel: "BBB",
            price: decimal("2"),
            volume: rational(BigInt(volume)),
            orderType: "FillOrKill",
          });
          await world.clock.advance(waitMs);
        }
        await world.clock.advance(10_000);
        expect(
          lte(
            maker.swaps.started.reduce((sum, s) => add(sum, s.makerAmount), ZERO),
            decimal("10"),
          ),
        ).toBe(true);
        expect(maker.swaps.started.map((s) => s.uuid).sort()).toEqual(taker.swaps.started.map((s) => s.uuid).sort());
      },
    ),
    { seed, numRuns: 40 },
  );
});
