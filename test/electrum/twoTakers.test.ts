import { afterEach, expect, test } from "vitest";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { startElectrumChain } from "../contract/electrumChain.ts";
import { SEGWIT_COIN } from "../contract/embeddedChain.ts";
import { scriptNumber } from "../contract/spendable.ts";
import { whileTimePasses } from "./whileTimePasses.ts";

const BROADCAST = "blockchain.transaction.broadcast";
const cleanup: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanup.splice(0).reverse()) await undo();
});

test("what two liars of five say that they took is offered to those who refuse it less and less often", async () => {
  const other = await startElectrumChain(SEGWIT_COIN, 1);
  cleanup.push(() => other.close());
  const paid = other.chain.payFromFaucet(scriptNumber(5), 100_000n);
  if (!paid.ok) throw new Error("not paid");
  const w = await startElectrumChain(SEGWIT_COIN, 5);
  cleanup.push(() => w.close());
  const chain = await w.openElectrum(openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST"), { timeoutMs: 2_000 });
  cleanup.push(() => chain.close());
  await whileTimePasses(w, chain.watchScript(scriptNumber(5), 0));
  for (const [i, server] of w.servers.entries())
    server.faults.add(
      i < 2 ? { kind: "swallow_broadcast" } : { kind: "error", code: 1, message: "min relay fee not met", methods: [BROADCAST] },
    );
  const asked = w.servers.map((_, i) => w.askedOf(i));
  for (const calls of asked) calls.length = 0;
  // As a swap does: what it does not see is sent again at each step.
  for (let i = 0; i < 720; i++) {
    if (chain.tx(paid.value.txid) === undefined) await whileTimePasses(w, chain.broadcast(paid.value.raw));
    await whileTimePasses(w, chain.refresh());
    await w.pass(5_000);
  }
  const [taking = []] = asked;
  expect(taking.filter((m) => m === BROADCAST).length).toBeGreaterThan(100);
  for (const calls of asked.slice(2)) expect(calls.filter((m) => m === BROADCAST).length).toBeLessThanOrEqual(36);
});
