import { afterEach, expect, test } from "vitest";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { startElectrumChain } from "../contract/electrumChain.ts";
import { SEGWIT_COIN } from "../contract/embeddedChain.ts";
import { scriptNumber, spendOf } from "../contract/spendable.ts";
import { whileTimePasses } from "./whileTimePasses.ts";

const SERVERS = 3;
const cleanup: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanup.splice(0).reverse()) await undo();
});

test("a coin whose payment is proven some looks after what spends it in the same block is shown as spent", async () => {
  let [paid, isLate] = ["", true];
  const w = await startElectrumChain(SEGWIT_COIN, SERVERS, (line, server, call) => {
    if (!isLate || paid === "" || call === "") return line;
    const { method, params } = JSON.parse(call) as { readonly method: string; readonly params: readonly unknown[] };
    // One has the block: it cannot prove the payment yet. The others still have that in their mempools.
    if (server === 0 && method === "blockchain.transaction.get_merkle" && params[0] === paid)
      return line.replace(/"result":.*$/, '"error":{"code":1,"message":"busy"}}');
    if (server === 0 || method !== "blockchain.scripthash.get_history") return line;
    const answer = JSON.parse(line) as { readonly result: readonly { readonly tx_hash: string; readonly height: number }[] };
    return JSON.stringify({ ...answer, result: answer.result.map((tx) => (tx.tx_hash === paid ? { ...tx, height: 0 } : tx)) });
  });
  cleanup.push(() => w.close());
  paid = w.pay(scriptNumber(1), 100_000n);
  w.send(spendOf(w.format, 1, [{ txid: paid, vout: 0, value: 100_000n }], scriptNumber(2)));
  w.mine();
  const chain = await w.openElectrum(openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST"), { timeoutMs: 2_000 });
  cleanup.push(() => chain.close());
  await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
  expect(chain.outputs(scriptNumber(1))).toMatchObject([{ txid: paid, block: null }]);
  isLate = false;
  for (let i = 0; i < 3; i++) {
    await whileTimePasses(w, chain.refresh());
    await w.pass(10_000);
  }
  const [coin] = chain.outputs(scriptNumber(1));
  expect(coin?.block).not.toBeNull();
  expect(coin?.spentBy).not.toBeNull();
});
