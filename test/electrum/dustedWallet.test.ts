import { afterEach, expect, test } from "vitest";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { startElectrumChain } from "../contract/electrumChain.ts";
import { SEGWIT_COIN } from "../contract/embeddedChain.ts";
import { scriptNumber, spendOf } from "../contract/spendable.ts";
import { whileTimePasses } from "./whileTimePasses.ts";

const [OWN, CONTRACT] = [scriptNumber(1), scriptNumber(3)];
const COUNT = 120;
const cleanup: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanup.splice(0).reverse()) await undo();
});

test("what pays an own address beside a guarded contract, and was spent long ago, does not count as there again when one server is heard alone", async () => {
  const w = await startElectrumChain(SEGWIT_COIN, 3);
  cleanup.push(() => w.close());
  const store = openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST");
  const chain = await w.openElectrum(store, { timeoutMs: 2_000, maxConnected: 2 });
  cleanup.push(() => chain.close());
  await whileTimePasses(w, chain.watchScript(OWN, 0));
  await whileTimePasses(w, chain.watchScript(CONTRACT, 0));
  for (let i = 0; i < COUNT; i++) {
    const id = w.pay(scriptNumber(9), 200_000n);
    const whole = spendOf(w.format, 9, [{ txid: id, vout: 0, value: 200_000n }], OWN);
    const both = w.send({ ...whole, outputs: [1, 3].map((n) => ({ value: 90_000n, script: scriptNumber(n) })) });
    w.send(spendOf(w.format, 1, [{ txid: both, vout: 0, value: 90_000n }], scriptNumber(2)));
    w.send(spendOf(w.format, 3, [{ txid: both, vout: 1, value: 90_000n }], scriptNumber(2)));
    if (i % 10 === 9) w.mine();
  }
  await whileTimePasses(w, chain.refresh());
  w.mine(210);
  w.pay(OWN, 1_000n);
  w.pay(CONTRACT, 1_000n);
  await whileTimePasses(w, chain.refresh());
  w.mine();
  await whileTimePasses(w, chain.refresh());
  const unspent = (): readonly bigint[] => chain.outputs(OWN).flatMap(({ spentBy, value }) => (spentBy === null ? [value] : []));
  expect(chain.outputs(OWN)).toHaveLength(101);
  expect(unspent()).toEqual([1_000n]);
  const told: string[] = [];
  cleanup.push(async () => end?.());
  const end = chain.guard?.(CONTRACT, { dueSec: Math.floor(w.clock.nowMs() / 1_000) + 600, onTx: ({ txid }) => void told.push(txid) });
  for (let i = 0; i < 60; i++) await w.pass(10_000);
  expect(told.length).toBeGreaterThan(0);
  expect(unspent()).toEqual([1_000n]);
});
