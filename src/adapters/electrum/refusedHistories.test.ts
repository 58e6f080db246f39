import { expect, test } from "vitest";
import { HistoryPace } from "./historyPace.ts";
import { RefusedHistories } from "./refusedHistories.ts";
import type { RemoteServer } from "./remoteServer.ts";

test("mempools that a server fills are forgotten, the oldest first, and asked for again: all together they are bounded", async () => {
  let asked = 0;
  const pool = Array.from({ length: 20_000 }, (_, i) => ({ tx_hash: i.toString(16).padStart(64, "0"), height: 0 }));
  const server = {
    name: "server",
    tip: null,
    ask: async (_: string, __: unknown, parse: (value: unknown) => unknown) => {
      asked++;
      return parse(pool);
    },
  } as unknown as RemoteServer;
  const index = { hasScript: () => true, outputsOf: () => [], txEntry: () => undefined };
  const refused = new RefusedHistories(index as never, new HistoryPace());
  const linesOf = async (n: number, nowMs = 0): Promise<number> =>
    (await refused.linesOf(server, { scriptHex: "51", scriptHash: `${n}`, only: null }, { fresh: true, nowMs, heightOf: () => undefined }))
      ?.length ?? 0;
  expect(await linesOf(0)).toBe(20_000);
  expect([await linesOf(0), asked]).toEqual([20_000, 1]);
  for (let n = 1; n < 6; n++) await linesOf(n);
  expect(asked).toBe(6);
  // The newest four are remembered.
  for (let n = 2; n < 6; n++) await linesOf(n);
  expect(asked).toBe(6);
  // A server bears 40,000 lines more in so long, and those of others in between.
  expect(await linesOf(0)).toBe(0);
  await linesOf(0, 10_000_000);
  expect(asked).toBe(7);
});

/** What is known to pay each of some scripts, in no block yet, asked for at a server that tells of none of it by itself. */
function paid(txidsOf: (script: number) => readonly string[], scripts: number) {
  const world = { detailed: 0, tip: "" };
  const server = {
    name: "server",
    get tip() {
      return { header: { hash: world.tip } };
    },
    ask: async (method: string, _: unknown, parse: (value: unknown) => unknown) => {
      const isPool = method === "blockchain.scripthash.get_mempool";
      if (!isPool) world.detailed++;
      return parse(isPool ? [] : {});
    },
  } as unknown as RemoteServer;
  const outputsOf = (script: string) => txidsOf(Number(script)).map((txid) => ({ txid, value: 1n, block: null, spentBy: null }));
  const index = { outputsOf, txEntry: () => ({ block: null }), tx: () => ({ raw: new Uint8Array(250) }) };
  const refused = new RefusedHistories(index as never, new HistoryPace());
  const lookAt = async (tip: string, nowMs: number): Promise<readonly (readonly unknown[] | null)[]> => {
    world.tip = tip;
    const asking = { fresh: true, nowMs, heightOf: () => undefined };
    const all = Array.from({ length: scripts }, (_, i) => ({ scriptHex: `${i}`, scriptHash: `${i}`, only: null }));
    return Promise.all(all.map((script) => refused.linesOf(server, script, asking)));
  };
  return { world, lookAt };
}

test("a transaction that pays many scripts is asked for once at each block", async () => {
  const { world, lookAt } = paid(() => ["ab".repeat(32)], 50);
  await lookAt("a", 0);
  await lookAt("a", 1_000);
  expect(world.detailed).toBe(1);
  expect((await lookAt("b", 2_000)).map((lines) => lines?.length)).toEqual(Array.from({ length: 50 }, () => 1));
  expect(world.detailed).toBe(2);
});

test("what others pay to many scripts is asked for at each block while a server bears it, and is then where it was told to be", async () => {
  const { world, lookAt } = paid((script) => Array.from({ length: 10 }, (_, i) => `${script}${i}`.padStart(64, "0")), 50);
  for (let block = 0; block < 10; block++) {
    const told = await lookAt(`block ${block}`, block * 60_000);
    expect(told.map((lines) => lines?.length)).toEqual(Array.from({ length: 50 }, () => 10));
  }
  expect(world.detailed).toBeGreaterThanOrEqual(500);
  // Of 1,500 at once, each counts a little more than one.
  expect(world.detailed).toBeLessThan(1_800);
});
