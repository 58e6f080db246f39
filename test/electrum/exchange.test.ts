import { afterEach, expect, test } from "vitest";
import type { ElectrumChain, ElectrumOptions } from "../../src/adapters/electrum/electrumDeps.ts";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { ElectrumServer } from "../../src/chain/electrum/electrumServer.ts";
import type { ElectrumEndpoint } from "../../src/ports/electrum.ts";
import { type ElectrumWorld, inProcess, startElectrumChain } from "../contract/electrumChain.ts";
import { SEGWIT_COIN } from "../contract/embeddedChain.ts";
import { scriptNumber } from "../contract/spendable.ts";
import { whileTimePasses } from "./whileTimePasses.ts";

// A coin goes on with other servers while it is used.

const cleanup: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanup.splice(0).reverse()) await undo();
});

async function begin(count: number, options: ElectrumOptions = {}): Promise<{ readonly w: ElectrumWorld; readonly chain: ElectrumChain }> {
  const w = await startElectrumChain(SEGWIT_COIN, count);
  cleanup.push(() => w.close());
  const store = openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST");
  const chain = await w.openElectrum(store, { timeoutMs: 2_000, ...options });
  cleanup.push(() => chain.close());
  await whileTimePasses(w, chain.refresh());
  return { w, chain };
}

const again = (w: ElectrumWorld, at: number): ElectrumEndpoint =>
  inProcess(`server${at}`, () => w.servers[at] ?? expect.fail("no such server"));

test("what is watched and who waits for it go on with other servers, and those before are let go of", async () => {
  const { w, chain } = await begin(3);
  const script = scriptNumber(1);
  await whileTimePasses(w, chain.watchScript(script, 0));
  for (const { faults } of w.servers) faults.add({ kind: "stall" });
  w.chain.payFromFaucet(script, 100_000n);
  w.mine();
  const waiting = chain.refresh();
  await w.pass(60_000);
  expect([chain.status().state, chain.outputs(script).length]).toEqual(["unreachable", 0]);
  const asked: string[] = [];
  const others = [0, 1].map(() => new ElectrumServer(w.daemon, w.clock));
  cleanup.push(async () => others.forEach((server) => void server.close()));
  chain.exchangeServers({
    servers: others.map((server, i) => inProcess(`other${i}`, () => server, { asked: (line) => void asked.push(line) })),
    minConnected: 2,
  });
  await whileTimePasses(w, waiting);
  expect(chain.status().state).toBe("ready");
  expect(chain.outputs(script)).toMatchObject([{ value: 100_000n, block: { height: w.chain.state.tip.height } }]);
  expect(chain.servers().map(({ name, state }) => [name, state])).toEqual([
    ["other0", "connected"],
    ["other1", "connected"],
  ]);
  expect(chain.serverNeeds()).toEqual({ minConnected: 2, warning: null });
  for (const { faults } of w.servers) faults.clear();
  chain.exchangeServers({ servers: [0, 1, 2].map((at) => again(w, at)) });
  asked.splice(0);
  await whileTimePasses(w, chain.refresh());
  await w.pass(600_000);
  expect([asked, chain.status().state]).toEqual([[], "ready"]);
});

test("a server that was connected before is no witness of a block because it is named anew", async () => {
  const { w, chain } = await begin(4, { maxConnected: 2 });
  w.mine();
  chain.exchangeServers({ servers: [2, 3, 0, 1].map((at) => again(w, at)), maxConnected: 2 });
  await whileTimePasses(w, chain.refresh());
  expect(chain.servers().map(({ state }) => state)).toEqual(["connected", "connected", "idle", "idle"]);
  w.servers[1]?.faults.add({ kind: "lag", blocks: 1 });
  const block = chain.status().tip ?? expect.fail("no block");
  expect(await whileTimePasses(w, chain.doubt?.(block, 1) ?? expect.fail("nobody to ask"))).toContain("and not by server1");
});

test("what a server said of a block counts no more once it is named no more", async () => {
  const { w, chain } = await begin(4, { maxConnected: 2 });
  w.mine();
  await whileTimePasses(w, chain.refresh());
  for (const at of [2, 3]) w.servers[at]?.faults.add({ kind: "lag", blocks: 1 });
  const block = chain.status().tip ?? expect.fail("no block");
  const doubt = (isOneEnough: boolean): Promise<string | null> =>
    whileTimePasses(w, chain.doubt?.(block, 1, undefined, isOneEnough) ?? expect.fail("nobody to ask"));
  expect(await doubt(false)).toContain("enable TST with servers that agree");
  chain.exchangeServers({ servers: [0, 1].map((at) => again(w, at)) });
  await whileTimePasses(w, chain.refresh());
  expect([await doubt(false), await doubt(true)]).toEqual([null, null]);
});

/** Its first connection, the one that is kept, takes longer than any other. */
function slowToConnect(endpoint: ElectrumEndpoint): ElectrumEndpoint {
  let opened = 0;
  return { ...endpoint, open: (...given) => (opened++ === 0 ? new Promise(() => undefined) : endpoint.open(...given)) };
}

test("those named in the place of servers that denied a block are asked about it while they connect, and are no witnesses of it", async () => {
  const { w, chain } = await begin(6, { maxConnected: 2 });
  const name = (...servers: readonly ElectrumEndpoint[]): void =>
    chain.exchangeServers({ servers: [again(w, 0), again(w, 1), ...servers] });
  name();
  w.mine();
  await whileTimePasses(w, chain.refresh());
  for (const at of [2, 3, 4]) w.servers[at]?.faults.add({ kind: "lag", blocks: 1 });
  const block = chain.status().tip ?? expect.fail("no block");
  const doubt = (): Promise<string | null> => whileTimePasses(w, chain.doubt?.(block, 1) ?? expect.fail("nobody to ask"));
  name(again(w, 2), again(w, 3));
  expect(await doubt()).toContain("and not by server2, server3");
  name(again(w, 3), again(w, 4), slowToConnect(again(w, 5)));
  expect(await doubt()).toContain("and not by server3, server4");
});
