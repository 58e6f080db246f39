import { afterEach, expect, test } from "vitest";
import type { ElectrumChain, ElectrumOptions } from "../../src/adapters/electrum/electrumDeps.ts";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { mineHeader, serializeHeader } from "../../src/chain/block.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import { type ElectrumWorld, startElectrumChain } from "../contract/electrumChain.ts";
import { SEGWIT_COIN } from "../contract/embeddedChain.ts";
import { whileTimePasses } from "./whileTimePasses.ts";

// In a reorganisation ElectrumX (1.15) gives the headers of the new branch as soon as it has its blocks, and tells of its last block once it has
// read the mempool, some seconds later: until then it says, whoever asks, that the old one is the last.

const cleanup: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanup.splice(0).reverse()) await undo();
});

const SERVERS = 3;
const HEADERS = /"blockchain\.block\.headers"/;
const TIP = /"blockchain\.headers\.subscribe"/;

type Late = { tip: string | null; readonly servers: ReadonlySet<number>; readonly isBack?: boolean };

/** @param late whoever is in `servers` tells of `tip` as its last block. `isBack`: it has no block of that height */
async function begin(late: Late): Promise<ElectrumWorld> {
  const w = await startElectrumChain(SEGWIT_COIN, SERVERS, (line, server, call) => {
    if (late.tip === null || !late.servers.has(server)) return line;
    if (call === "") return TIP.test(line) ? null : line;
    if (late.isBack && HEADERS.test(call)) return line.replace(/"hex":"([0-9a-f]*)[0-9a-f]{320}"/, '"hex":"$1"');
    return TIP.test(call) ? line.replace(/"result":\{[^}]*\}/, `"result":${late.tip}`) : line;
  });
  cleanup.push(() => w.close());
  return w;
}

async function open(w: ElectrumWorld, options: ElectrumOptions = {}): Promise<ElectrumChain> {
  const store = openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST");
  const chain = await w.openElectrum(store, { timeoutMs: 2_000, ...options });
  cleanup.push(() => chain.close());
  return chain;
}

/** The last block as a server tells of it. */
function tipOf(w: ElectrumWorld): string {
  const height = w.blocks().length - 1;
  const entry = w.chain.state.at(height);
  if (!entry) throw new Error(`no block ${height}`);
  return JSON.stringify({ height, hex: toHex(serializeHeader(entry.block.header)) });
}
const states = (chain: ElectrumChain): readonly string[] => chain.servers().map(({ state }) => state);
const ALL_THERE = Array.from({ length: SERVERS }, () => "connected");

test("a server that has a new branch and tells of it some seconds later is not dropped, one that goes on to tell of a block it does not have is", async () => {
  const late: Late = { tip: null, servers: new Set([2]) };
  const w = await begin(late);
  const chain = await open(w, { costlyWork: 1n });
  await whileTimePasses(w, chain.refresh());
  const looks = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) {
      await whileTimePasses(w, chain.refresh());
      await w.pass(2_000);
    }
  };
  late.tip = tipOf(w);
  w.reorg(1, 2);
  await looks(4);
  expect(states(chain)).toEqual(ALL_THERE);
  late.tip = null;
  w.mine();
  await looks(1);
  expect(states(chain)).toEqual(ALL_THERE);
  expect(chain.status().tip?.hash).toBe(w.blocks().at(-1)?.hash);
  late.tip = tipOf(w);
  w.reorg(1, 2);
  await looks(20);
  expect(states(chain)).toEqual(["connected", "connected", "dropped"]);
});

test.each([
  ["has the new branch", false],
  ["has taken back its last block", true],
])("a coin that is enabled while each server %s and tells of the old one is there some seconds later", async (_, isBack) => {
  const late: Late = { tip: null, servers: new Set([0, 1, 2]), isBack };
  const w = await begin(late);
  late.tip = tipOf(w);
  w.reorg(1, 2);
  const chain = await open(w);
  const refreshed = chain.refresh();
  await w.pass(8_000);
  expect(states(chain)).toEqual(ALL_THERE);
  late.tip = null;
  w.mine();
  await w.pass(10_000);
  await refreshed;
  expect(states(chain)).toEqual(ALL_THERE);
});

test("a server that tells of another last block at each look, and has headers of none, is dropped", async () => {
  const late: Late = { tip: null, servers: new Set([2]) };
  const w = await begin(late);
  const chain = await open(w, { costlyWork: 1n });
  await whileTimePasses(w, chain.refresh());
  const height = w.blocks().length - 1;
  const entry = w.chain.state.at(height);
  if (!entry) throw new Error(`no block ${height}`);
  for (let i = 0; i < 40; i++) {
    const header = mineHeader({ ...entry.block.header, merkleRoot: new Uint8Array(32).fill(i + 1) });
    late.tip = JSON.stringify({ height: height + 1, hex: toHex(serializeHeader(header)) });
    await whileTimePasses(w, chain.refresh());
    await w.pass(5_000);
  }
  expect(states(chain)).toEqual(["connected", "connected", "dropped"]);
});
