import fc from "fast-check";
import { expect, test } from "vitest";
import { FakeAccountCoin } from "../../../test/fakes/fakeAccountCoin.ts";
import { OrderWorld, type TestNode } from "../../../test/fakes/orderWorld.ts";
import { gte, rational } from "../../core/money/rational.ts";

const seed = Number(process.env.FC_SEED ?? 20_261_121);
console.info(`account orders properties: seed ${seed}`);

/** Given and received, as the maker has it. */
const PAIRS = [
  ["AAA", "ETH"],
  ["TOK", "ETH"],
  ["ETH", "TK2"],
  ["TOK", "TK2"],
  ["ETH", "BBB"],
] as const;
const anyAct = fc.record({
  do: fc.constantFrom("setprice", "buy", "buy", "sell", "sell", "wait", "wait", "swapFails", "gas"),
  who: fc.nat(2),
  pair: fc.constantFrom(...PAIRS),
  n: fc.nat(11),
});
type Act = typeof anyAct extends fc.Arbitrary<infer T> ? T : never;

/** Little gas: some three swaps' worth. */
function withAccounts(node: TestNode): void {
  const ETH = new FakeAccountCoin("ETH", "12.02");
  for (const coin of [ETH, new FakeAccountCoin("TOK", "20", ETH), new FakeAccountCoin("TK2", "20", ETH)]) node.coins.set(coin.ticker, coin);
}

async function run(world: OrderWorld, nodes: readonly TestNode[], { do: what, who, pair, n }: Act): Promise<void> {
  const [node, [base, rel]] = [nodes[who], pair];
  if (!node) throw new Error("no such node");
  const volume = rational(BigInt(n + 1), 4n);
  if (what === "wait") await world.clock.advance([10, 800, 3_100, 31_000][n % 4] ?? 0);
  else if (what === "setprice")
    await node.orders.placeMakerOrder({ base, rel, price: rational(1n), volume: rational(4n), cancelPrevious: false });
  else if (what === "buy") await node.orders.placeTakerOrder({ action: "Buy", base, rel, price: rational(1n), volume });
  else if (what === "sell") await node.orders.placeTakerOrder({ action: "Sell", base: rel, rel: base, price: rational(1n), volume });
  else if (what === "swapFails") node.swaps.failNext = true;
  else node.coin("ETH").setBalance(["12.02", "6.005", "0.006", "0.001"][n % 4] ?? "0");
}

test("whatever is given for whatever, every swap has all its funds on both sides, and what has no swap holds nothing", async () => {
  let swaps = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(anyAct, { minLength: 5, maxLength: 60 }), fc.array(fc.nat(19), { minLength: 1 }), async (acts, losses) => {
      const world = new OrderWorld();
      const nodes = [await world.node("a"), await world.node("b"), await world.node("c")];
      nodes.forEach(withAccounts);
      for (const pair of PAIRS) await run(world, nodes, { do: "setprice", who: 0, pair, n: 0 });
      let sent = 0;
      world.deliver = () => losses[sent++ % losses.length] !== 0;
      for (const act of acts) {
        await run(world, nodes, act);
        // ETH is spent in between, the rest is not.
        for (const coin of nodes.flatMap((node) => [...node.coins.values()])) {
          if (coin.ticker !== "ETH") expect(gte(coin.spendable(), coin.locked()), `${coin.ticker} is promised twice`).toBe(true);
        }
      }
      await world.clock.advance(150_000);
      for (const node of nodes) {
        for (const swap of node.swaps.started) {
          const [own, other] = swap.role === "maker" ? [swap.makerCoin, swap.takerCoin] : [swap.takerCoin, swap.makerCoin];
          expect(swap.claimReservation !== null).toBe(node.coin(other).spendsFrom === "account");
          expect(node.coin(own).openReservations).toBeGreaterThan(0);
          node.coin(own).release(swap.reservation);
          if (swap.claimReservation) node.coin(other).release(swap.claimReservation);
          swaps++;
        }
        for (const coin of node.coins.values()) expect([coin.ticker, coin.openReservations]).toEqual([coin.ticker, 0]);
      }
    }),
    { seed, numRuns: 60 },
  );
  expect(swaps).toBeGreaterThan(50);
});
