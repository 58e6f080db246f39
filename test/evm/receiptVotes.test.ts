import { expect, test } from "vitest";
import { toHex } from "../../src/core/util/bytes.ts";
import type { PaymentKey } from "../../src/ports/accountChain.ts";
import {
  type eventLogJson,
  PAYMENT_ID,
  type ScriptedNode,
  type ScriptedWorld,
  SECRET,
  SWAP_CONTRACT,
  scriptedWorld,
} from "./support/scriptedEvm.ts";

const KEY: PaymentKey = { contract: SWAP_CONTRACT, id: PAYMENT_ID };
const SENT = { kind: "sent", id: PAYMENT_ID } as const;
const SPENT = { kind: "spent", id: PAYMENT_ID } as const;

/** One of three, and the quickest, so that it is asked first. */
function liarOf(world: ScriptedWorld): ScriptedNode {
  const [liar, ...others] = world.nodes;
  for (const other of others) other.latencyMs = 50;
  return liar ?? expect.fail("no node");
}

test("a node that gives a receipt under another transaction's id hides neither the transaction nor the secret in it", async () => {
  const world = scriptedWorld(3);
  const liar = liarOf(world);
  liar.says.set("eth_getTransactionReceipt", (_params, honest) => {
    const receipt = honest();
    return receipt === null ? null : { ...(receipt as object), transactionHash: `0x${"77".repeat(32)}` };
  });
  const [paid] = world.evm.mine([SENT]);
  await world.drive(world.chain.watchPayment(KEY, 0));
  await world.drive(world.chain.watchTx(paid?.txid ?? "", 0));
  world.evm.mine([SPENT]);
  for (let i = 0; i < 3; i++) await world.drive(world.chain.refresh());
  expect(world.chain.tx(paid?.txid ?? "")?.block?.height).toBe(world.evm.tip.number - 1);
  expect(world.chain.status().nodes.map(({ contradictions, trouble }) => [contradictions, trouble])).toEqual([
    [0, "its answer to eth_getTransactionReceipt cannot be used: it is of another transaction"],
    [0, null],
    [0, null],
  ]);
  const { spent, events } = world.chain.payment(KEY) ?? expect.fail("no payment");
  expect([events, spent?.secret && toHex(spent.secret)]).toEqual(["complete", SECRET]);
});

test("the secret of a claim that one node's logs show is known though most say that it is in no block: it proves itself", async () => {
  const world = scriptedWorld(3);
  world.evm.mine([SENT]);
  await world.drive(world.chain.watchPayment(KEY, 0));
  const [claim] = world.evm.mine([SPENT]);
  const [liar, late, only] = world.nodes;
  for (const one of [liar, late]) {
    one?.says.set("eth_getLogs", () => []);
    one?.says.set("eth_getTransactionReceipt", ([txid], honest) => (txid === `0x${claim?.txid}` ? null : honest()));
  }
  const shown = () => {
    const { txid, secret } = world.chain.shownSecret(KEY) ?? { txid: null, secret: null };
    return [txid, secret && toHex(secret)];
  };
  only?.says.set("eth_getLogs", (_, honest) =>
    (honest() as ReturnType<typeof eventLogJson>[]).map((log) => ({ ...log, data: log.data.replace(SECRET, "66".repeat(32)) })),
  );
  await world.drive(world.chain.refresh());
  expect([shown(), world.chain.status().nodes[2]?.contradictions]).toEqual([[null, null], 1]);
  only?.says.clear();
  for (let i = 0; i < 3; i++) {
    await world.evm.clock.advance(60_000);
    world.evm.mine();
    await world.drive(world.chain.refresh());
  }
  expect(shown()).toEqual([claim?.txid, SECRET]);
  // Who shows it may have made up the transaction and its block: neither is a fact.
  expect(world.chain.payment(KEY)).toMatchObject({ state: "spent", spent: null });
  expect(world.chain.status().nodes[2]?.contradictions).toBe(1);
});
