import { beforeEach, describe, expect, test } from "vitest";
import { EvmMiner } from "../../sim/run/evmMiner.ts";
import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import { ZERO_ADDRESS } from "../../src/core/evm/address.ts";
import { transferCall } from "../../src/core/evm/erc20.ts";
import { nextBaseFee } from "../../src/core/evm/gas.ts";
import { bid, type Deal, ETHER, EvmTable, FALSY, GWEI, PLAIN, party, SECRET, SILENT, SWAP } from "./evmTable.ts";

let t: EvmTable;
let deal: Deal;
beforeEach(() => {
  t = new EvmTable();
  deal = { from: t.maker, to: t.taker, amount: 5n * ETHER, token: ZERO_ADDRESS, lockTime: t.nowSec + 3_600n };
});
const tokenDeal = (token: Deal["token"]): Deal => ({ ...deal, token, amount: 1_000n });

describe("transactions", () => {
  test("a transfer moves its value; base fee is burned, the rest of the fee earned, unused gas comes back", () => {
    const [before, burned, earned] = [t.chain.balance(t.maker.address), t.chain.burned, t.chain.earned];
    const tx = t.send(t.maker, { to: t.thief.address, value: ETHER, bid: bid(50n, 2n) });
    const [block] = t.chain.mine();
    const receipt = t.chain.find(tx.txid)?.receipt ?? expect.fail("not mined");
    const baseFee = block?.baseFee ?? 0n;
    expect(receipt).toEqual({ succeeded: true, gasUsed: 21_000n, effectiveGasPrice: baseFee + 2n * GWEI });
    expect(before - t.chain.balance(t.maker.address)).toBe(ETHER + t.chain.feeOf(tx.txid));
    expect([t.chain.burned - burned, t.chain.earned - earned]).toEqual([21_000n * baseFee, 42_000n * GWEI]);
    expect(t.chain.balance(t.thief.address)).toBe(1_001n * ETHER);
  });

  test("a legacy transaction pays its one price", () => {
    const tx = t.send(t.maker, { bid: { kind: "legacy", gasPrice: 30n * GWEI } });
    t.chain.mine();
    expect(t.chain.find(tx.txid)?.receipt?.effectiveGasPrice).toBe(30n * GWEI);
  });

  test.each([
    ["of another chain", { chainId: 1n }, "signed for the chain 1"],
    ["with a used nonce", { nonce: 0n, value: 7n }, "is used"],
    ["far ahead", { nonce: 66n }, "too far ahead"],
    ["with too little gas for itself", { gasLimit: 20_999n }, "less gas"],
    ["with more gas than a block", { gasLimit: 30_000_001n }, "more gas"],
    ["that is not covered", { value: 1_000n * ETHER }, "too little"],
    ["that makes a contract", { to: null }, "no new contracts"],
    ["that pays nothing to who makes the block", { bid: bid(50n, 0n) }, "pays too little"],
  ])("one %s is refused", (_what, sending, reason) => {
    t.did(t.maker, {});
    const answer = t.chain.send(t.signed(t.maker, sending).raw);
    expect(answer).toMatchObject({ kind: "refused", message: expect.stringContaining(reason) });
  });

  test("all that waits must be covered together, at its full gas limit and price", () => {
    t.send(t.maker, { value: 600n * ETHER });
    expect(t.chain.send(t.signed(t.maker, { value: 400n * ETHER }).raw)).toMatchObject({ kind: "refused" });
    t.send(t.maker, { value: 399n * ETHER });
  });

  test("one that runs out of gas changes nothing but pays for the whole limit and uses its nonce", () => {
    const before = t.chain.balance(t.maker.address);
    const tx = t.send(t.maker, { ...t.pay(deal), gasLimit: 40_000n });
    t.chain.mine();
    expect(t.chain.find(tx.txid)?.receipt).toMatchObject({ succeeded: false, gasUsed: 40_000n });
    expect([t.state(deal), t.chain.balance(SWAP)]).toEqual(["uninitialized", 0n]);
    expect(before - t.chain.balance(t.maker.address)).toBe(t.chain.feeOf(tx.txid));
    expect(t.chain.nonceOf(t.maker.address)).toBe(tx.tx.nonce + 1n);
  });

  test("one that reverts changes nothing but pays and uses its nonce, and has no events", () => {
    const tx = t.send(t.maker, t.refund(deal));
    t.chain.mine();
    const { receipt, block } = t.chain.find(tx.txid) ?? expect.fail("not mined");
    expect(receipt?.succeeded).toBe(false);
    expect(receipt?.gasUsed).toBeLessThan(60_000n);
    expect(receipt?.gasUsed).toBeGreaterThan(21_000n);
    expect(t.chain.feeOf(tx.txid)).toBe(1_000n * ETHER - t.chain.balance(t.maker.address));
    expect(block?.txs[0]?.logs).toEqual([]);
    expect(t.chain.nonceOf(t.maker.address)).toBe(1n);
  });
});

describe("the swap contract", () => {
  test("the receiver takes a payment with the secret, once, also after the lock time", async () => {
    expect(t.did(t.maker, t.pay(deal))).toBe(true);
    expect([t.state(deal), t.chain.balance(SWAP)]).toEqual(["sent", deal.amount]);
    expect(t.did(t.thief, t.claim(deal))).toBe(false);
    expect(t.did(t.taker, t.claim(deal, new Uint8Array(32)))).toBe(false);
    await t.clock.advance(4_000_000);
    expect(t.did(t.taker, t.claim(deal))).toBe(true);
    expect([t.state(deal), t.chain.balance(SWAP)]).toEqual(["spent", 0n]);
    expect(t.did(t.taker, t.claim(deal))).toBe(false);
    expect(t.did(t.maker, t.refund(deal))).toBe(false);
    const { id } = t.key(deal);
    expect(t.chain.event(SWAP, id, "spent")).toMatchObject({ secret: SECRET });
    expect(t.chain.event(SWAP, id, "sent")).toMatchObject({ secret: null });
  });

  test("the payer takes it back from the lock time of the block on, not before, and nobody else does", async () => {
    expect(t.did(t.maker, t.pay(deal))).toBe(true);
    const atMs = Number(deal.lockTime) * 1_000;
    await t.clock.run({ untilMs: atMs - 1_000 });
    expect(t.did(t.maker, t.refund(deal))).toBe(false);
    await t.clock.run({ untilMs: atMs + 5_000 });
    expect(t.did(t.thief, t.refund(deal))).toBe(false);
    expect(t.did(t.maker, t.refund(deal))).toBe(true);
    expect([t.state(deal), t.chain.balance(SWAP)]).toEqual(["refunded", 0n]);
    expect(t.did(t.taker, t.claim(deal))).toBe(false);
  });

  test("an id is used once, whatever became of it; no payment is of nothing, to nobody or to the contract", () => {
    expect(t.did(t.maker, t.pay({ ...deal, amount: 0n }))).toBe(false);
    expect(t.did(t.maker, t.pay({ ...deal, to: { ...t.taker, address: ZERO_ADDRESS } }))).toBe(false);
    expect(t.did(t.maker, t.pay({ ...deal, to: { ...t.taker, address: SWAP } }))).toBe(false);
    expect(t.did(t.maker, t.pay(deal))).toBe(true);
    expect(t.did(t.thief, t.pay({ ...deal, amount: 1n }))).toBe(false);
    expect(t.did(t.taker, t.claim(deal))).toBe(true);
    expect(t.did(t.maker, t.pay(deal))).toBe(false);
    expect(t.chain.balance(SWAP)).toBe(0n);
  });

  test("coins sent to it without a call, or with a call that takes none, come back", () => {
    expect(t.did(t.maker, { to: SWAP, value: 1n })).toBe(false);
    expect(t.did(t.maker, t.pay(deal))).toBe(true);
    expect(t.did(t.taker, { ...t.claim(deal), value: 1n })).toBe(false);
    expect(t.chain.balance(SWAP)).toBe(deal.amount);
  });

  test("a token payment needs its allowance, takes it, and is paid out in the token", () => {
    const token = tokenDeal(PLAIN);
    expect(t.did(t.maker, t.pay(token))).toBe(false);
    expect(t.did(t.maker, t.approve(PLAIN, 1_500n))).toBe(true);
    expect(t.did(t.maker, t.pay(token))).toBe(true);
    expect(t.chain.allowance(PLAIN, t.maker.address, SWAP)).toBe(500n);
    expect(t.chain.tokenBalance(PLAIN, SWAP)).toBe(1_000n);
    expect(t.did(t.taker, t.claim({ ...token, token: FALSY }))).toBe(false);
    expect(t.did(t.taker, t.claim(token))).toBe(true);
    expect([t.chain.tokenBalance(PLAIN, SWAP), t.chain.tokenBalance(PLAIN, t.taker.address)]).toEqual([0n, 10n ** 12n + 1_000n]);
    expect(t.did(t.maker, t.pay(tokenDeal(party("no token").address)))).toBe(false);
  });
});

describe("tokens with manners of their own", () => {
  test("one that answers nothing passes; its allowance must be reset before it changes", () => {
    expect(t.did(t.maker, t.approve(SILENT, 1_000n))).toBe(true);
    expect(t.did(t.maker, t.approve(SILENT, 2_000n))).toBe(false);
    expect(t.did(t.maker, t.approve(SILENT, 0n))).toBe(true);
    expect(t.did(t.maker, t.approve(SILENT, 1_000n))).toBe(true);
    expect(t.did(t.maker, t.pay(tokenDeal(SILENT)))).toBe(true);
    expect(t.did(t.taker, t.claim(tokenDeal(SILENT)))).toBe(true);
  });

  test("one that answers false moves nothing, so there is no payment; a plain transfer of it goes well and moves nothing", () => {
    expect(t.did(t.maker, t.pay(tokenDeal(FALSY)))).toBe(false);
    const before = t.chain.tokenBalance(FALSY, t.maker.address);
    expect(t.did(t.maker, { to: FALSY, data: transferCall(t.thief.address, before + 1n) })).toBe(true);
    expect(t.chain.tokenBalance(FALSY, t.maker.address)).toBe(before);
    expect(t.did(t.maker, { to: PLAIN, data: transferCall(t.thief.address, 10n ** 13n) })).toBe(false);
  });

  test("one that answers false to a payout fails the claim: it would be spent, and nobody paid", () => {
    const token = t.chain.tokens.get(FALSY) ?? expect.fail("no token");
    t.did(t.maker, t.approve(FALSY, 5_000n));
    expect(t.did(t.maker, t.pay(tokenDeal(FALSY)))).toBe(true);
    token.isPaused = true;
    expect(t.did(t.taker, t.claim(tokenDeal(FALSY)))).toBe(false);
    expect(t.state(tokenDeal(FALSY))).toBe("sent");
  });

  test("one that keeps a fee cannot be paid in; when it begins to later, the claim still goes well", () => {
    const token = t.chain.tokens.get(PLAIN) ?? expect.fail("no token");
    expect(t.did(t.maker, t.approve(PLAIN, 5_000n))).toBe(true);
    token.feePercent = 10n;
    expect(t.did(t.maker, t.pay(tokenDeal(PLAIN)))).toBe(false);
    token.feePercent = 0n;
    expect(t.did(t.maker, t.pay(tokenDeal(PLAIN)))).toBe(true);
    token.feePercent = 10n;
    expect(t.did(t.taker, t.claim(tokenDeal(PLAIN)))).toBe(true);
    expect([t.chain.tokenBalance(PLAIN, t.taker.address), t.chain.tokenBalance(PLAIN, SWAP)]).toEqual([10n ** 12n + 900n, 0n]);
  });

  test("one that is paused leaves the payment open, and it is claimed when it goes on", () => {
    const token = t.chain.tokens.get(PLAIN) ?? expect.fail("no token");
    t.did(t.maker, t.approve(PLAIN, 5_000n));
    t.did(t.maker, t.pay(tokenDeal(PLAIN)));
    token.isPaused = true;
    expect(t.did(t.taker, t.claim(tokenDeal(PLAIN)))).toBe(false);
    expect(t.state(tokenDeal(PLAIN))).toBe("sent");
    token.isPaused = false;
    expect(t.did(t.taker, t.claim(tokenDeal(PLAIN)))).toBe(true);
  });
});

describe("the pool", () => {
  test("what comes after a gap waits, and goes in with what fills it; the pending nonce ends at the gap", () => {
    const second = t.send(t.maker, { nonce: 1n });
    t.chain.mine();
    expect([t.chain.find(second.txid)?.block, t.chain.pendingNonce(t.maker.address)]).toEqual([null, 0n]);
    const first = t.send(t.maker, { nonce: 0n });
    expect(t.chain.pendingNonce(t.maker.address)).toBe(2n);
    const [block] = t.chain.mine();
    expect(block?.txs.map((tx) => tx.signed.txid)).toEqual([first.txid, second.txid]);
  });

  test("what waits behind a gap for hours is dropped, what waits for a price is not", async () => {
    const behind = t.send(t.maker, { nonce: 1n });
    const cheap = t.send(t.taker, { bid: bid(2n) });
    await t.clock.advance(3 * 3_600_000 + 1);
    t.chain.mine();
    expect([t.chain.find(behind.txid), t.chain.find(cheap.txid)?.block]).toEqual([undefined, null]);
  });

  test("what its account cannot pay for any more after a reorg is dropped", () => {
    const poor = party("poor");
    const funding = t.chain.payFromFaucet(poor.address, ETHER);
    t.chain.mine();
    const tx = t.send(poor, { value: ETHER / 2n, bid: bid(2n) });
    t.chain.mine();
    expect(t.chain.find(tx.txid)?.block).toBeNull();
    t.chain.reorg(2, { forget: [funding.txid] });
    expect(t.chain.find(tx.txid)).toBeUndefined();
  });

  test("a replacement pays a tenth more in both figures", () => {
    const old = t.send(t.maker, { bid: bid(100n, 10n), nonce: 0n });
    for (const price of [bid(109n, 20n), bid(200n, 10n), { kind: "legacy", gasPrice: 109n * GWEI } as const])
      expect(t.chain.send(t.signed(t.maker, { bid: price, nonce: 0n, value: 1n }).raw)).toMatchObject({ kind: "refused" });
    const next = t.send(t.maker, { bid: bid(110n, 11n), nonce: 0n, value: 1n });
    expect([t.chain.find(old.txid), t.chain.find(next.txid)?.block]).toEqual([undefined, null]);
    t.chain.mine();
    expect(t.chain.send(old.raw)).toMatchObject({ kind: "refused" });
    expect(t.chain.send(next.raw)).toEqual({ kind: "known" });
  });

  test("a full pool drops what pays least, or refuses what pays less", () => {
    t = new EvmTable({ pool: { maxTxs: 12 } });
    const txs = Array.from({ length: 12 }, (_, i) => t.send(t.maker, { bid: bid(BigInt(30 + i)) }));
    expect(t.chain.send(t.signed(t.taker, { bid: bid(30n) }).raw)).toMatchObject({ kind: "refused" });
    const dear = t.send(t.taker, { bid: bid(31n) });
    expect([t.chain.find(txs[0]?.txid ?? ""), t.chain.find(dear.txid)?.block]).toEqual([undefined, null]);
    expect(t.chain.pendingNonce(t.maker.address)).toBe(0n);
  });

  test("a block takes who pays most first, no more than fits, and nothing below its base fee", () => {
    t = new EvmTable({ pool: { blockGasLimit: 60_000n * 10n } });
    const gasLimit = 250_000n;
    const data = new Uint8Array(14_000).fill(1);
    const low = t.send(t.maker, { bid: bid(100n, 1n), gasLimit, data });
    const high = t.send(t.taker, { bid: bid(100n, 3n), gasLimit, data });
    const middle = t.send(t.thief, { bid: bid(100n, 2n), gasLimit, data });
    const [block] = t.chain.mine();
    expect(block?.txs.map((tx) => tx.signed.txid)).toEqual([high.txid, middle.txid]);
    const poor = t.send(t.taker, { bid: bid(9n) });
    t.chain.mine();
    expect([t.chain.find(low.txid)?.block, t.chain.find(poor.txid)?.block]).toEqual([t.chain.tip, null]);
  });
});

describe("blocks", () => {
  test("times grow, follow the clock, and the base fee follows the parent as EIP-1559 says", async () => {
    t.chain.spike(50n, 3_600_000);
    for (let i = 0; i < 60; i++) {
      const parent = t.chain.tip;
      const [block] = t.chain.mine();
      expect(block?.baseFee).toBe(nextBaseFee(parent));
      expect(block?.timeSec).toBe(Math.max(parent.timeSec + 1, Number(t.nowSec)));
      await t.clock.advance(i % 2 === 0 ? 0 : 12_000);
    }
    const spiked = t.chain.tip.baseFee;
    expect(spiked).toBeGreaterThan(400n * GWEI);
    expect(spiked).toBeLessThan(600n * GWEI);
    await t.clock.advance(3_600_000);
    t.chain.mine(60);
    expect(t.chain.tip.baseFee).toBeLessThan(12n * GWEI);
    expect(t.chain.tip.baseFee).toBeGreaterThan(8n * GWEI);
  });

  test("a sudden spike is there in one block", () => {
    t.chain.mine();
    t.chain.spike(50n, 60_000, true);
    const tx = t.send(t.maker, { bid: bid(100n) });
    t.chain.mine();
    expect([t.chain.tip.baseFee, t.chain.find(tx.txid)?.block]).toEqual([500n * GWEI, null]);
  });

  test("a reorg takes back everything and puts the transactions back, or forgets them", () => {
    const before = [t.chain.balance(t.maker.address), t.chain.burned];
    const paid = t.send(t.maker, t.pay(deal));
    t.chain.mine();
    const claimed = t.send(t.taker, t.claim(deal));
    t.chain.mine();
    const old = t.chain.tip;
    expect(t.chain.reorg(2, { forget: [claimed.txid] }).ok).toBe(true);
    expect(t.chain.tip.height).toBe(old.height + 1);
    expect(t.chain.at(old.height)?.hash).not.toBe(old.hash);
    expect([t.state(deal), t.chain.balance(SWAP), t.chain.event(SWAP, t.key(deal).id, "sent")]).toEqual(["uninitialized", 0n, null]);
    expect([t.chain.balance(t.maker.address), t.chain.burned]).toEqual(before);
    expect([t.chain.find(paid.txid)?.block, t.chain.find(claimed.txid)]).toEqual([null, undefined]);
    t.chain.mine();
    expect(t.state(deal)).toBe("sent");
  });

  test("a reorg with other transactions makes what depended on them revert", () => {
    t.send(t.maker, t.pay(deal));
    t.chain.mine();
    const claimed = t.send(t.taker, t.claim(deal));
    t.chain.mine();
    t.chain.reorg(2, { forget: [t.chain.at(t.chain.tip.height - 1)?.txs[0]?.signed.txid ?? ""], refill: true });
    expect(t.chain.find(claimed.txid)?.receipt?.succeeded).toBe(false);
    expect(t.chain.payment(SWAP, t.key(deal).id).state).toBe("uninitialized");
  });

  test("no reorg reaches below what is final, and what is final never goes back", () => {
    t = new EvmTable({ finalDepth: 5 });
    t.chain.mine(10);
    const { finalized } = t.chain;
    expect(finalized).toBe(t.chain.tip.height - 5);
    expect(t.chain.reorg(6).ok).toBe(false);
    expect(t.chain.reorg(5).ok).toBe(true);
    expect(t.chain.finalized).toBeGreaterThanOrEqual(finalized ?? 0);
    expect(t.chain.reorg(6).ok).toBe(false);
    t = new EvmTable({ finalDepth: null });
    expect(t.chain.finalized).toBeNull();
  });

  test("a miner makes them at random times, none in a drought, and the chain by itself makes them evenly", async () => {
    const miner = new EvmMiner({ chain: t.chain, clock: t.clock, rng: seededRng(5), blockSec: 12 });
    const blocksWithin = async (ms: number): Promise<number> => {
      const { height } = t.chain.tip;
      await t.clock.advance(ms);
      return t.chain.tip.height - height;
    };
    miner.start();
    const usual = await blocksWithin(1_200_000);
    expect(usual).toBeGreaterThan(70);
    expect(usual).toBeLessThan(130);
    miner.drought(600_000);
    expect(await blocksWithin(500_000)).toBe(0);
    expect(await blocksWithin(200_000)).toBeGreaterThan(3);
    const { height } = t.chain.tip;
    miner.burst(7);
    expect(t.chain.tip.height).toBe(height + 7);
    miner.stop();
    expect(await blocksWithin(600_000)).toBe(0);
    t.chain.autoMine(10_000);
    expect(await blocksWithin(100_000)).toBe(10);
    t.chain.autoMine(null);
    expect(await blocksWithin(100_000)).toBe(0);
  });
});
