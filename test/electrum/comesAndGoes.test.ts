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

test("a server that comes and goes has the others offered what they refuse no more often, and is offered it alone", async () => {
  const other = await startElectrumChain(SEGWIT_COIN, 1);
  cleanup.push(() => other.close());
  const paid = other.chain.payFromFaucet(scriptNumber(5), 100_000n);
  if (!paid.ok) throw new Error("not paid");
  const w = await startElectrumChain(SEGWIT_COIN, 3);
  cleanup.push(() => w.close());
  const chain = await w.openElectrum(openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST"), { timeoutMs: 2_000 });
  cleanup.push(() => chain.close());
  await whileTimePasses(w, chain.refresh());
  for (const { faults } of w.servers) faults.add({ kind: "error", code: 1, message: "min relay fee not met", methods: [BROADCAST] });
  const offered = w.servers.map((_, i) => () => w.askedOf(i).filter((method) => method === BROADCAST).length);
  let comings = 0;
  for (let i = 0; i < 120; i++) {
    const away = i % 2 === 0 ? w.servers[2]?.faults.add({ kind: "refuse" }) : undefined;
    await w.pass(2_000);
    await whileTimePasses(w, chain.broadcast(paid.value.raw));
    w.servers[2]?.faults.clear(away?.id);
    await w.pass(3_000);
    if (chain.servers()[2]?.state === "connected") comings++;
  }
  expect(comings).toBeGreaterThan(5);
  const [first, second, coming] = offered.map((count) => count());
  for (const count of [first, second]) expect(count).toBeLessThanOrEqual(10);
  expect(coming).toBeGreaterThan(3);
});
