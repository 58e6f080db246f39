import { expect, test } from "vitest";
import { nodeNeeds } from "../../src/app/coin/evm/nodesAsServers.ts";
import type { PaymentKey } from "../../src/ports/accountChain.ts";
import { PAYMENT_ID, type ScriptedNode, type ScriptedWorld, SWAP_CONTRACT, scriptedWorld } from "./support/scriptedEvm.ts";

const KEY: PaymentKey = { contract: SWAP_CONTRACT, id: PAYMENT_ID };
const SENT = { kind: "sent", id: PAYMENT_ID } as const;

const node = (world: ScriptedWorld, n: number): ScriptedNode => world.nodes[n] ?? expect.fail(`no node ${n}`);
const pass = (world: ScriptedWorld, seconds: number): Promise<unknown> => world.evm.clock.advance(seconds * 1_000);
const believed = (world: ScriptedWorld): string | undefined => world.chain.payment(KEY)?.state;

/** Its own branch, above everybody, with a payment that nobody made. */
function lie(world: ScriptedWorld, n: number): void {
  const liar = world.evm.fork();
  liar.mine([SENT]);
  for (let i = 0; i < 5; i++) liar.mine();
  node(world, n).chain = liar;
}

/** Two nodes; the one that lies has said nothing yet, and both are away from now on. */
async function bothAway(seconds: number): Promise<ScriptedWorld> {
  const world = scriptedWorld(2);
  await world.drive(world.chain.watchPayment(KEY, 0));
  for (const n of world.nodes) n.dead = true;
  await pass(world, seconds);
  return world;
}

test("two that come back together, after the line of this node was down, must agree: the one with the higher block does not decide", async () => {
  const world = await bothAway(300);
  lie(world, 1);
  for (const n of world.nodes) n.dead = false;
  await pass(world, 30);
  expect(believed(world)).toBe("uninitialized");
  expect(world.chain.status().state).toBe("unreachable");
});

test("nor does the one that is back some seconds before the other", async () => {
  const world = await bothAway(300);
  lie(world, 1);
  node(world, 1).dead = false;
  await pass(world, 45);
  expect(believed(world)).toBe("uninitialized");
  node(world, 0).dead = false;
  await pass(world, 60);
  expect(believed(world)).toBe("uninitialized");
});

test("at a start one look without the other is not enough; some seconds are", async () => {
  const world = scriptedWorld(2);
  lie(world, 1);
  node(world, 0).dead = true;
  const seen = new Set<string | undefined>();
  world.chain.onChange(() => seen.add(believed(world)));
  world.chain.watchPayment(KEY, 0).catch(() => undefined);
  await pass(world, 3);
  node(world, 0).dead = false;
  await pass(world, 60);
  expect(seen).not.toContain("sent");
});

test("who is believed alone is named, in the log once and in the status, until the other is back; it then decides nothing at once", async () => {
  const world = scriptedWorld(2);
  await world.drive(world.chain.watchPayment(KEY, 0));
  node(world, 0).dead = true;
  await pass(world, 120);
  const sentence = "b alone is believed of the two ETH nodes, because a does not answer: add another.";
  expect(world.chain.status()).toMatchObject({ state: "ready", error: sentence });
  expect(nodeNeeds(world.chain).warning).toBe(sentence);
  const named = world.log.lines.filter(({ event }) => event === "node_alone");
  expect(named).toMatchObject([{ level: "warn", fields: { coin: "ETH", node: "b" } }]);
  lie(world, 1);
  node(world, 0).dead = false;
  await pass(world, 30);
  expect(believed(world)).toBe("uninitialized");
  expect(world.chain.status().state).toBe("unreachable");
  node(world, 1).chain = world.evm;
  await pass(world, 60);
  expect(world.chain.status()).toMatchObject({ state: "ready", error: null });
  expect(nodeNeeds(world.chain).warning).toBeNull();
});

test("also where both come back in one look, after the one that was believed failed as well", async () => {
  const world = scriptedWorld(2);
  await world.drive(world.chain.watchPayment(KEY, 0));
  node(world, 0).dead = true;
  await pass(world, 120);
  node(world, 1).dead = true;
  await pass(world, 30);
  lie(world, 1);
  for (const n of world.nodes) n.dead = false;
  await pass(world, 60);
  expect(believed(world)).toBe("uninitialized");
});

test("one that is believed alone at a start is not for a step that cannot be taken back, until the other was gone for a minute", async () => {
  const world = scriptedWorld(2);
  lie(world, 1);
  const busy = node(world, 0);
  busy.dead = true;
  world.chain.watchPayment(KEY, 0).catch(() => undefined);
  await pass(world, 20);
  expect(believed(world)).toBe("sent");
  const sentence = "b alone has been believed of the two ETH nodes for less than a minute, because a does not answer.";
  expect(world.chain.status()).toMatchObject({ state: "ready", hasty: sentence });
  busy.dead = false;
  await pass(world, 60);
  expect([believed(world), world.chain.status().hasty]).toEqual(["uninitialized", null]);
  busy.dead = true;
  await pass(world, 120);
  expect(world.chain.status()).toMatchObject({ state: "ready", hasty: null });
});

test("one that was believed for a minute stays so after failures of its own", async () => {
  const world = scriptedWorld(2);
  node(world, 0).dead = true;
  world.chain.watchPayment(KEY, 0).catch(() => undefined);
  await pass(world, 50);
  expect(world.chain.status().hasty).not.toBeNull();
  await pass(world, 30);
  expect(world.chain.status().hasty).toBeNull();
  node(world, 1).dead = true;
  await pass(world, 30);
  node(world, 1).dead = false;
  await pass(world, 40);
  expect(world.chain.status()).toMatchObject({ state: "ready", hasty: null });
});
