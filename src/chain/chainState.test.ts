import { expect, test } from "vitest";
import { createChainWorld, fund, pay, payTo, testKey } from "../../test/fakes/chainWorld.ts";
import { fromHex } from "../core/util/bytes.ts";
import { bitsToTarget, parseBlock, serializeBlock } from "./block.ts";
import { COIN } from "./chainParams.ts";
import type { EmbeddedChain } from "./embeddedChain.ts";
import { merkleRoot } from "./merkle.ts";

const OWNER = testKey("owner");
const OUT = payTo(testKey("anyone"));

const mempoolIds = (chain: EmbeddedChain): readonly string[] => chain.mempool.graph.entries().map((e) => e.chainTx.txid);

/** Everything unspent, as text: equal sets mean equal money. */
function coinsOf(chain: EmbeddedChain): readonly string[] {
  const scripts = [chain.faucetScript, payTo(OWNER), OUT];
  return scripts
    .flatMap((s) =>
      chain.state.coins
        .ofScript(Array.from(s, (b) => b.toString(16).padStart(2, "0")).join(""))
        .map((c) => `${c.txid}:${c.vout}=${c.value}@${c.height}`),
    )
    .sort();
}

test("the first block of legacy and segwit chains is Bitcoin's regtest genesis", () => {
  for (const kind of ["legacy", "segwit"] as const) {
    const { chain } = createChainWorld(kind, { initialBlocks: 0 });
    expect(chain.state.tip.block.hash).toBe("0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206");
  }
});

test("two chains from the same seed and clock are the same, block for block", () => {
  const tip = () => createChainWorld("segwit").chain.state.tip.block.hash;
  expect(tip()).toBe(tip());
});

test("a block read back from its bytes is the same", () => {
  for (const kind of ["legacy", "segwit", "kmd"] as const) {
    const { chain } = createChainWorld(kind, { initialBlocks: 3 });
    const { block } = chain.state.tip;
    const parsed = parseBlock(serializeBlock(block), chain.params.template.format);
    expect(parsed).toEqual({ ok: true, value: block });
    expect(parseBlock(serializeBlock(block).subarray(1), chain.params.template.format).ok).toBe(false);
    expect(parseBlock(Uint8Array.of(...serializeBlock(block), 0), chain.params.template.format).ok).toBe(false);
  }
});

test("block times never go back, even when the clock does", () => {
  const { chain } = createChainWorld("legacy");
  chain.time.add(-3_000);
  chain.mine(30);
  const times = Array.from({ length: chain.state.tip.height + 1 }, (_, h) => chain.state.at(h)?.block.header.time ?? 0);
  expect(times).toEqual([...times].sort((a, b) => a - b));
});

test("a chain cannot be mined more than two hours ahead of its clock", () => {
  const { chain } = createChainWorld("legacy");
  chain.time.add(-10_000);
  const mined = chain.mine(1);
  expect(mined.ok ? "ok" : mined.error.reason).toBe("time-too-new");
});

test("after a reorganisation the transactions of lost blocks wait in the mempool again and confirm later", () => {
  const { chain } = createChainWorld("legacy");
  const coin = fund(chain, payTo(OWNER));
  const before = coinsOf(chain);
  const tx = pay(chain, [coin], OWNER, [{ value: coin.value - 1_000n, script: OUT }]);
  chain.send(tx);
  chain.mine(1);
  chain.mine(2);
  expect(chain.state.blockOfTx(tx.txid)).toBeDefined();
  const done = chain.reorg({ depth: 3 });
  expect(done.ok).toBe(true);
  expect(chain.state.blockOfTx(tx.txid)).toBeUndefined();
  expect(mempoolIds(chain)).toEqual([tx.txid]);
  const kept = coinsOf(chain).filter((c) => before.includes(c));
  expect(kept).toEqual(before);
  chain.mine(1);
  expect(chain.state.blockOfTx(tx.txid)?.height).toBe(chain.state.tip.height);
});

test("a conflicting spend on the new branch keeps the old one out for good", () => {
  const { chain } = createChainWorld("legacy");
  const coin = fund(chain, payTo(OWNER));
  const first = pay(chain, [coin], OWNER, [{ value: coin.value - 1_000n, script: payTo(OWNER) }]);
  const child = pay(chain, [{ txid: first.txid, vout: 0, value: coin.value - 1_000n, script: payTo(OWNER) }], OWNER, [
    { value: 1_000_000n, script: OUT },
  ]);
  chain.send(first);
  chain.send(child);
  chain.mine(1);
  const rival = pay(chain, [coin], OWNER, [{ value: coin.value - 5_000n, script: OUT }]);
  expect(chain.reorg({ depth: 1, txs: [rival] }).ok).toBe(true);
  expect(chain.state.blockOfTx(rival.txid)).toBeDefined();
  expect(mempoolIds(chain)).toEqual([]);
});

test("a transaction can be forgotten by a reorganisation", () => {
  const { chain } = createChainWorld("legacy");
  const coin = fund(chain, payTo(OWNER));
  const tx = pay(chain, [coin], OWNER, [{ value: coin.value - 1_000n, script: OUT }]);
  chain.send(tx);
  chain.mine(1);
  chain.reorg({ depth: 1, forget: [tx.txid] });
  expect([mempoolIds(chain), chain.state.blockOfTx(tx.txid)]).toEqual([[], undefined]);
});

test("a branch with an invalid block changes nothing", () => {
  const { chain } = createChainWorld("legacy");
  const coin = fund(chain, payTo(OWNER));
  chain.mine(2);
  const tip = chain.state.tip.block.hash;
  const coins = coinsOf(chain);
  const theft = pay(chain, [coin], OWNER, [{ value: coin.value + 1n, script: OUT }]);
  const done = chain.reorg({ depth: 2, txs: [theft] });
  expect(done.ok ? "ok" : done.error.reason).toBe("bad-txns-in-belowout");
  expect(chain.state.tip.block.hash).toBe(tip);
  expect(coinsOf(chain)).toEqual(coins);
});

test("an invalidated block gives way and comes back when reconsidered", () => {
  const { chain } = createChainWorld("segwit");
  chain.mine(5);
  const tip = chain.state.tip;
  const target = chain.state.at(tip.height - 2);
  if (!target) throw new Error("no such block");
  const coins = coinsOf(chain);
  chain.invalidate(target);
  expect(chain.state.tip.height).toBe(tip.height - 3);
  expect(chain.submit(tip.block).ok).toBe(false);
  chain.reconsider(target);
  expect(chain.state.tip).toBe(tip);
  expect(coinsOf(chain)).toEqual(coins);
});

test("a transaction whose coinbase was lost, and what spends from it, leave the mempool", () => {
  const { chain } = createChainWorld("legacy");
  chain.mine(1, payTo(OWNER));
  const coinbase = chain.state.tip.block.txs[0];
  if (!coinbase) throw new Error("no coinbase");
  chain.mine(99);
  const coin = { txid: coinbase.txid, vout: 0, value: coinbase.tx.outputs[0]?.value ?? 0n, script: payTo(OWNER) };
  const tx = pay(chain, [coin], OWNER, [
    { value: COIN, script: OUT },
    { value: coin.value - 2n * COIN, script: payTo(OWNER) },
  ]);
  expect(chain.send(tx, {}).ok).toBe(true);
  chain.reorg({ depth: 100 });
  expect(mempoolIds(chain)).toEqual([]);
});

test("a refund that was final before a reorganisation is not kept when it no longer is", () => {
  const { chain } = createChainWorld("legacy");
  const coin = fund(chain, payTo(OWNER));
  const { height } = chain.state.tip;
  chain.mine(3);
  const tx = pay(chain, [{ ...coin, sequence: 0 }], OWNER, [{ value: 1_000_000n, script: OUT }], height + 3);
  expect(chain.send(tx).ok).toBe(true);
  const block = chain.state.at(height + 1);
  if (!block) throw new Error("no such block");
  chain.invalidate(block);
  expect(mempoolIds(chain)).toEqual([]);
});

test("nothing before a notarized block can be undone", () => {
  const { chain } = createChainWorld("kmd");
  chain.mine(5);
  const noted = chain.state.at(chain.state.tip.height - 2);
  if (!noted) throw new Error("no such block");
  chain.notarize(noted);
  const deep = chain.reorg({ depth: 3 });
  expect(deep.ok ? "ok" : deep.error.reason).toBe("bad-fork-prior-to-notarization");
  expect(chain.reorg({ depth: 2 }).ok).toBe(true);
  expect(chain.notarized).toBe(noted);
});

test("a chain keeps no more blocks than it may", () => {
  const { chain } = createChainWorld("legacy", { initialBlocks: 5, maxBlocks: 8 });
  const mined = chain.mine(5);
  expect(mined.ok).toBe(false);
  expect(chain.state.tip.height).toBe(7);
});

test("blocks are mined by the clock until that is switched off", async () => {
  const { chain, clock } = createChainWorld("legacy");
  const { height } = chain.state.tip;
  chain.autoMine(1_000);
  await clock.run({ untilMs: clock.nowMs() + 3_500 });
  expect(chain.state.tip.height).toBe(height + 3);
  chain.autoMine(null);
  await clock.run({ untilMs: clock.nowMs() + 3_500 });
  expect(chain.state.tip.height).toBe(height + 3);
});

test("a KMD-family chain pays its supply first and lets many be paid at once", () => {
  const { chain } = createChainWorld("kmd");
  const paid = Array.from({ length: 40 }, () => chain.payFromFaucet(OUT, 1_000n * COIN).ok);
  expect(paid).not.toContain(false);
});

test("a faucet that has too little says how much it has", () => {
  const { chain } = createChainWorld("legacy");
  const paid = chain.payFromFaucet(OUT, 2_000n * COIN);
  expect(paid.ok ? null : paid.error).toMatchObject({ kind: "FaucetDry", have: 21n * 50n * COIN });
});

test("a merkle root over an odd number repeats the last hash, and a repeated pair is seen", () => {
  const ids = [1, 2, 3].map((n) => n.toString(16).padStart(64, "0"));
  const odd = merkleRoot(ids);
  const even = merkleRoot([...ids, ids[2] ?? ""]);
  expect(even.root).toEqual(odd.root);
  expect([odd.mutated, even.mutated]).toEqual([false, true]);
  // Bitcoin block 100000: four transactions.
  const known = merkleRoot([
    "8c14f0db3df150123e6f3dbbf30f8b955a8249b62ac1d1ff16284aefa3d06d87",
    "fff2525b8931402dd09222c50775608f75787bd2b87e56995a7bdd30f79702c4",
    "6359f0868171b1d194cbee1af2f16ea598ae8fad666d9b012c8ed2b79a236ec4",
    "e9a66845e05d5abc0ad04ec80f774a7e585c6e8db975962d069a522137b80c1d",
  ]);
  expect(known.root.reverse()).toEqual(fromHex("f3e94742aca4b5ef85488dc37c06c3282295ffec960994b2c0d5ac2a25a95766"));
});

test("compact targets are read as Bitcoin reads them", () => {
  expect(bitsToTarget(0x1d00ffff)).toBe(0xffffn << 208n);
  expect([bitsToTarget(0x01003456), bitsToTarget(0x02008000), bitsToTarget(0x04923456)]).toEqual([0n, 0x80n, 0n]);
});
