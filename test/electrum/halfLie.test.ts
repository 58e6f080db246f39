import { afterEach, expect, test } from "vitest";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { serializeHeader } from "../../src/chain/block.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import { type ElectrumWorld, startElectrumChain } from "../contract/electrumChain.ts";
import { SEGWIT_COIN } from "../contract/embeddedChain.ts";
import { scriptNumber } from "../contract/spendable.ts";
import { whileTimePasses } from "./whileTimePasses.ts";

const LIARS = [0, 1];
const PAID = 200_000_000n;
const SCRIPT = scriptNumber(1);
const SHIFT = 1;
const NAMED = "it does not have block 121 of the others";
const cleanup: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanup.splice(0).reverse()) await undo();
});

test("half of the servers name all blocks at other heights: the chain goes on, and they are named", async () => {
  let isLying = false;
  const headersFrom = (from: number, count: number): string =>
    Array.from({ length: count }, (_, i) => w.chain.state.at(from + i))
      .flatMap((entry) => (entry ? [toHex(serializeHeader(entry.block.header))] : []))
      .join("");
  // Asked for a block above the first ones, they give the one before it.
  const w: ElectrumWorld = await startElectrumChain(SEGWIT_COIN, 4, (line, server, call) => {
    if (!isLying || !LIARS.includes(server)) return line;
    if (call.includes('"blockchain.headers.subscribe"') || line.includes('"blockchain.headers.subscribe"'))
      return line.replace(/"height":(\d+)/, (_, height: string) => `"height":${Number(height) + SHIFT}`);
    const [, name, params] = /"blockchain\.block\.(headers?)","params":\[([0-9,]+)\]/.exec(call) ?? [];
    const [from = 0, count = 1] = (params ?? "").split(",").map(Number);
    if (name === undefined || from < 10) return line;
    const blocks = headersFrom(from - SHIFT, name === "headers" ? count : 1);
    return name === "header"
      ? line.replace(/"result":"[0-9a-f]+"/, `"result":"${blocks}"`).replace(/"error":\{[^}]*\}/, `"result":"${blocks}"`)
      : line.replace(/"hex":"[0-9a-f]*"/, `"hex":"${blocks}"`);
  });
  cleanup.push(() => w.close());
  const chain = await w.openElectrum(openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST"), {
    timeoutMs: 2_000,
    costlyWork: 1n,
  });
  cleanup.push(() => chain.close());
  await whileTimePasses(w, chain.watchScript(SCRIPT, 0));
  isLying = true;
  const txid = w.pay(SCRIPT, PAID);
  w.mine();
  for (let i = 0; i < 24; i++) {
    void chain.refresh().catch(() => undefined);
    await w.pass(5_000);
  }
  expect(chain.outputs(SCRIPT)).toMatchObject([{ txid, block: { height: 121 } }]);
  expect(chain.status()).toMatchObject({ state: "ready", tip: { height: 121 } });
  expect(chain.servers().map(({ trouble }) => trouble)).toEqual([NAMED, NAMED, null, null]);
});
