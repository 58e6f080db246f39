import { expect, test } from "vitest";
import { RpcRefusal, type ScriptedNode, type ScriptedWorld, scriptedWorld } from "./support/scriptedEvm.ts";

const GWEI = 10n ** 9n;
const quantity = (wei: bigint): string => `0x${wei.toString(16)}`;

/** Paid beside the base fee: by all, or by the three percentiles; null: the node refuses to say. */
type Tip = bigint | readonly bigint[] | null;

/** A node whose price and tips are so much, wei per gas; null: it refuses to say. */
function say(node: ScriptedNode | undefined, wei: bigint | null, tip: Tip = wei): void {
  const told = (answer: unknown) => (): unknown => {
    if (wei === null) throw new RpcRefusal(-32005, "not now");
    return answer;
  };
  const price = wei === null ? "" : quantity(wei);
  node?.says.set("eth_gasPrice", told(price));
  node?.says.set("eth_feeHistory", () => {
    if (tip === null) throw new RpcRefusal(-32005, "not now");
    return { baseFeePerGas: ["0x1"], reward: [(typeof tip === "bigint" ? [tip, tip, tip] : tip).map(quantity)] };
  });
}

/** What gas costs, as nodes say that name these prices. @param baseFee null: a chain before EIP-1559 @param tipped what recent blocks paid beside it */
async function pricesOf(told: readonly (bigint | null)[], baseFee: bigint | null = GWEI, tipped: readonly Tip[] = told, chainId?: bigint) {
  const prepare = (nodes: readonly ScriptedNode[]): void => {
    for (const [i, node] of nodes.entries()) {
      say(node, told[i] ?? null, tipped[i]);
      node.says.set("eth_getBlockByNumber", (_params, honest) => {
        const { baseFeePerGas: _fee, ...header } = honest() as Record<string, unknown>;
        // Full: the next base fee is an eighth more.
        return { ...header, gasUsed: header.gasLimit, ...(baseFee === null ? {} : { baseFeePerGas: quantity(baseFee) }) };
      });
    }
  };
  const world: ScriptedWorld = scriptedWorld(told.length, {}, prepare, chainId);
  await world.drive(world.chain.refresh());
  const prices = world.chain.gasPrices();
  await world.drive(world.chain.close());
  return prices;
}
const tips = (wei: bigint) => ({ low: wei, medium: wei, high: wei });

test("of two nodes the higher price counts: one that names next to nothing has nothing wait for ever", async () => {
  for (const low of [0n, 1n]) {
    expect(await pricesOf([30n * GWEI, low], null)).toEqual({ legacy: 30n * GWEI, nextBaseFee: null, priority: null });
    expect(await pricesOf([low, 30n * GWEI])).toMatchObject({ legacy: 30n * GWEI });
  }
  expect(await pricesOf([2n * GWEI, 3n * GWEI])).toMatchObject({ legacy: 3n * GWEI, priority: tips(3n * GWEI) });
  // One that sees no tips says that the usual one is paid.
  expect(await pricesOf([0n, 30n * GWEI])).toMatchObject({ priority: tips(30n * GWEI) });
});

test("a price that one of two names alone costs no more than eight times the other's or twice the base fee", async () => {
  const absurd = 10n ** 30n;
  expect(await pricesOf([20n * GWEI, absurd], null)).toMatchObject({ legacy: 160n * GWEI });
  expect(await pricesOf([absurd, 2n * GWEI])).toMatchObject({ legacy: 16n * GWEI, priority: tips(16n * GWEI) });
  expect(await pricesOf([GWEI, absurd], GWEI / 2n)).toMatchObject({ legacy: 8n * GWEI, priority: tips(8n * GWEI) });
  // Nothing proves what gas costs there, or what the lower one says is wrong.
  expect(await pricesOf([absurd, 2n * GWEI], null)).toMatchObject({ legacy: 50n * GWEI });
  expect(await pricesOf([absurd, GWEI], 0n)).toMatchObject({ legacy: 50n * GWEI });
  expect(await pricesOf([absurd, 0n])).toMatchObject({ legacy: 50n * GWEI });
  expect(await pricesOf([absurd, 2n * GWEI], 800n * GWEI)).toMatchObject({ legacy: 1_800n * GWEI, priority: tips(900n * GWEI) });
});

test("where the honest see no tips, one that names some does not set them", async () => {
  const [price, absurd] = [3n * GWEI, 9_000n * GWEI];
  // The single price less the next base fee.
  const usual = price - (9n * GWEI) / 8n;
  for (const others of [2, 4]) {
    const prices = Array.from({ length: others + 1 }, () => price);
    expect(
      await pricesOf(
        prices,
        GWEI,
        prices.map((_, i) => (i < others ? 0n : absurd)),
      ),
    ).toMatchObject({ priority: tips(usual) });
  }
  expect(await pricesOf([price, price], GWEI, [0n, absurd])).toMatchObject({ priority: tips(8n * usual) });
  expect(await pricesOf([price, price], GWEI, [0n, 0n])).toMatchObject({ priority: tips(usual) });
});

test("of four nodes one moves nothing beyond what the others say", async () => {
  expect(await pricesOf([0n, 2n * GWEI, 3n * GWEI, 4n * GWEI], null)).toMatchObject({ legacy: 3n * GWEI });
  expect(await pricesOf([10n ** 30n, 2n * GWEI, 3n * GWEI, 4n * GWEI], null)).toMatchObject({ legacy: 4n * GWEI });
});

test("one of several that names a price alone is believed up to what does no harm: the others may only be busy", async () => {
  const absurd = 9_000n * GWEI;
  expect(await pricesOf([null, absurd, null], null)).toMatchObject({ legacy: 50n * GWEI });
  expect(await pricesOf([absurd, null])).toMatchObject({ legacy: 50n * GWEI, priority: tips(50n * GWEI) });
  expect(await pricesOf([null, absurd, null], 800n * GWEI)).toMatchObject({ legacy: 1_800n * GWEI, priority: tips(900n * GWEI) });
  // The tips of the others are not known either.
  const tipped = await pricesOf([3n * GWEI, 3n * GWEI, 3n * GWEI], GWEI, [null, null, absurd]);
  expect(tipped).toMatchObject({ legacy: 3n * GWEI, priority: tips(50n * GWEI) });
  // Of one node that was given alone there is nobody else to ask.
  expect(await pricesOf([absurd])).toMatchObject({ legacy: absurd, priority: tips(absurd) });
});

test("the only one of those that agree on the block that names a price is believed; without any there is none", async () => {
  expect(await pricesOf([null, 3n * GWEI, null], null)).toMatchObject({ legacy: 3n * GWEI });
  expect(await pricesOf([null, 3n * GWEI])).toMatchObject({ legacy: 3n * GWEI, priority: tips(3n * GWEI) });
  expect(await pricesOf([null, null, null], null)).toBeNull();
});

test("nodes that tell no price any more: what the newest block says of its base fee counts, with the tips of before", async () => {
  let baseFee = 2n * GWEI;
  const world = scriptedWorld(1, {}, ([node]) => {
    say(node, 3n * GWEI, GWEI);
    node?.says.set("eth_getBlockByNumber", (_params, honest) => {
      const header = honest() as Record<string, unknown>;
      return { ...header, gasUsed: header.gasLimit, baseFeePerGas: quantity(baseFee) };
    });
  });
  await world.drive(world.chain.refresh());
  say(world.nodes[0], null);
  const after = async (gwei: bigint) => {
    baseFee = gwei * GWEI;
    world.evm.mine();
    await world.drive(world.chain.refresh());
    return world.chain.gasPrices();
  };
  expect(await after(40n)).toEqual({ legacy: 46n * GWEI, nextBaseFee: 45n * GWEI, priority: tips(GWEI) });
  expect(await after(8n)).toEqual({ legacy: 10n * GWEI, nextBaseFee: 9n * GWEI, priority: tips(GWEI) });
  expect(world.chain.status().error).toContain("the price of gas");
  await world.drive(world.chain.close());
});

test("nodes of Polygon take no tip below 25 gwei, whatever its blocks paid of late and whatever they propose", async () => {
  const [least, next] = [25n * GWEI, (9n * 40n * GWEI) / 8n];
  for (const chainId of [137n, 80_002n])
    expect(await pricesOf([41n * GWEI], 40n * GWEI, [GWEI + 1n], chainId)).toEqual({
      legacy: next + least,
      nextBaseFee: next,
      priority: tips(least),
    });
  expect(await pricesOf([90n * GWEI], 40n * GWEI, [30n * GWEI], 137n)).toMatchObject({ legacy: 90n * GWEI, priority: tips(30n * GWEI) });
  expect(await pricesOf([41n * GWEI], 40n * GWEI, [GWEI + 1n], 1n)).toMatchObject({ legacy: 41n * GWEI, priority: tips(GWEI + 1n) });
});

test("without a tip no pool takes a transaction: one wei is named at least, whatever blocks held and however their base fee falls", async () => {
  const nextBaseFee = (9n * GWEI) / 8n;
  // Bundles, and what whoever made the block sent himself, pay none.
  const priority = { low: 1n, medium: GWEI, high: 2n * GWEI };
  expect(await pricesOf([3n * GWEI], GWEI, [[0n, GWEI, 2n * GWEI]])).toEqual({ legacy: 3n * GWEI, nextBaseFee, priority });
  // Empty blocks, and the price of a later one, when gas was cheaper.
  expect(await pricesOf([GWEI], GWEI, [0n])).toEqual({ legacy: GWEI, nextBaseFee, priority: tips(1n) });
});
