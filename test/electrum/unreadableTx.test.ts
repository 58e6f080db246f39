import { afterEach, expect, test } from "vitest";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { startElectrumChain } from "../contract/electrumChain.ts";
import { SEGWIT_COIN } from "../contract/embeddedChain.ts";
import { scriptNumber } from "../contract/spendable.ts";
import { whileTimePasses } from "./whileTimePasses.ts";

const cleanup: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanup.splice(0).reverse()) await undo();
});

test("one server that names what nobody gives in ever other blocks, or in none, has the others asked for it no more often", async () => {
  let [id, bytes, told] = ["", "", 0];
  const w = await startElectrumChain(SEGWIT_COIN, 3, (line, server, call) => {
    if (bytes !== "" && line.includes(bytes)) return line.replace(bytes, "00");
    if (server !== 2 || id === "") return line;
    if (call.includes("scripthash.subscribe"))
      return line.replace(/"result":"[0-9a-f]{64}"/, `"result":"${`${++told}`.padStart(64, "0")}"`);
    return line.includes(id) ? line.replace('"height":0', `"height":${1 + (told % 100)}`) : line;
  });
  cleanup.push(() => w.close());
  const chain = await w.openElectrum(openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST"), { timeoutMs: 2_000 });
  cleanup.push(() => chain.close());
  await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
  const paid = w.chain.payFromFaucet(scriptNumber(1), 100_000n);
  if (!paid.ok) throw new Error("not paid");
  id = paid.value.txid;
  bytes = Buffer.from(paid.value.raw).toString("hex");
  await w.pass(1_000);
  w.askedOf(0).length = 0;
  w.askedOf(1).length = 0;
  for (let i = 0; i < 60; i++) {
    await whileTimePasses(w, chain.refresh());
    await w.pass(1_000);
  }
  expect(told).toBeGreaterThanOrEqual(60);
  for (const server of [0, 1])
    expect(w.askedOf(server).filter((method) => method === "blockchain.transaction.get").length).toBeLessThanOrEqual(10);
});
