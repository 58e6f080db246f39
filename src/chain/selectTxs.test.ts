import { expect, test } from "vitest";
import { createChainWorld, fund, pay, payTo, testKey } from "../../test/fakes/chainWorld.ts";
import type { ChainTx } from "./chainTx.ts";
import { ChainDaemon } from "./daemon.ts";
import type { EmbeddedChain } from "./embeddedChain.ts";

const OWNER = testKey("owner");
const MINE = payTo(OWNER);

function world(kind: "legacy" | "segwit" | "kmd" = "segwit", coins = 3) {
  const { chain, clock } = createChainWorld(kind);
  const funded = Array.from({ length: coins }, () => fund(chain, MINE));
  return { chain, daemon: new ChainDaemon(chain, clock), funded };
}
type Funded = ReturnType<typeof world>["funded"][number];

function send(chain: EmbeddedChain, coin: Funded | undefined, fee: bigint): ChainTx {
  if (!coin) throw new Error("no coin");
  const tx = pay(chain, [coin], OWNER, [{ value: coin.value - fee, script: MINE }]);
  const sent = chain.send(tx);
  if (!sent.ok) throw new Error(sent.error.reason);
  return tx;
}
const child = (chain: EmbeddedChain, parent: ChainTx, fee: bigint): ChainTx =>
  send(chain, { txid: parent.txid, vout: 0, value: parent.tx.outputs[0]?.value ?? 0n, script: MINE }, fee);
const mined = (chain: EmbeddedChain): readonly string[] => {
  chain.mine(1);
  return chain.state.tip.block.txs.slice(1).map((t) => t.txid);
};

test("the miner takes what pays most for its size first, and equal ones in order of entry", () => {
  const { chain, funded } = world();
  const [cheap, dear, same] = [send(chain, funded[0], 300n), send(chain, funded[1], 900n), send(chain, funded[2], 300n)];
  expect(mined(chain)).toEqual([dear.txid, cheap.txid, same.txid]);
});

test("a child that pays well brings its parent into a block that has no room for others, parents first", () => {
  const { chain, funded } = world();
  const parent = send(chain, funded[0], 200n);
  send(chain, funded[1], 1_000n);
  const bumping = child(chain, parent, 5_000n);
  chain.policy.blockVbytes = parent.vsize + bumping.vsize + 10;
  expect(mined(chain)).toEqual([parent.txid, bumping.txid]);
});

test("where packages do not count, a child helps nobody and waits for its parent", () => {
  const { chain, funded } = world("kmd");
  const parent = send(chain, funded[0], 200n);
  const other = send(chain, funded[1], 1_000n);
  const bumping = child(chain, parent, 5_000n);
  chain.policy.blockVbytes = other.vsize + 10;
  expect(mined(chain)).toEqual([other.txid]);
  chain.policy.blockVbytes = null;
  expect(mined(chain)).toEqual([parent.txid, bumping.txid]);
});

test("a grandchild pays for what is left of its package when a part of it is in already", () => {
  const { chain, funded } = world();
  const parent = send(chain, funded[0], 4_000n);
  const middle = child(chain, parent, 200n);
  const last = child(chain, middle, 3_000n);
  const other = send(chain, funded[1], 1_000n);
  expect(mined(chain)).toEqual([parent.txid, middle.txid, last.txid, other.txid]);
});

test("chain_policy: a fee spike keeps cheap transactions out of blocks, a full mempool pushes them out", async () => {
  const { chain, daemon, funded } = world();
  const cheap = send(chain, funded[0], 1_000n);
  await daemon.call("chain_policy", [{ blockFee: 0.0005 }]);
  expect(mined(chain)).toEqual([]);
  expect(await daemon.call("estimatesmartfee", [1])).toMatchObject({ feerate: 0.0005 });
  const told = await daemon.call("chain_policy", [{ entryFee: "0.0001", blockFee: null }]);
  expect(told).toEqual({ replacement: true, packages: true, entryFee: 0.0001, blockFee: 0, blockVbytes: null, evicted: [cheap.txid] });
  expect(await daemon.call("getmempoolinfo")).toMatchObject({ mempoolminfee: 0.0001, size: 0 });
  expect(chain.send(cheap)).toMatchObject({ ok: false, error: { reason: "mempool min fee not met" } });
  await daemon.call("chain_policy", [{ entryFee: null }]);
  expect(chain.send(cheap).ok).toBe(true);
  expect(mined(chain)).toEqual([cheap.txid]);
});

test("chain_policy: without replacement the first seen stays, and what it does not know it refuses", async () => {
  const { chain, daemon, funded } = world();
  const [coin] = funded;
  if (!coin) throw new Error("no coin");
  const first = pay(chain, [{ ...coin, sequence: 0xfffffffd }], OWNER, [{ value: coin.value - 500n, script: MINE }]);
  const second = pay(chain, [{ ...coin, sequence: 0xfffffffd }], OWNER, [{ value: coin.value - 5_000n, script: MINE }]);
  expect(chain.send(first).ok).toBe(true);
  await daemon.call("chain_policy", [{ replacement: false }]);
  expect(chain.send(second)).toMatchObject({ ok: false, error: { reason: "txn-mempool-conflict" } });
  await daemon.call("chain_policy", [{ replacement: true }]);
  expect(chain.send(second).ok).toBe(true);
  expect(mined(chain)).toEqual([second.txid]);
  for (const wrong of [{ spikes: 1 }, { replacement: 1 }, { blockFee: "much" }, { blockVbytes: -1 }]) {
    await expect(daemon.call("chain_policy", [wrong])).rejects.toMatchObject({ code: -8 });
  }
});

test.each<[unknown, string]>([
  [{ replacement: false, spikes: 1 }, "spikes is none of entryFee, blockFee, replacement, packages, blockVbytes"],
  [{ replacement: false, packages: 1 }, "packages must be true, false or null"],
  [{ replacement: false, blockFee: "much" }, "blockFee must be coins per 1000 bytes, or null"],
  [{ replacement: false, entryFee: -1 }, "entryFee must be coins per 1000 bytes, or null"],
  [{ replacement: false, entryFee: 1, blockVbytes: 1_000_001 }, "blockVbytes must be 0 to 1000000, or null"],
  [{ replacement: false, blockVbytes: 0.5 }, "blockVbytes must be 0 to 1000000, or null"],
])("chain_policy %j is refused with the name of the field, and changes nothing", async (wrong, reason) => {
  const { chain, daemon, funded } = world();
  const cheap = send(chain, funded[0], 1_000n);
  const before = { ...chain.policy };
  await expect(daemon.call("chain_policy", [wrong])).rejects.toMatchObject({ code: -8, message: reason });
  expect(chain.policy).toEqual(before);
  expect(mined(chain)).toEqual([cheap.txid]);
});
