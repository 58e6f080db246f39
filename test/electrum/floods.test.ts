import { afterEach, expect, test } from "vitest";
import { ServerCredit } from "../../src/adapters/electrum/serverCredit.ts";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { serializeHeader } from "../../src/chain/block.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import { txid } from "../../src/core/utxo/txCodec.ts";
import { type ElectrumWorld, startElectrumChain } from "../contract/electrumChain.ts";
import { SEGWIT_COIN } from "../contract/embeddedChain.ts";
import { scriptNumber, spendOf } from "../contract/spendable.ts";
import { whileTimePasses } from "./whileTimePasses.ts";

const cleanup: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanup.splice(0).reverse()) await undo();
});

async function begin(spoil: (line: string, server: number) => string, credit?: ServerCredit) {
  const w: ElectrumWorld = await startElectrumChain(SEGWIT_COIN, 3, spoil);
  cleanup.push(() => w.close());
  const store = openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST");
  const chain = await w.openElectrum(store, { timeoutMs: 2_000 }, undefined, credit);
  cleanup.push(() => chain.close());
  return { w, chain };
}

/** The same answer to whoever reads JSON, made longer. */
const padded = (line: string, chars: number): string => `{"pad":"${"x".repeat(chars)}",${line.slice(1)}`;

test("a server that answers with more than a method's answer can be is let go of and named; the others are followed without it", async () => {
  const { w, chain } = await begin((line, server) => (server === 0 && line.includes('"hex"') ? padded(line, 3_000_000) : line));
  w.pay(scriptNumber(1), 100_000n);
  await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
  expect(chain.outputs(scriptNumber(1))).toHaveLength(1);
  expect(chain.status()).toMatchObject({ state: "ready", error: null });
  const [hostile, ...others] = chain.servers();
  expect(hostile).toMatchObject({ state: "away", trouble: expect.stringContaining("its answer to blockchain.headers.subscribe has 3") });
  expect(others.map(({ state }) => state)).toEqual(["connected", "connected"]);
});

/** Transactions of some 40 kB, all of which pay script 1. */
function payWithLargeOnes(w: ElectrumWorld, count: number): void {
  const from = Array.from({ length: count }, () => w.pay(scriptNumber(2), 10_000_000n));
  w.mine();
  const change = Array.from({ length: 1_200 }, (_, i) => ({ value: 1_000n, script: scriptNumber(100 + i) }));
  const paid = new Map(w.blocks().flatMap(({ txs }) => txs.map((tx) => [txid(tx), tx] as const)));
  for (const id of from) {
    const vout = paid.get(id)?.outputs.findIndex(({ script }) => toHex(script) === toHex(scriptNumber(2))) ?? -1;
    const tx = spendOf(w.format, 2, [{ txid: id, vout, value: 2_000_000n }], scriptNumber(1));
    w.send({ ...tx, outputs: [...tx.outputs, ...change] });
    w.mine();
  }
}

test("a history of transactions so large that together they are more than a server may send is read all the same, a few at a time", async () => {
  const credit = new ServerCredit(300_000, 1_000_000);
  const { w, chain } = await begin((line) => line, credit);
  payWithLargeOnes(w, 25);
  await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
  expect(chain.outputs(scriptNumber(1))).toHaveLength(25);
  expect(credit.heldBytes).toBeLessThan(300_000);
});

const FULL = /"result":\[\{"(?:fee|height)".*\]/;
const linesOf = (count: number, heightOf: (i: number) => number): string =>
  JSON.stringify(
    Array.from({ length: count }, (_, i) => ({ tx_hash: (i + 0x100000).toString(16).padStart(64, "a"), height: heightOf(i) })),
  );

test.each([
  ["that it does not give", linesOf(2_000, () => 1)],
  ["that it does not give, one of them in a block to come", linesOf(2_000, (i) => (i === 0 ? 400_000_000 : 1))],
])(
  "a server that names thousands of transactions %s keeps nobody busy: they are gone through every five seconds, whatever news others bring",
  async (_, bogus) => {
    let paid = "";
    const { w, chain } = await begin((line, server) =>
      server === 0 && paid !== "" && line.includes(paid) ? line.replace(FULL, `"result":${bogus}`) : line,
    );
    paid = w.pay(scriptNumber(1), 100_000n);
    w.mine();
    await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
    await whileTimePasses(w, chain.watchScript(scriptNumber(2), 0));
    w.askedOf(0).length = 0;
    const asked = (): number => w.askedOf(0).filter((method) => method === "blockchain.transaction.get").length;
    let looks = 0;
    for (let i = 0; i < 20; i++) {
      const before = asked();
      w.pay(scriptNumber(2), 1_000n);
      await w.pass(1_000);
      expect(chain.outputs(scriptNumber(2))).toHaveLength(i + 1);
      looks += Number(asked() - before > 5);
    }
    // Fifty at a time, of a script that does not change.
    expect(asked()).toBeGreaterThan(100);
    expect(asked()).toBeLessThanOrEqual(250);
    expect(looks).toBeLessThanOrEqual(6);
  },
);

test("nor does one that names what is elsewhere, and shows another block where it says it is", async () => {
  const AT = 100;
  let paid = "";
  let bogus = "";
  let other = "";
  const { w, chain } = await begin((line, server) => {
    if (server !== 0 || bogus === "") return line;
    return line.includes(paid) ? line.replace(FULL, `"result":${bogus}`) : line.replace(/"result":"[0-9a-f]{160}"/, `"result":"${other}"`);
  });
  paid = w.pay(scriptNumber(1), 100_000n);
  w.mine();
  await whileTimePasses(w, chain.watchScript(scriptNumber(2), 0));
  other = toHex(serializeHeader(w.chain.state.at(1)?.block.header ?? expect.fail("no block")));
  const elsewhere = w.blocks().filter(({ height }) => height !== AT);
  bogus = JSON.stringify(elsewhere.flatMap(({ txs }) => txs.map((tx) => ({ tx_hash: txid(tx), height: AT }))));
  await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
  w.askedOf(0).length = 0;
  const asked = (): number => w.askedOf(0).filter((method) => method === "blockchain.transaction.get").length;
  let looks = 0;
  for (let i = 0; i < 20; i++) {
    const before = asked();
    w.pay(scriptNumber(2), 1_000n);
    await w.pass(1_000);
    looks += Number(asked() - before > 5);
  }
  expect(chain.servers()[0]).toMatchObject({ state: "connected", contradictions: 0 });
  expect(asked()).toBeGreaterThan(100);
  expect(asked()).toBeLessThanOrEqual(250);
  expect(looks).toBeLessThanOrEqual(6);
});

test("nor do the others have to tell ever more of old blocks, where one names what is in these and has nothing to do with the script", async () => {
  let paid = "";
  let bogus: readonly object[] = [];
  const { w, chain } = await begin((line, server) =>
    server === 0 && paid !== "" && line.includes(paid) ? line.replace(/"result":\[\{/, `$&${JSON.stringify(bogus).slice(2, -2)}},{`) : line,
  );
  w.mine(100);
  paid = w.pay(scriptNumber(1), 100_000n);
  w.mine();
  bogus = w.blocks().flatMap(({ txs, height }) => (height <= 50 ? txs.map((tx) => ({ tx_hash: txid(tx), height })) : []));
  await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
  w.askedOf(1).length = 0;
  for (let i = 0; i < 20; i++) {
    w.pay(scriptNumber(1), 1_000n);
    await w.pass(1_000);
    expect(chain.outputs(scriptNumber(1))).toHaveLength(i + 2);
  }
  expect(chain.servers()[0]).toMatchObject({ state: "connected", contradictions: 0 });
  expect(w.askedOf(1).filter((method) => method === "blockchain.block.header").length).toBeLessThanOrEqual(150);
});

test("nor does one whose history of what it does not give changes with each payment", async () => {
  let paid = "";
  const bogus = linesOf(90, () => 1).slice(1, -1);
  const { w, chain } = await begin((line, server) =>
    server === 0 && paid !== "" && line.includes(paid) ? line.replace(/"result":\[\{/, `"result":[${bogus},{`) : line,
  );
  paid = w.pay(scriptNumber(1), 100_000n);
  await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
  w.askedOf(0).length = 0;
  for (let i = 0; i < 20; i++) {
    w.pay(scriptNumber(1), 1_000n);
    await w.pass(1_000);
    expect(chain.outputs(scriptNumber(1))).toHaveLength(i + 2);
  }
  const asked = w.askedOf(0).filter((method) => method === "blockchain.transaction.get").length;
  expect(asked).toBeGreaterThan(100);
  // Ten a second of what it makes up, and what the others tell.
  expect(asked).toBeLessThanOrEqual(50 + 10 * 20 + 30);
});
