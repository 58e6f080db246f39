import { afterEach, expect, test } from "vitest";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { FIRST_BALANCE_MS } from "../../src/app/coin/firstLook.ts";
import { startElectrumChain } from "../contract/electrumChain.ts";
import { SEGWIT_COIN } from "../contract/embeddedChain.ts";
import { scriptNumber } from "../contract/spendable.ts";

const SCRIPT = scriptNumber(1);
/** Just in time for a call. */
const LATE_MS = 9_900;
const cleanup: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanup.splice(0).reverse()) await undo();
});

/** Of an answer with many headers the first one. */
const onlyFirst = (line: string): string =>
  line.replace(/"hex":"([0-9a-f]{160})[0-9a-f]*"/, '"hex":"$1"').replace(/"count":\d+/, '"count":1');

/** Five servers, of which one is the quickest to greet and so is asked first, and answers some methods as late as may be. @returns ms until the own script is covered */
async function coveredAfter(lateMethods: readonly string[]): Promise<number> {
  const w = await startElectrumChain(SEGWIT_COIN, 5, (line, server, call) =>
    server === 0 && call.includes('"blockchain.block.headers"') ? onlyFirst(line) : line,
  );
  w.pay(SCRIPT, 100_000n);
  w.mine();
  cleanup.push(() => w.close());
  const [late, ...others] = w.servers;
  for (const { faults } of others) faults.add({ kind: "slow", delayMs: 300 });
  late?.faults.add({ kind: "slow", methods: ["server.version"], delayMs: 250 });
  for (const method of lateMethods) late?.faults.add({ kind: "slow", methods: [method], delayMs: LATE_MS });
  const store = openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST");
  const chain = await w.openElectrum(store, { readsReward: true });
  cleanup.push(() => chain.close());
  const sinceMs = w.clock.nowMs();
  const covered = chain.watchScript(SCRIPT, 0).then(() => w.clock.nowMs() - sinceMs);
  await w.pass(3 * FIRST_BALANCE_MS);
  expect(chain.blockRewardUnits()).not.toBeNull();
  return covered;
}

test.each([["blockchain.block.headers"], ["blockchain.transaction.get", "blockchain.transaction.get_merkle"]])(
  "who was late with an answer is asked last for the next one: %s",
  async (...methods) => {
    expect(await coveredAfter(methods)).toBeLessThan(FIRST_BALANCE_MS);
  },
);

test("who tells late what the last block paid keeps no coin from being there in time", async () => {
  expect(await coveredAfter(["blockchain.transaction.id_from_pos", "blockchain.transaction.get"])).toBeLessThan(FIRST_BALANCE_MS);
});
