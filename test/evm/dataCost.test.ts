import { expect, test } from "vitest";
import { dataBound } from "../../src/app/coin/evm/dataCost.ts";
import { DATA_ROOM } from "../../src/app/coin/evm/gasFigures.ts";
import { ARB_SYS, FEE_ORACLE, SCROLL_ORACLE } from "../../src/core/evm/dataCost.ts";
import { OWNER, RpcRefusal, type ScriptedNode, type ScriptedWorld, scriptedWorld } from "./support/scriptedEvm.ts";

/** What data costs, as nodes tell it of which some lie, contradict each other or know no oracle. */

const L1_FEE = "0x49948e0e";
const OPERATOR_FEE = "0x275aedd2";
const word = (wei: bigint): string => `0x${wei.toString(16).padStart(64, "0")}`;
type Oracle = { readonly l1: () => string; readonly operator?: () => string };

function refuse(): string {
  throw new RpcRefusal(3, "execution reverted", "0x");
}
/** The node answers for the oracle like this, and for everything else as it is. */
function tells(node: ScriptedNode | undefined, { l1, operator = refuse }: Oracle): void {
  node?.says.set("eth_call", (params, honest) => {
    const { to, data } = params[0] as { to?: string; data: string };
    if (to !== `0x${FEE_ORACLE}`) return honest();
    return data.startsWith(L1_FEE) ? l1() : data.startsWith(OPERATOR_FEE) ? operator() : refuse();
  });
}
const asked = ({ nodes: [node] }: ScriptedWorld): number =>
  node?.calls.filter(({ params }) => (params[0] as { to?: string } | undefined)?.to === `0x${FEE_ORACLE}`).length ?? 0;

async function blocks(world: ScriptedWorld, count: number, ms = 12_000): Promise<void> {
  for (let i = 0; i < count; i++) {
    await world.evm.clock.run({ untilMs: world.evm.clock.nowMs() + ms });
    world.evm.mine();
    await world.drive(world.chain.refresh());
  }
}

test("a chain of its own takes nothing for data, and is asked once", async () => {
  const world = scriptedWorld(1);
  await world.drive(world.chain.watchAccount(OWNER));
  expect(world.chain.dataCost()).toEqual({ gas: 21_000n, wei: 0n });
  const first = asked(world);
  await blocks(world, 10);
  expect([first, asked(world)]).toEqual([2, 2]);
});

test("Scroll's oracle answers the same question in another place", async () => {
  const world = scriptedWorld(1);
  let wei = 800n;
  world.nodes[0]?.says.set("eth_call", (params, honest) => {
    const { to, data } = params[0] as { to?: string; data: string };
    return to !== `0x${SCROLL_ORACLE}` ? honest() : data.startsWith(L1_FEE) ? word(wei) : refuse();
  });
  await world.drive(world.chain.watchAccount(OWNER));
  expect(world.chain.dataCost()).toMatchObject({ wei: 800n });
  wei = 900n;
  await blocks(world, 2);
  expect(world.chain.dataCost()).toMatchObject({ wei: 900n });
});

test("an oracle's figure is known with the account, and is asked for again while time goes by; the operator's part is added", async () => {
  const world = scriptedWorld(1);
  let wei = 700n;
  tells(world.nodes[0], { l1: () => word(wei), operator: () => word(50n) });
  await world.drive(world.chain.watchAccount(OWNER));
  expect(world.chain.dataCost()).toMatchObject({ wei: 750n });
  expect(dataBound(world.chain)).toEqual({ gas: 0n, wei: 750n * DATA_ROOM });
  let told = 0;
  world.chain.onChange(({ all }) => {
    if (all) told++;
  });
  wei = 900n;
  await blocks(world, 2);
  expect(world.chain.dataCost()).toMatchObject({ wei: 950n });
  expect(told).toBeGreaterThan(0);
  expect(asked(world)).toBeLessThanOrEqual(4);
});

test.each([
  ["an oracle that takes nothing today", FEE_ORACLE],
  ["a chain of Arbitrum's on which data needs little today", ARB_SYS],
] as const)("%s is asked again and again: it may take more tomorrow", async (_what, at) => {
  const world = scriptedWorld(1);
  const [node] = world.nodes;
  if (at === FEE_ORACLE) tells(node, { l1: () => word(0n) });
  else node?.says.set("eth_getCode", (params, honest) => (params[0] === `0x${ARB_SYS}` ? "0xfe" : honest()));
  await world.drive(world.chain.watchAccount(OWNER));
  expect(world.chain.dataCost()).toEqual({ gas: 21_000n, wei: 0n });
  node?.says.set("eth_estimateGas", () => "0x249f0");
  await blocks(world, 2);
  expect(world.chain.dataCost()).toEqual({ gas: 150_000n, wei: 0n });
});

test("nodes that estimate nothing for an account without coins: it is enabled all the same, and asked again", async () => {
  const world = scriptedWorld(1);
  const [node] = world.nodes;
  tells(node, { l1: () => word(700n) });
  node?.says.set("eth_estimateGas", () => {
    throw new RpcRefusal(-32003, "Insufficient funds for gas * price + value");
  });
  await world.drive(world.chain.watchAccount(OWNER));
  expect([world.chain.dataCost(), world.chain.status().error]).toEqual([{ gas: 0n, wei: 700n }, null]);
  node?.says.set("eth_getCode", () => "0xfe");
  await blocks(world, 2);
  expect(world.chain.status().error).toContain("Insufficient funds");
  node?.says.delete("eth_estimateGas");
  await blocks(world, 2);
  expect([world.chain.dataCost(), world.chain.status().error]).toEqual([{ gas: 21_000n, wei: 700n }, null]);
});

test("what was not to be had at first is asked for again though no block comes: a quiet chain has one only when somebody sends something", async () => {
  const world = scriptedWorld(1);
  const [node] = world.nodes;
  tells(node, { l1: refuse });
  await world.drive(world.chain.watchAccount(OWNER));
  expect([world.chain.dataCost(), world.chain.status().error]).toEqual([null, expect.stringContaining("execution reverted")]);
  let told = 0;
  world.chain.onChange(({ all }) => {
    if (all) told++;
  });
  tells(node, { l1: () => word(700n) });
  await world.drive(world.chain.refresh());
  expect(world.chain.dataCost()).toBeNull();
  await world.evm.clock.run({ untilMs: world.evm.clock.nowMs() + 6_000 });
  await world.drive(world.chain.refresh());
  expect([world.chain.dataCost(), world.chain.status().error]).toEqual([{ gas: 21_000n, wei: 700n }, null]);
  expect(told).toBe(1);
});

test("an estimate that some nodes refuse: those count that give one, where gas for data is not to be expected", async () => {
  for (const code of [-32003, -32601, 3]) {
    const world = scriptedWorld(2);
    world.nodes[1]?.says.set("eth_estimateGas", () => {
      throw new RpcRefusal(code, "not for this account");
    });
    await world.drive(world.chain.watchAccount(OWNER));
    expect([world.chain.dataCost(), world.chain.status().error]).toEqual([{ gas: 21_000n, wei: 0n }, null]);
  }
  const arbitrum = scriptedWorld(2);
  for (const node of arbitrum.nodes) node.says.set("eth_getCode", (params, honest) => (params[0] === `0x${ARB_SYS}` ? "0xfe" : honest()));
  arbitrum.nodes[1]?.says.set("eth_estimateGas", refuse);
  await arbitrum.drive(arbitrum.chain.watchAccount(OWNER));
  expect(arbitrum.chain.dataCost()).toBeNull();
});

test.each([
  [-32000, "execution reverted"],
  [-32603, "internal error: revert"],
])("an oracle older than the operator's fee, whose refusal one of two nodes words as %s", async (code, message) => {
  const world = scriptedWorld(2);
  const other = (): string => {
    throw new RpcRefusal(code, message);
  };
  tells(world.nodes[0], { l1: () => word(700n) });
  tells(world.nodes[1], { l1: () => word(700n), operator: other });
  await world.drive(world.chain.watchAccount(OWNER));
  expect(world.chain.dataCost()).toMatchObject({ wei: 700n });
});

test("nodes that have no time for the operator's part do not say that there is none: the last figure stays, the status says why", async () => {
  const world = scriptedWorld(2);
  const busy = (): string => {
    throw new RpcRefusal(-32005, "daily request count exceeded, request rate limited");
  };
  for (const node of world.nodes) tells(node, { l1: () => word(700n), operator: () => word(50n) });
  await world.drive(world.chain.watchAccount(OWNER));
  expect(world.chain.dataCost()).toMatchObject({ wei: 750n });
  for (const node of world.nodes) tells(node, { l1: () => word(700n), operator: busy });
  await blocks(world, 2);
  expect(world.chain.dataCost()).toMatchObject({ wei: 750n });
  expect(world.chain.status()).toMatchObject({ state: "ready", error: expect.stringContaining("rate limited") });
});

test("an oracle older than the operator's fee takes none", async () => {
  const world = scriptedWorld(1);
  tells(world.nodes[0], { l1: () => word(700n) });
  await world.drive(world.chain.watchAccount(OWNER));
  expect(world.chain.dataCost()).toMatchObject({ wei: 700n });
});

test.each<readonly [string, () => string]>([
  ["nothing", () => word(0n)],
  ["more than there is", () => word(2n ** 255n)],
  ["a fortune", () => word(10n ** 20n)],
  ["bytes that are no number", () => "0x1234"],
  ["no oracle", () => "0x"],
  ["a refusal", refuse],
])("one of three nodes that says %s does not count", async (_what, lie) => {
  const world = scriptedWorld(3);
  for (const node of world.nodes) tells(node, { l1: () => word(700n) });
  tells(world.nodes[2], { l1: lie });
  for (const node of world.nodes) node.latencyMs = 200;
  if (world.nodes[2]) world.nodes[2].latencyMs = 1;
  await world.drive(world.chain.watchAccount(OWNER));
  expect(world.chain.dataCost()).toMatchObject({ wei: 700n });
  expect(world.chain.status().error).toBeNull();
});

test.each<readonly [string, () => string, string]>([
  ["bytes that are no number", () => "0x1234", "the fee oracle answered 2 bytes"],
  ["more wei than there are", () => word(2n ** 255n), "more wei than there are"],
  ["a refusal", refuse, "execution reverted"],
])("the only node answers %s: nothing is known, the status says why, and it is asked again", async (_what, lie, why) => {
  const world = scriptedWorld(1);
  tells(world.nodes[0], { l1: lie });
  await world.drive(world.chain.watchAccount(OWNER));
  expect(world.chain.dataCost()).toBeNull();
  expect(world.chain.account(OWNER)).toBeDefined();
  expect(world.chain.status()).toMatchObject({ state: "ready", error: expect.stringContaining(why) });
  tells(world.nodes[0], { l1: () => word(700n) });
  await blocks(world, 1);
  expect(world.chain.dataCost()).toMatchObject({ wei: 700n });
  expect(world.chain.status().error).toBeNull();
});

test("two nodes that name different fees: the last figure both agreed on stays, and the status names them", async () => {
  const world = scriptedWorld(2);
  for (const node of world.nodes) tells(node, { l1: () => word(700n) });
  await world.drive(world.chain.watchAccount(OWNER));
  tells(world.nodes[1], { l1: () => word(1n) });
  await blocks(world, 3);
  expect(world.chain.dataCost()).toMatchObject({ wei: 700n });
  expect(world.chain.status().error).toContain("contradict each other about the answer to eth_call (a, b)");
});

test("gas that data needs is the middle one of what the nodes say, of two the greater, of which no more is sure than both say", async () => {
  for (const [told, expected, sure] of [
    [[150_000n, 1n, 140_000n], 140_000n, undefined],
    [[150_000n, 10n ** 9n, 140_000n], 150_000n, undefined],
    [[150_000n, 21_000n], 150_000n, 21_000n],
  ] as const) {
    const world = scriptedWorld(told.length);
    for (const [i, gas] of told.entries()) world.nodes[i]?.says.set("eth_estimateGas", () => `0x${gas.toString(16)}`);
    await world.drive(world.chain.watchAccount(OWNER));
    expect(world.chain.dataCost()).toMatchObject({ gas: expected });
    expect(world.chain.dataCost()?.sureGas).toBe(sure);
  }
});

test("more gas for data than any swap reckons with counts where as many nodes as must agree say so; else the last figure stays, and the status names them", async () => {
  const world = scriptedWorld(2);
  const say = (i: number, gas: bigint) => world.nodes[i]?.says.set("eth_estimateGas", () => `0x${gas.toString(16)}`);
  for (const node of world.nodes) tells(node, { l1: () => word(700n) });
  for (const i of [0, 1]) say(i, 150_000n);
  await world.drive(world.chain.watchAccount(OWNER));
  say(1, 10n ** 8n);
  await blocks(world, 3);
  expect(world.chain.dataCost()).toEqual({ gas: 150_000n, wei: 700n });
  expect(world.chain.status()).toMatchObject({ state: "ready", error: expect.stringContaining("contradict each other about") });
  say(0, 2_000_000n);
  await blocks(world, 3);
  expect(world.chain.dataCost()).toMatchObject({ gas: 10n ** 8n });
  expect(world.chain.status().error).toBeNull();
});
