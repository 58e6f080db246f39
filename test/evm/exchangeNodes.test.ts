import { expect, test } from "vitest";
import type { PaymentKey } from "../../src/ports/accountChain.ts";
import { PAYMENT_ID, ScriptedNode, type ScriptedWorld, SWAP_CONTRACT, scriptedWorld } from "./support/scriptedEvm.ts";

const KEY: PaymentKey = { contract: SWAP_CONTRACT, id: PAYMENT_ID };
const SENT = { kind: "sent", id: PAYMENT_ID } as const;
const SPENT = { kind: "spent", id: PAYMENT_ID } as const;

/** A chain with one node that lies: far above the honest ones, with a payment that was made and claimed. */
async function fooled(): Promise<{ readonly world: ScriptedWorld; readonly liar: ScriptedNode; readonly honest: readonly ScriptedNode[] }> {
  const world = scriptedWorld(1);
  const [liar] = world.nodes;
  if (liar === undefined) return expect.fail("no node");
  liar.chain = world.evm.fork();
  liar.chain.mine([SENT]);
  for (let i = 0; i < 20; i++) liar.chain.mine();
  liar.chain.mine([SPENT]);
  await world.drive(world.chain.watchPayment(KEY, 0));
  expect(world.chain.payment(KEY)).toMatchObject({ state: "spent", events: "complete" });
  return { world, liar, honest: ["x", "y", "z"].map((name) => new ScriptedNode(name, world.evm)) };
}
const backendsOf = (nodes: readonly ScriptedNode[]) => nodes.map((node) => node.backend());

test("of nodes that are exchanged nothing counts any more: the new ones' lower chain is there at once, without what it never had", async () => {
  const { world, liar, honest } = await fooled();
  const { chain, evm } = world;
  chain.exchangeNodes(backendsOf(honest));
  expect(chain.status()).toMatchObject({
    state: "unreachable",
    error: "The ETH nodes were exchanged, and the new ones have not answered yet.",
  });
  expect([liar.closed, liar.listeners.size, honest.map(({ listeners }) => listeners.size)]).toEqual([true, 0, [1, 1, 1]]);
  const sinceMs = evm.clock.nowMs();
  await world.drive(chain.refresh());
  expect(evm.clock.nowMs() - sinceMs).toBeLessThan(2_000);
  expect(chain.status()).toMatchObject({ state: "ready", error: null, tip: { height: evm.tip.number } });
  expect(chain.status().nodes.map(({ name }) => name)).toEqual(["x", "y", "z"]);
  expect(chain.payment(KEY)).toMatchObject({ state: "uninitialized", sent: null, spent: null });
  const asked = liar.requests;
  await evm.clock.advance(60_000);
  expect(liar.requests).toBe(asked);
});

test("what a node still answers after it was exchanged is not taken, for looks or questions", async () => {
  const { world, liar, honest } = await fooled();
  const { chain, evm } = world;
  for (const node of honest) node.dead = true;
  await world.drive(chain.refresh());
  const before = chain.status().tip;
  liar.latencyMs = 5_000;
  liar.chain.mine();
  // Under way at the present block, and a look beside it.
  const question = chain.checkSwapContract(SWAP_CONTRACT);
  chain.refresh().catch(() => undefined);
  await evm.clock.advance(2_000);
  chain.exchangeNodes(backendsOf(honest));
  await evm.clock.advance(30_000);
  expect(await world.drive(question)).toMatchObject({ ok: false, error: { kind: "Unreachable" } });
  expect(chain.status().tip).toEqual(before);
  expect(chain.status().state).toBe("unreachable");
  for (const node of honest) node.dead = false;
  await world.drive(chain.refresh());
  expect(chain.status().tip?.height).toBe(evm.tip.number);
});

test("a wait that began before nodes are exchanged ends with a look at the new ones", async () => {
  const { world, liar, honest } = await fooled();
  liar.hangs = true;
  const waiting = world.chain.refresh();
  await world.evm.clock.advance(1_500);
  world.chain.exchangeNodes(backendsOf(honest));
  await world.drive(waiting);
  expect(world.chain.payment(KEY)?.state).toBe("uninitialized");
});
