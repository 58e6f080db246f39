import { expect, test } from "vitest";
import { err } from "../../src/core/util/result.ts";
import type { PaymentKey } from "../../src/ports/accountChain.ts";
import { sleep } from "../../src/ports/clock.ts";
import { OWNER, PAYMENT_ID, type ScriptedNode, type ScriptedWorld, SWAP_CONTRACT, scriptedWorld } from "./support/scriptedEvm.ts";

const KEY: PaymentKey = { contract: SWAP_CONTRACT, id: PAYMENT_ID };
const SENT = { kind: "sent", id: PAYMENT_ID } as const;
const SPENT = { kind: "spent", id: PAYMENT_ID } as const;

const node = (world: ScriptedWorld, n: number): ScriptedNode => world.nodes[n] ?? expect.fail(`no node ${n}`);
const tip = (world: ScriptedWorld) => world.chain.status().tip;
const hashAt = (world: ScriptedWorld, height: number): string =>
  world.evm.blocks.find(({ number }) => number === height)?.hash.slice(2) ?? expect.fail(`no block ${height}`);
async function pass(world: ScriptedWorld, seconds: number): Promise<void> {
  await world.evm.clock.advance(seconds * 1_000);
}
/** The next looks fail, or half a minute has none. */
async function state(world: ScriptedWorld): Promise<string> {
  await pass(world, 30);
  return world.chain.status().state;
}

test("one of three that answers alone decides nothing: the coin is unreachable, and what it says of a payment is not believed", async () => {
  const world = scriptedWorld(3);
  await world.drive(world.chain.watchPayment(KEY, 0));
  node(world, 0).dead = true;
  node(world, 1).hangs = true;
  const alone = world.evm.fork();
  node(world, 2).chain = alone;
  alone.mine([SENT]);
  alone.mine([SPENT]);
  expect(await state(world)).toBe("unreachable");
  expect(world.chain.status().error).toMatch(/^Only 1 of the 2 ETH nodes that must agree on the newest block answered: a: nothing listens/);
  expect(world.chain.payment(KEY)).toMatchObject({ state: "uninitialized" });
  expect(world.chain.confirmations(tip(world) && { height: 102, hash: "ab".repeat(32) })).toBe(0);
  node(world, 0).dead = false;
  node(world, 1).hangs = false;
  world.evm.mine([SENT]);
  expect(await state(world)).toBe("ready");
  expect(world.chain.payment(KEY)).toMatchObject({ state: "sent", events: "complete" });
});

test("what is signed goes out to all that may take it, however few of them answer", async () => {
  const world = scriptedWorld(3);
  await world.drive(world.chain.refresh());
  node(world, 0).dead = true;
  node(world, 1).dead = true;
  expect(await state(world)).toBe("unreachable");
  const { raw, txid } = world.evm.transaction(SPENT);
  for (const n of world.nodes) n.says.set("eth_sendRawTransaction", () => `0x${txid}`);
  expect(await world.drive(world.chain.broadcast(raw))).toEqual({ kind: "accepted" });
  for (const n of world.nodes) expect(n.calls.some(({ method }) => method === "eth_sendRawTransaction")).toBe(true);
});

test("of two both must answer, until one has not for a minute: the other alone carries on, and decides nothing any more when it is back", async () => {
  const world = scriptedWorld(2);
  await world.drive(world.chain.watchPayment(KEY, 0));
  node(world, 1).dead = true;
  world.evm.mine([SENT]);
  await pass(world, 50);
  expect(world.chain.status().state).toBe("unreachable");
  expect(world.chain.payment(KEY)?.state).toBe("uninitialized");
  await pass(world, 40);
  expect(world.chain.status().state).toBe("ready");
  expect(world.chain.payment(KEY)).toMatchObject({ state: "sent", events: "complete" });
  node(world, 1).dead = false;
  await pass(world, 90);
  const liar = world.evm.fork();
  node(world, 0).chain = liar;
  liar.mine([SPENT]);
  world.evm.mine();
  await pass(world, 30);
  expect(world.chain.payment(KEY)?.state).toBe("sent");
  node(world, 1).dead = true;
  liar.mine();
  expect(await state(world)).toBe("unreachable");
  expect(world.chain.payment(KEY)?.state).toBe("sent");
});

test("of two the one that answers does after some seconds where the other never has, as when the node starts beside one that is gone", async () => {
  for (const trouble of ["dead", "hangs"] as const) {
    const world = scriptedWorld(2);
    node(world, 0)[trouble] = true;
    world.evm.mine([SENT]);
    await world.drive(world.chain.watchPayment(KEY, 0));
    expect(world.chain.payment(KEY)?.state).toBe("sent");
    await world.chain.close();
  }
});

test("the only node that was given is believed", async () => {
  const world = scriptedWorld(1);
  await world.drive(world.chain.refresh());
  world.evm.mine([SENT]);
  await world.drive(world.chain.watchPayment(KEY, 0));
  expect(world.chain.payment(KEY)?.state).toBe("sent");
});

test("a node that makes up its own newest block keeps nobody from the one below, which the others have", async () => {
  const world = scriptedWorld(3);
  await world.drive(world.chain.refresh());
  for (let round = 0; round < 5; round++) {
    world.evm.mine();
    world.evm.mine();
    node(world, 1).behind = 1;
    node(world, 2).chain = world.evm.fork();
    node(world, 2).chain.rewind(1);
    node(world, 2).chain.mine([SENT]);
    await world.drive(world.chain.refresh());
    expect(tip(world)).toMatchObject({ height: world.evm.tip.number - 1, hash: hashAt(world, world.evm.tip.number - 1) });
    expect(world.chain.status().state).toBe("ready");
  }
});

test("two honest nodes on two branches are followed at the block both have", async () => {
  const world = scriptedWorld(3);
  await world.drive(world.chain.refresh());
  const common = world.evm.tip;
  node(world, 0).chain = world.evm.fork();
  node(world, 0).chain.mine();
  world.evm.mine();
  node(world, 2).dead = true;
  await world.drive(world.chain.refresh());
  expect(tip(world)?.height).toBe(common.number);
  expect([0, 1].map((n) => world.chain.status().nodes[n]?.contradictions)).toEqual([0, 0]);
});

test("with the newest block only at one that is honest and one that lies of what it holds, the look is at the block all have", async () => {
  const world = scriptedWorld(3);
  world.evm.mine([SENT]);
  await world.drive(world.chain.watchPayment(KEY, 0));
  node(world, 2).says.set("eth_call", (_params, honest) => String(honest()).replace(/1$/, "2"));
  for (let round = 0; round < 5; round++) {
    world.evm.mine();
    node(world, 1).behind = 1;
    world.evm.mine();
    await world.drive(world.chain.refresh());
    expect(tip(world)?.height).toBe(world.evm.tip.number - 1);
    expect(world.chain.payment(KEY)?.state).toBe("sent");
  }
});

test("a view does not go back to where a node stopped while another still has what was seen", async () => {
  const world = scriptedWorld(3);
  await world.drive(world.chain.watchPayment(KEY, 0));
  node(world, 1).behind = 1;
  world.evm.mine([SENT]);
  await world.drive(world.chain.refresh());
  expect(world.chain.payment(KEY)?.state).toBe("sent");
  node(world, 2).dead = true;
  const seen: unknown[] = [];
  world.chain.onChange(() => seen.push(world.chain.payment(KEY)?.state));
  await pass(world, 50);
  expect(world.chain.status().state).toBe("unreachable");
  await pass(world, 300);
  expect(world.chain.status().state).toBe("unreachable");
  expect(new Set(seen)).toEqual(new Set(["sent"]));
  node(world, 1).behind = 0;
  world.evm.mine();
  await world.drive(world.chain.refresh());
  expect(world.chain.payment(KEY)?.state).toBe("sent");
});

test("one that stopped long ago does not count beside the only one that goes on", async () => {
  const world = scriptedWorld(3);
  await world.drive(world.chain.refresh());
  node(world, 0).dead = true;
  for (let i = 0; i < 20; i++) {
    await pass(world, 12);
    world.evm.mine();
    node(world, 1).behind++;
  }
  expect(await state(world)).toBe("unreachable");
  node(world, 1).behind = 0;
  expect(await state(world)).toBe("ready");
  expect(tip(world)?.height).toBe(world.evm.tip.number);
});

test("of five nodes three must agree, also where only three have the block: two that lie do not outvote the honest one beside them", async () => {
  const world = scriptedWorld(5);
  await world.drive(world.chain.watchPayment(KEY, 0));
  for (const n of [0, 1]) node(world, n).says.set("eth_call", (_params, honest) => String(honest()).replace(/0$/, "1"));
  for (const n of [3, 4]) node(world, n).behind = 1;
  world.evm.mine();
  await world.drive(world.chain.refresh());
  expect(world.chain.payment(KEY)).toMatchObject({ state: "uninitialized", block: { height: world.evm.tip.number - 1 } });
  expect(
    world.chain
      .status()
      .nodes.slice(2)
      .map(({ contradictions }) => contradictions),
  ).toEqual([0, 0, 0]);
});

test("a node that contradicts the others at their block is named in the log once, and asked after them", async () => {
  const world = scriptedWorld(3);
  node(world, 0).latencyMs = 0;
  await world.drive(world.chain.watchPayment(KEY, 0));
  node(world, 0).says.set("eth_call", (_params, honest) => String(honest()).replace(/0$/, "1"));
  for (let round = 0; round < 5; round++) {
    world.evm.mine();
    await world.drive(world.chain.refresh());
  }
  node(world, 0).says.set("eth_getBlockByNumber", (_params, honest) => ({ ...(honest() as object), gasUsed: "0x1" }));
  world.evm.mine();
  await world.drive(world.chain.refresh());
  expect(world.chain.status().nodes[0]?.contradictions).toBeGreaterThan(1);
  const named = world.log.lines.filter(({ event }) => event === "node_contradicted");
  expect(named).toMatchObject([{ level: "warn", fields: { coin: "ETH", node: "a", what: "the answer to eth_call" } }]);
  const asked = node(world, 0).calls.filter(({ method }) => method === "eth_call").length;
  const others = [1, 2].map((n) => node(world, n).calls.filter(({ method }) => method === "eth_call").length);
  expect(asked).toBeLessThan(Math.min(...others));
});

test("a node that gives each header late holds up no look for long", async () => {
  const world = scriptedWorld(3);
  await world.drive(world.chain.refresh());
  const late = node(world, 2);
  const answer = late.callBatch.bind(late);
  late.callBatch = (calls, options) => {
    late.hangs = calls.length === 1 && calls[0]?.method === "eth_getBlockByNumber";
    return answer(calls, options);
  };
  late.chain = world.evm.fork();
  for (let i = 0; i < 8; i++) late.chain.mine();
  node(world, 1).behind = 3;
  for (let i = 0; i < 5; i++) world.evm.mine();
  const sinceMs = world.evm.clock.nowMs();
  await world.drive(world.chain.refresh());
  expect(tip(world)?.height).toBe(world.evm.tip.number - 3);
  expect(world.evm.clock.nowMs() - sinceMs).toBeLessThan(6_000);
});

test("the quickest node, that tells its head and leaves all else unanswered, is not waited for with each question", async () => {
  const world = scriptedWorld(3);
  world.evm.mine([{ kind: "sent", id: PAYMENT_ID }]);
  const tx = world.evm.transaction(null);
  await world.drive(Promise.all([world.chain.watchAccount(OWNER), world.chain.watchTokens(OWNER, [SWAP_CONTRACT])]));
  await world.drive(Promise.all([world.chain.watchPayment(KEY, 0), world.chain.watchTx(tx.txid, 0)]));
  const silent = node(world, 0);
  for (const other of world.nodes) if (other !== silent) other.latencyMs = 300;
  const answer = silent.callBatch.bind(silent);
  silent.callBatch = async (calls, options = {}) => {
    if (calls.some(({ method }) => method === "eth_chainId")) return answer(calls, options);
    await sleep(world.evm.clock, 10_000, options.signal ?? new AbortController().signal);
    return calls.map(() => err({ kind: "unreachable", message: "no answer within 10 s" }));
  };
  const tookMs: number[] = [];
  for (let i = 0; i < 12; i++) {
    await world.evm.clock.advance(12_000);
    world.evm.mine();
    const sinceMs = world.evm.clock.nowMs();
    await world.drive(world.chain.refresh());
    tookMs.push(world.evm.clock.nowMs() - sinceMs);
  }
  expect(world.chain.status().tip?.height).toBe(world.evm.tip.number);
  expect(Math.max(...tookMs)).toBeLessThan(30_000);
});

test("a node that tells of new heads all the time has the others asked hardly more often than without it", async () => {
  const world = scriptedWorld(3);
  await world.drive(world.chain.watchAccount(OWNER));
  const heads = (n: number): number => node(world, n).calls.filter(({ method }) => method === "eth_chainId").length;
  const before = heads(1);
  for (let tenths = 0; tenths < 1_200; tenths++) {
    for (const listener of node(world, 0).listeners) listener();
    if (tenths % 120 === 0) world.evm.mine();
    await pass(world, 0.1);
  }
  // Every four seconds, and twice a block.
  expect(heads(1) - before).toBeLessThan(30 + 2 * 10 + 5);
  expect(tip(world)?.height).toBe(world.evm.tip.number);
});
