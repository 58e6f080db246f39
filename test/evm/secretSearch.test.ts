import { expect, test } from "vitest";
import { SWAP_TOPICS } from "../../src/core/evm/swapContract.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import {
  LOCK,
  PAYMENT_ID,
  RpcRefusal,
  type ScriptedNode,
  type ScriptedWorld,
  SECRET,
  SWAP_CONTRACT,
  scriptedWorld,
} from "./support/scriptedEvm.ts";

const KEY = { contract: SWAP_CONTRACT, id: PAYMENT_ID, lockTime: BigInt(LOCK) };
const SENT = { kind: "sent", id: PAYMENT_ID } as const;
const SPENT = { kind: "spent", id: PAYMENT_ID } as const;

const node = (world: ScriptedWorld, n: number): ScriptedNode => world.nodes[n] ?? expect.fail(`no node ${n}`);
const pass = (world: ScriptedWorld, seconds: number): Promise<unknown> => world.evm.clock.advance(seconds * 1_000);
const shown = (world: ScriptedWorld): string | null => {
  const found = world.chain.shownSecret(KEY);
  return found && toHex(found.secret);
};
const logsAsked = (world: ScriptedWorld, n: number): number => node(world, n).calls.filter(({ method }) => method === "eth_getLogs").length;

/** It gives the logs of so many blocks at most. */
function giveLogsOf(blocks: number, from: ScriptedNode, refusal = new RpcRefusal(-32005, "query exceeds the range")): void {
  from.says.set("eth_getLogs", (params, honest) => {
    const [{ fromBlock, toBlock }] = params as [{ fromBlock: string; toBlock: string }];
    if (Number(toBlock) - Number(fromBlock) >= blocks) throw refusal;
    return honest();
  });
}

/** Three nodes that saw the payment; of those whose numbers are given nothing comes any more. */
async function short(...gone: readonly number[]): Promise<ScriptedWorld> {
  const world = scriptedWorld(3);
  world.evm.mine([SENT]);
  await world.drive(world.chain.watchPayment(KEY, 0));
  for (const n of gone) node(world, n).hangs = true;
  return world;
}

test("while too few nodes agree the one that is left shows the secret of a claim, and nothing else of it is believed", async () => {
  const world = await short(0, 1);
  const told = new Set<string>();
  world.chain.onChange(({ keys }) => {
    for (const key of keys) told.add(key);
  });
  world.evm.mine([SPENT]);
  await pass(world, 50);
  expect(shown(world)).toBeNull();
  await pass(world, 100);
  expect(shown(world)).toBe(SECRET);
  expect(told).toContain(PAYMENT_ID);
  expect(world.chain.status().state).toBe("unreachable");
  expect(world.chain.payment(KEY)).toMatchObject({ state: "sent", spent: null });
  expect(world.log.lines.every((line) => !JSON.stringify(line.fields).includes(SECRET))).toBe(true);
  world.chain.unwatch({ payments: [KEY] });
  await pass(world, 60);
  expect(shown(world)).toBeNull();
});

test("so it is with two that contradict each other, and where the secret came long before the others went", async () => {
  const world = scriptedWorld(3);
  world.evm.mine([SENT]);
  world.evm.mine([SPENT]);
  for (let i = 0; i < 400; i++) world.evm.mine();
  node(world, 0).dead = true;
  node(world, 1).chain = world.evm.fork();
  node(world, 1).chain.rewind(401);
  for (let i = 0; i < 420; i++) node(world, 1).chain.mine();
  giveLogsOf(10, node(world, 2));
  world.chain.watchPayment(KEY, 0).catch(() => undefined);
  await pass(world, 300);
  expect(world.chain.status().state).toBe("unreachable");
  expect(shown(world)).toBe(SECRET);
});

test("a node that refuses the logs of its newest block shows the claims before it, and is asked for as many blocks each time", async () => {
  const world = await short(0, 1);
  const left = node(world, 2);
  left.says.set("eth_getLogs", (params, honest) => {
    const [{ toBlock }] = params as [{ toBlock: string }];
    if (Number(toBlock) === world.evm.tip.number) throw new RpcRefusal(-32602, "block range extends beyond current head block");
    return honest();
  });
  for (let i = 0; i < 20; i++) {
    world.evm.mine(i === 12 ? [SPENT] : []);
    await pass(world, 12);
  }
  expect(shown(world)).toBe(SECRET);
});

test("one whose logs are many blocks later, on a quick chain, shows claims all the same, and is not asked block by block", async () => {
  const world = await short(0, 1);
  const left = node(world, 2);
  left.says.set("eth_getLogs", (params, honest) => {
    const [{ toBlock }] = params as [{ toBlock: string }];
    if (Number(toBlock) > world.evm.tip.number - 30) throw new RpcRefusal(-32602, "block range extends beyond current head block");
    return honest();
  });
  for (let second = 0; second < 200; second++) {
    for (let i = 0; i < 4; i++) world.evm.mine(second === 120 && i === 0 ? [SPENT] : []);
    await pass(world, 1);
  }
  expect(shown(world)).toBe(SECRET);
});

test("one that is asked for logs too often is asked no more in that round", async () => {
  const world = await short(0, 1);
  await pass(world, 90);
  world.evm.mine([SPENT]);
  node(world, 2).says.set("eth_getLogs", () => {
    throw new RpcRefusal(-32000, "rate limit exceeded");
  });
  for (let i = 0; i < 30; i++) world.evm.mine();
  const before = logsAsked(world, 2);
  await pass(world, 60);
  expect(logsAsked(world, 2) - before).toBeLessThanOrEqual(5);
  node(world, 2).says.clear();
  await pass(world, 30);
  expect(shown(world)).toBe(SECRET);
});

test.each([[1], [10], [32], [12, new RpcRefusal(429, "rate limit: 12 blocks at once")]] as const)(
  "a node that gives the logs of %i blocks at most shows a claim in a block that comes later, too",
  async (blocks, refusal?) => {
    const world = await short(0, 1);
    giveLogsOf(blocks, node(world, 2), refusal);
    for (let i = 0; i < 20; i++) {
      world.evm.mine(i === 15 ? [SPENT] : []);
      await pass(world, 12);
    }
    await pass(world, 60);
    expect(shown(world)).toBe(SECRET);
  },
);

test("a node that names other secrets, other payments or other contracts shows nothing, and the next one still does", async () => {
  const world = await short(0);
  const [claim] = world.evm.mine([SPENT]);
  const block = world.evm.tip;
  const common = {
    blockNumber: `0x${block.number.toString(16)}`,
    blockHash: block.hash,
    transactionHash: `0x${claim?.txid}`,
    removed: false,
  };
  const log = (address: string, id: string, secret: string) => ({
    address,
    topics: [`0x${SWAP_TOPICS.spent}`],
    data: `0x${id}${secret}`,
    ...common,
  });
  node(world, 1).chain = world.evm.fork();
  node(world, 1).chain.mine();
  node(world, 1).says.set("eth_call", (_params, honest) => String(honest()).replace(/.$/, "1"));
  node(world, 1).says.set("eth_getLogs", () => [
    log(`0x${SWAP_CONTRACT}`, PAYMENT_ID, "ee".repeat(32)),
    log(`0x${"dd".repeat(20)}`, PAYMENT_ID, SECRET),
    log(`0x${SWAP_CONTRACT}`, "ab".repeat(32), SECRET),
  ]);
  node(world, 2).hangs = true;
  await pass(world, 200);
  expect(logsAsked(world, 1)).toBeGreaterThan(0);
  expect(shown(world)).toBeNull();
  node(world, 2).hangs = false;
  node(world, 1).hangs = true;
  await pass(world, 100);
  expect(shown(world)).toBe(SECRET);
});

test("what was read is not read again at each round, and while enough agree nobody is asked", async () => {
  const calm = await short();
  await pass(calm, 600);
  expect([0, 1, 2].map((n) => logsAsked(calm, n)).reduce((a, b) => a + b)).toBeLessThan(5);
  const world = await short(0, 1);
  await pass(world, 100);
  const before = logsAsked(world, 2);
  await pass(world, 900);
  expect(logsAsked(world, 2)).toBe(before);
  world.evm.mine();
  world.evm.mine([SPENT]);
  await pass(world, 30);
  expect(shown(world)).toBe(SECRET);
  expect(logsAsked(world, 2)).toBe(before + 1);
});

test("where most nodes stand still, the one that goes on shows the secret of a claim, though the others agree", async () => {
  const world = await short();
  for (let blocks = 1; blocks <= 30; blocks++) {
    world.evm.mine(blocks === 2 ? [SPENT] : []);
    for (const n of [0, 1]) node(world, n).behind = blocks;
    await pass(world, 12);
  }
  expect(world.chain.status()).toMatchObject({ state: "ready", tip: { height: world.evm.tip.number - 30 } });
  expect(world.chain.payment(KEY)?.state).toBe("sent");
  expect(shown(world)).toBe(SECRET);
});
