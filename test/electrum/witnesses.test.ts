import { afterEach, expect, test } from "vitest";
import type { ElectrumChain, ElectrumOptions } from "../../src/adapters/electrum/electrumDeps.ts";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import type { ElectrumEffect } from "../../src/chain/electrum/electrumFaults.ts";
import type { BlockRef } from "../../src/ports/chain.ts";
import { type ElectrumWorld, startElectrumChain } from "../contract/electrumChain.ts";
import { SEGWIT_COIN } from "../contract/embeddedChain.ts";
import { whileTimePasses } from "./whileTimePasses.ts";

// A coin whose blocks cost nothing, of which the first servers are connected: what the others say of a block.

const SHOWN = /^block \d+ \([0-9a-f]{64}\) of TST is shown by \d connected servers and not by server\d/;
const LAG: ElectrumEffect = { kind: "lag", blocks: 1 };
const cleanup: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanup.splice(0).reverse()) await undo();
});

type World = {
  readonly w: ElectrumWorld;
  readonly chain: ElectrumChain;
  /** The last block, as the chain is followed. */
  readonly last: () => BlockRef;
  readonly doubt: (isOneEnough?: boolean) => Promise<string | null>;
  /** Connections made to each server. */
  readonly visits: readonly number[];
};

async function begin(
  count: number,
  maxConnected: number,
  options: ElectrumOptions = {},
  voters: readonly (string | undefined)[] = [],
): Promise<World> {
  const w = await startElectrumChain(SEGWIT_COIN, count);
  w.voters.push(...voters);
  cleanup.push(() => w.close());
  const visits = w.servers.map(() => 0);
  for (const [i, server] of w.servers.entries()) {
    const connect = server.connect.bind(server);
    server.connect = (client) => {
      visits[i] = (visits[i] ?? 0) + 1;
      return connect(client);
    };
  }
  const store = openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST");
  const chain = await w.openElectrum(store, { timeoutMs: 2_000, maxConnected, ...options });
  cleanup.push(() => chain.close());
  await whileTimePasses(w, chain.refresh());
  w.mine();
  await whileTimePasses(w, chain.refresh());
  const last = (): BlockRef => {
    const { tip } = chain.status();
    return tip ?? expect.fail("no block");
  };
  const doubt = (isOneEnough?: boolean): Promise<string | null> =>
    whileTimePasses(w, chain.doubt?.(last(), 1, undefined, isOneEnough) ?? expect.fail("nobody to ask"));
  return { w, chain, last, visits, doubt };
}
const fault = ({ w }: World, server: number, effect: ElectrumEffect): void => void w.servers[server]?.faults.add(effect);

test("others have it: nothing speaks against a block, and nobody is asked about it twice", async () => {
  const world = await begin(4, 2);
  expect(await world.doubt()).toBeNull();
  const asked = [...world.visits];
  expect(asked.slice(2)).toEqual([1, 1]);
  expect(await world.doubt()).toBeNull();
  expect(world.visits).toEqual(asked);
});

test("asked is for the block that makes a payment deep enough, or for the last one where there is none yet", async () => {
  const world = await begin(4, 2);
  const block = world.last();
  world.w.mine();
  await whileTimePasses(world.w, world.chain.refresh());
  fault(world, 2, LAG);
  fault(world, 3, LAG);
  const doubt = (confs: number): Promise<string | null> => whileTimePasses(world.w, world.chain.doubt?.(block, confs) ?? expect.fail());
  expect(await doubt(0)).toBeNull();
  expect(await doubt(1)).toBeNull();
  for (const confs of [2, 3, 1_000]) expect(await doubt(confs)).toMatch(SHOWN);
});

test("one that has it is enough, whoever else does not; it needs not be the first to answer", async () => {
  const world = await begin(5, 2);
  fault(world, 2, LAG);
  fault(world, 3, LAG);
  expect(await world.doubt()).toBeNull();
});

test.each([
  [1, 1, true],
  [2, 1, true],
  [3, 1, false],
  [4, 1, false],
  [4, 2, true],
])("%i are connected and %i others do not have it: doubted is %s", async (connected, others, isDoubted) => {
  const world = await begin(connected + others, connected, { minConnected: 1 });
  for (let i = 0; i < others; i++) fault(world, connected + i, LAG);
  const doubt = await world.doubt();
  expect(doubt === null ? null : SHOWN.test(doubt)).toBe(isDoubted ? true : null);
});

test.each([
  ["nobody else has it", 4, expect.stringMatching(SHOWN)],
  ["another one has it", 5, null],
])("where no step waits for it one that denies a block is enough, however many are connected: %s", async (_, count, doubt) => {
  const world = await begin(count, 3);
  fault(world, 3, LAG);
  expect([await world.doubt(), await world.doubt(true)]).toEqual([null, doubt]);
});

test.each([
  ["all others have said that they have it", 2, null, false],
  ["the only other one is silent", 3, "silent", true],
  ["the only other one denies it", 3, "denies", false],
  ["one of two others is silent, and the other one has it", 2, "silent", false],
])("whether a block may be denied yet: %s", async (_, connected, other, mayBe) => {
  const world = await begin(4, connected);
  if (other !== null) fault(world, 3, other === "silent" ? { kind: "stall" } : LAG);
  await world.doubt(true);
  expect(world.chain.mayBeDenied?.(world.last(), 1)).toBe(mayBe);
  world.w.servers[3]?.faults.clear();
  await world.w.pass(300_000);
  await world.doubt(true);
  expect(world.chain.mayBeDenied?.(world.last(), 1)).toBe(false);
});

test("a block may be denied of which what was said is forgotten, for so many were asked about at once", async () => {
  const world = await begin(4, 2);
  await world.doubt(true);
  const block = world.last();
  expect(world.chain.mayBeDenied?.(block, 1)).toBe(false);
  const { height } = block;
  const others = Array.from({ length: 101 }, (_, i) => ({ height, hash: i.toString(16).padStart(64, "0") }));
  await whileTimePasses(world.w, Promise.all(others.map((other) => world.chain.doubt?.(other, 1, undefined, true))));
  expect(world.chain.mayBeDenied?.(block, 1)).toBe(true);
});

test("connected servers that do not have the block speak against it, too: most of them are enough to make one up", async () => {
  const world = await begin(5, 5);
  fault(world, 3, LAG);
  expect(await world.doubt()).toBeNull();
  fault(world, 4, LAG);
  await world.w.pass(300_000);
  expect(await world.doubt()).toMatch(SHOWN);
});

test("one of three that was found to lie says nothing of a block, whatever it said before: no single liar holds up a swap", async () => {
  const world = await begin(3, 3);
  const { w, chain } = world;
  const block = world.last();
  const doubt = (): Promise<string | null> => whileTimePasses(w, chain.doubt?.(block, 1) ?? expect.fail("nobody to ask"));
  const state = (): string | undefined => chain.servers()[2]?.state;
  fault(world, 2, LAG);
  expect(await doubt()).toBeNull();
  w.servers[2]?.faults.clear();
  fault(world, 2, { kind: "false_header", fromHeight: block.height + 1 });
  // Every other one of its headers shows the little work there is.
  for (let i = 0; i < 30 && state() === "connected"; i++) {
    w.mine();
    await whileTimePasses(w, chain.refresh());
  }
  expect(state()).toBe("dropped");
  expect(await doubt()).toBeNull();
  const visits = world.visits[2];
  expect(await world.doubt()).toBeNull();
  expect(world.visits[2]).toBe(visits);
});

test("a host that does not answer at one port is asked at another", async () => {
  const world = await begin(4, 2, { minConnected: 1 }, [undefined, undefined, "host", "host"]);
  fault(world, 2, LAG);
  fault(world, 3, { kind: "refuse" });
  expect(await world.doubt()).toMatch(SHOWN);
});

test.each(["refuse", "stall"] as const)("a host that answers at one port only is asked there: the first one %ss", async (kind) => {
  const world = await begin(4, 2, { minConnected: 1 }, [undefined, undefined, "host", "host"]);
  fault(world, 2, { kind });
  fault(world, 3, LAG);
  expect(await world.doubt()).toMatch(SHOWN);
});

test("where eight say nothing the next are asked", async () => {
  const world = await begin(12, 2);
  for (let i = 2; i < 10; i++) fault(world, i, { kind: "stall" });
  fault(world, 10, LAG);
  fault(world, 11, LAG);
  expect(await world.doubt()).toMatch(SHOWN);
});

test("a server a block behind is asked again, ever less often, and is a witness once it has the block", async () => {
  const world = await begin(3, 2);
  fault(world, 2, LAG);
  expect(await world.doubt()).toMatch(SHOWN);
  expect(await world.doubt()).toMatch(SHOWN);
  expect(world.visits[2]).toBe(1);
  await world.w.pass(5_000);
  expect(await world.doubt()).toMatch(SHOWN);
  await world.w.pass(5_000);
  expect(await world.doubt()).toMatch(SHOWN);
  expect(world.visits[2]).toBe(2);
  world.w.servers[2]?.faults.clear();
  await world.w.pass(5_000);
  expect(await world.doubt()).toBeNull();
});

test("a clock that is set back keeps nobody from being asked again", async () => {
  const world = await begin(4, 2);
  fault(world, 2, LAG);
  fault(world, 3, { kind: "stall" });
  expect(await world.doubt()).toMatch(SHOWN);
  world.w.skewMs -= 3_600_000;
  const before = [...world.visits];
  expect(await world.doubt()).toMatch(SHOWN);
  expect(world.visits.slice(2)).toEqual(before.slice(2).map((n) => n + 1));
});

test("many swaps at once ask about the same block with one connection to each", async () => {
  const world = await begin(4, 2);
  const { w, chain } = world;
  const all = Promise.all(Array.from({ length: 20 }, () => chain.doubt?.(world.last(), 1)));
  expect(await whileTimePasses(w, all)).toEqual(Array.from({ length: 20 }, () => null));
  expect(world.visits.slice(2)).toEqual([1, 1]);
});

test("servers that are away, hang or stood still long ago say nothing, and are left alone for a minute", async () => {
  const world = await begin(5, 2);
  fault(world, 2, { kind: "refuse" });
  fault(world, 3, { kind: "stall" });
  await world.w.pass(4 * 3_600_000);
  world.w.mine();
  await whileTimePasses(world.w, world.chain.refresh());
  fault(world, 4, LAG);
  const before = [...world.visits];
  expect(await world.doubt()).toBeNull();
  expect(await world.doubt()).toBeNull();
  expect(world.visits.slice(2)).toEqual(before.slice(2).map((n) => n + 1));
});

test("one that was connected when the block came is no witness of it: whoever made it up may have left since", async () => {
  const world = await begin(4, 2);
  fault(world, 0, { kind: "garbage", text: "nonsense" });
  await whileTimePasses(world.w, world.chain.refresh());
  world.w.servers[0]?.faults.clear();
  const states = world.chain.servers().map(({ state }) => state);
  const idle = states.findIndex((state, i) => i > 1 && state !== "connected");
  expect([states[0] === "connected", states.filter((state) => state === "connected").length]).toEqual([false, 2]);
  fault(world, idle, LAG);
  expect(await world.doubt()).toMatch(SHOWN);
});

test("what was said of a block counts no more once it has left the chain, also when it comes back", async () => {
  const world = await begin(4, 2);
  const { w, chain } = world;
  expect(await world.doubt()).toBeNull();
  const first = w.chain.state.tip;
  const follow = async (): Promise<void> => {
    await whileTimePasses(w, chain.refresh());
    expect(world.last().hash).toBe(w.chain.state.tip.block.hash);
  };
  w.chain.invalidate(first);
  w.mine();
  await follow();
  const second = w.chain.state.tip;
  expect(second.block.hash).not.toBe(first.block.hash);
  w.chain.reconsider(first);
  w.chain.invalidate(second);
  await follow();
  expect(world.last().hash).toBe(first.block.hash);
  fault(world, 2, LAG);
  fault(world, 3, LAG);
  expect(await world.doubt()).toMatch(SHOWN);
});

test("an answer to a question about a block that leaves the chain meanwhile does not count", async () => {
  const world = await begin(4, 2);
  const { w, chain } = world;
  for (const server of [2, 3]) fault(world, server, { kind: "slow", delayMs: 1_500 });
  const asking = world.doubt();
  w.chain.invalidate(w.chain.state.tip);
  w.mine();
  const moved = chain.refresh();
  expect(await asking).toMatch(/on the chain no more/);
  await whileTimePasses(w, moved);
});

test("one that gives no answer is asked ever less often, every five minutes in the end", async () => {
  const world = await begin(3, 2);
  fault(world, 2, { kind: "stall" });
  const before = world.visits[2] ?? 0;
  for (let minute = 0; minute < 60; minute++) {
    expect(await world.doubt()).toBeNull();
    await world.w.pass(60_000);
  }
  const visits = (world.visits[2] ?? 0) - before;
  expect(visits).toBeGreaterThan(9);
  expect(visits).toBeLessThan(16);
});

test("where work proves a block nobody is asked", async () => {
  const world = await begin(3, 2, { costlyWork: 1n });
  fault(world, 2, LAG);
  const before = [...world.visits];
  expect(await world.doubt()).toBeNull();
  expect(world.visits).toEqual(before);
});

test("whoever waits may give up, and another goes on", async () => {
  const world = await begin(3, 2);
  fault(world, 2, { kind: "stall" });
  const giveUp = new AbortController();
  const waiting = world.chain.doubt?.(world.last(), 1, giveUp.signal);
  const other = world.doubt();
  giveUp.abort();
  await expect(waiting).rejects.toThrow();
  await expect(world.chain.doubt?.(world.last(), 1, giveUp.signal)).rejects.toThrow();
  expect(await other).toBeNull();
});

test("closing ends it", async () => {
  const world = await begin(3, 2);
  fault(world, 2, { kind: "stall" });
  const waiting = world.chain.doubt?.(world.last(), 1);
  await Promise.all([expect(waiting).rejects.toThrow(), world.chain.close()]);
  await world.w.pass(60_000);
  expect(world.w.servers.map((server) => server.connections)).toEqual([0, 0, 0]);
});
