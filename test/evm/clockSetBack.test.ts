import { expect, test } from "vitest";
import type { PaymentKey } from "../../src/ports/accountChain.ts";
import { PAYMENT_ID, type ScriptedWorld, SWAP_CONTRACT, scriptedWorld } from "./support/scriptedEvm.ts";

const HOUR_MS = 3_600_000;
const KEY: PaymentKey = { contract: SWAP_CONTRACT, id: PAYMENT_ID };

const pass = (world: ScriptedWorld, seconds: number): Promise<unknown> => world.evm.clock.advance(seconds * 1_000);

test("a clock set back eight hours delays no look at the chain: a claim is seen within seconds", async () => {
  const world = scriptedWorld(3);
  world.evm.mine([{ kind: "sent", id: PAYMENT_ID }]);
  await world.drive(world.chain.watchPayment(KEY, 0));
  world.skewMs = -8 * HOUR_MS;
  await pass(world, 5);
  world.evm.mine([{ kind: "spent", id: PAYMENT_ID }]);
  await pass(world, 15);
  expect(world.chain.payment(KEY)?.state).toBe("spent");
});

test("nodes that were away when the clock was set back are asked again within a minute", async () => {
  const world = scriptedWorld(3);
  await world.drive(world.chain.watchPayment(KEY, 0));
  for (const node of world.nodes) node.dead = true;
  await pass(world, 60);
  world.skewMs = -8 * HOUR_MS;
  for (const node of world.nodes) node.dead = false;
  world.evm.mine([{ kind: "sent", id: PAYMENT_ID }]);
  await pass(world, 60);
  expect([world.chain.status().state, world.chain.payment(KEY)?.state]).toEqual(["ready", "sent"]);
});

test("a refresh and a question after the clock was set back are answered by a look made since", async () => {
  const world = scriptedWorld(3);
  await world.drive(world.chain.watchPayment(KEY, 0));
  world.skewMs = -8 * HOUR_MS;
  world.evm.mine([{ kind: "sent", id: PAYMENT_ID }]);
  await world.drive(world.chain.refresh());
  expect(world.chain.payment(KEY)?.state).toBe("sent");
  await pass(world, 2);
  const asked = world.evm.tip.number;
  expect([(await world.drive(world.chain.hasCode(SWAP_CONTRACT))).ok, asked]).toEqual([true, world.chain.status().tip?.height]);
});
