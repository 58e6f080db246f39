import { afterEach, expect, test } from "vitest";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { startElectrumChain } from "../contract/electrumChain.ts";
import { SEGWIT_COIN } from "../contract/embeddedChain.ts";
import { scriptNumber } from "../contract/spendable.ts";
import { whileTimePasses } from "./whileTimePasses.ts";

// What is no number, text or list at all: JavaScript throws where such a thing is made one.

const cleanup: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanup.splice(0).reverse()) await undo();
});

/** Neither a number nor a text can be made of it. */
const NOTHING = '{"valueOf":1,"toString":1}';
/** Making a text of it takes more calls within calls than there may be. */
const DEEP = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;

test.each([
  ["blockchain.relayfee", NOTHING],
  ["blockchain.relayfee", DEEP],
  ["blockchain.estimatefee", NOTHING],
])("a server that answers %s with what cannot be read stops nothing: it loses the connection and is named (%#)", async (method, said) => {
  const ids = new Set<number>();
  const w = await startElectrumChain(SEGWIT_COIN, 3, (line, server) => {
    const { id } = JSON.parse(line) as { id?: number };
    return server === 0 && ids.has(id ?? -1) ? `{"jsonrpc":"2.0","id":${id},"result":${said}}` : line;
  });
  cleanup.push(() => w.close());
  const { connect } = w.servers[0] ?? {};
  if (!w.servers[0] || !connect) expect.fail("no server");
  w.servers[0].connect = (peer) => {
    const pipe = connect.call(w.servers[0], peer);
    if (pipe === null) return null;
    return {
      ...pipe,
      close: () => pipe.close(),
      write(bytes: Uint8Array) {
        const call = JSON.parse(Buffer.from(bytes).toString("utf8")) as { id: number; method: string };
        if (call.method === method) ids.add(call.id);
        pipe.write(bytes);
      },
    };
  };
  const chain = await w.openElectrum(openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST"), { timeoutMs: 2_000 });
  cleanup.push(() => chain.close());
  w.pay(scriptNumber(1), 100_000n);
  await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
  await whileTimePasses(w, chain.estimateFeePerKb(6));
  expect(chain.status()).toMatchObject({ state: "ready", error: null });
  expect(chain.outputs(scriptNumber(1))).toHaveLength(1);
  const [hostile, ...others] = chain.servers();
  expect(hostile?.trouble).toMatch(new RegExp(`^its answer to ${method} cannot be used: `));
  expect(others.map(({ state }) => state)).toEqual(["connected", "connected"]);
});
