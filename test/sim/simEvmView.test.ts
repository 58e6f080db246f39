import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { EvmLink } from "../../sim/world/evm/evmLink.ts";
import { SimEvmView } from "../../sim/world/evm/simEvmView.ts";
import { Life } from "../../sim/world/life.ts";
import { ZERO_ADDRESS } from "../../src/core/evm/address.ts";
import { transferCall } from "../../src/core/evm/erc20.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import type { ChainChange } from "../../src/ports/chain.ts";
import { SilentLog } from "../fakes/silentLog.ts";
import { CHAIN_ID, type Deal, ETHER, EvmTable, FALSY, GWEI, PLAIN, party, SECRET, SWAP } from "./evmTable.ts";

const POLL_MS = 5_000;
let t: EvmTable;
let link: EvmLink;
let deal: Deal;
let broadcasts: string[];
const open: SimEvmView[] = [];

function view(life = new Life()): SimEvmView {
  const clock = life.clock(t.clock, () => 0);
  const onBroadcast = (ticker: string, when: "before" | "after", raw: string): void => void broadcasts.push(`${ticker} ${when} ${raw}`);
  const made = new SimEvmView({ chain: t.chain, link, life, clock, log: new SilentLog(), pollMs: POLL_MS, onBroadcast });
  open.push(made);
  return made;
}

/** A promise while time passes. */
async function settle<T>(promise: Promise<T>, limitMs = 600_000): Promise<T> {
  let isDone = false;
  const mark = (): void => {
    isDone = true;
  };
  promise.then(mark, mark);
  await t.clock.run({ until: () => isDone, untilMs: t.clock.nowMs() + limitMs });
  if (!isDone) throw new Error("not within the limit");
  return promise;
}

beforeEach(() => {
  t = new EvmTable({ finalDepth: 10 });
  link = new EvmLink(t.clock);
  broadcasts = [];
  deal = { from: t.maker, to: t.taker, amount: 5n * ETHER, token: ZERO_ADDRESS, lockTime: t.nowSec + 3_600n };
});
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

describe("what it shows", () => {
  test("accounts, tokens and prices are those of the tip once a look began after the watch", async () => {
    const v = view();
    expect([v.status().state, v.gasPrices()]).toEqual(["starting", null]);
    await settle(v.watchAccount(t.maker.address));
    await settle(v.watchTokens(t.maker.address, [PLAIN, party("no token").address]));
    t.send(t.maker, { value: ETHER });
    await settle(v.refresh());
    const { tip } = t.chain;
    expect(v.account(t.maker.address)).toMatchObject({
      block: { height: tip.height },
      balance: 1_000n * ETHER,
      nonce: 0n,
      pendingNonce: 1n,
    });
    expect(v.token(PLAIN, t.maker.address)?.balance).toBe(10n ** 12n);
    expect(v.token(party("no token").address, t.maker.address)).toBeUndefined();
    expect(v.gasPrices()).toMatchObject({ nextBaseFee: 10n * GWEI, legacy: 11n * GWEI, priority: { medium: GWEI } });
    expect(v.status()).toMatchObject({
      state: "ready",
      error: null,
      tip: { height: tip.height, finalized: 0, medianTimePastSec: tip.timeSec },
    });
  });

  test("it is as old as its last look, and hurried by heads where its nodes tell of them", async () => {
    const v = view();
    await settle(v.refresh());
    const { height } = t.chain.tip;
    t.chain.mine(2);
    expect(v.status().tip?.height).toBe(height);
    await t.clock.advance(POLL_MS);
    expect(v.status().tip?.height).toBe(height + 2);
    await t.clock.advance(2_000);
    link.headDelayMs = 500;
    t.chain.mine();
    await t.clock.advance(400);
    expect(v.status().tip?.height).toBe(height + 2);
    await t.clock.advance(101);
    expect(v.status().tip?.height).toBe(height + 3);
  });

  test("a payment is followed from nothing to its claim, with the secret; a reorg withdraws it; listeners are told", async () => {
    const v = view();
    await settle(v.watchPayment(t.key(deal), 0));
    expect(v.payment(t.key(deal))).toMatchObject({ state: "uninitialized", sent: null, events: "complete" });
    const changes: ChainChange[] = [];
    v.onChange((change) => changes.push(change));
    const paid = t.send(t.maker, t.pay(deal));
    t.chain.mine();
    const claimed = t.send(t.taker, t.claim(deal));
    t.chain.mine();
    await settle(v.refresh());
    expect(v.payment(t.key(deal))).toMatchObject({
      state: "spent",
      lockTime: deal.lockTime,
      events: "complete",
      sent: { txid: paid.txid },
      spent: { txid: claimed.txid, secret: SECRET },
      refunded: null,
    });
    expect(v.tx(claimed.txid)).toMatchObject({ raw: claimed.raw, receipt: { succeeded: true } });
    expect(v.confirmations(v.tx(paid.txid)?.block ?? null)).toBe(2);
    expect(changes.at(-1)?.keys.has(t.key(deal).id)).toBe(true);
    expect(changes.at(-1)?.keys.has(claimed.txid)).toBe(true);
    t.chain.reorg(1, { forget: [claimed.txid] });
    await settle(v.refresh());
    expect(v.payment(t.key(deal))).toMatchObject({ state: "sent", spent: null, sent: { txid: paid.txid } });
    expect(v.tx(claimed.txid)).toBeUndefined();
    expect(changes.at(-1)?.keys.has(claimed.txid)).toBe(true);
  });

  test("events below the height that is searched, or of nodes without logs, are missing, but not where the transaction is followed", async () => {
    const paid = t.send(t.maker, t.pay(deal));
    t.chain.mine();
    const v = view();
    await settle(v.watchPayment(t.key(deal), t.chain.tip.height + 1));
    expect(v.payment(t.key(deal))).toMatchObject({ state: "sent", sent: null, events: "missing" });
    await settle(v.watchPayment(t.key(deal), 0));
    expect(v.payment(t.key(deal))).toMatchObject({ sent: { txid: paid.txid }, events: "complete" });
    link.hasNoLogs = true;
    await settle(v.refresh());
    expect(v.payment(t.key(deal))).toMatchObject({ state: "sent", sent: null, events: "missing" });
    await settle(v.watchTx(paid.txid, 0));
    expect(v.payment(t.key(deal))).toMatchObject({ sent: { txid: paid.txid }, events: "complete" });
    v.unwatch({ payments: [t.key(deal)], txids: [paid.txid] });
    await settle(v.refresh());
    expect([v.payment(t.key(deal)), v.tx(paid.txid)]).toEqual([undefined, undefined]);
  });

  test("a transaction is in the pool, in a block, final, reverted or replaced", async () => {
    const v = view();
    const tx = t.send(t.maker, t.refund(deal));
    const other = t.send(t.taker, {});
    await settle(v.watchTx(tx.txid, 0));
    await settle(v.watchTx(other.txid, 0));
    expect(v.tx(tx.txid)).toMatchObject({ block: null, receipt: null, seenAtMs: expect.any(Number) });
    const seenAtMs = v.tx(tx.txid)?.seenAtMs;
    t.send(t.taker, { nonce: other.tx.nonce, bid: { kind: "legacy", gasPrice: 500n * GWEI } });
    t.chain.mine();
    await settle(v.refresh());
    const seen = v.tx(tx.txid) ?? expect.fail("gone");
    expect(seen).toMatchObject({ receipt: { succeeded: false }, block: { hash: t.chain.tip.hash }, seenAtMs });
    expect(v.tx(other.txid)).toBeUndefined();
    expect(seen.block && v.isFinal(seen.block)).toBe(false);
    t.chain.mine(10);
    await settle(v.refresh());
    expect(seen.block && v.isFinal(seen.block)).toBe(true);
  });

  test("questions: decimals, allowances, contracts, trials and estimates", async () => {
    const v = view();
    const stranger = party("nobody").address;
    t.did(t.maker, t.approve(PLAIN, 7n));
    expect(await settle(v.tokenDecimals(FALSY))).toEqual({ ok: true, value: 18 });
    expect(await settle(v.tokensDecimals([PLAIN, SWAP, stranger]))).toMatchObject({
      value: [{ value: 6 }, { error: { kind: "OtherInterface" } }, { error: { kind: "NoCode" } }],
    });
    expect(await settle(v.allowance(PLAIN, t.maker.address, SWAP))).toEqual({ ok: true, value: 7n });
    expect(await settle(v.checkSwapContract(SWAP))).toMatchObject({ ok: true });
    expect(await settle(v.checkSwapContract(PLAIN))).toMatchObject({ error: { kind: "OtherInterface" } });
    const transfer = { from: t.maker.address, to: PLAIN, value: 0n, data: transferCall(stranger, 5n) };
    expect(await settle(v.call(transfer))).toMatchObject({ value: new Uint8Array(32).fill(1, 31) });
    const gas = await settle(v.estimateGas(transfer));
    expect(t.chain.tokenBalance(PLAIN, stranger)).toBe(0n);
    const sent = t.send(t.maker, { ...transfer, gasLimit: gas.ok ? gas.value : 0n });
    t.chain.mine();
    expect(t.chain.find(sent.txid)?.receipt).toMatchObject({ succeeded: true, gasUsed: sent.tx.gasLimit });
    const refund = { from: t.maker.address, to: SWAP, value: 0n, data: t.refund(deal).data ?? new Uint8Array(0) };
    const before = t.chain.totalWei();
    expect(await settle(v.estimateGas(refund))).toMatchObject({ error: { kind: "Reverted", data: expect.any(Uint8Array) } });
    expect(await settle(v.estimateGas({ ...refund, value: 10n ** 30n }))).toMatchObject({ error: { kind: "Refused" } });
    expect(t.chain.totalWei()).toBe(before);
  });
});

describe("broadcasts", () => {
  test("are accepted, known or rejected, with the hook around each", async () => {
    const v = view();
    const tx = t.signed(t.maker, {});
    await settle(v.watchTx(tx.txid, 0));
    expect(await settle(v.broadcast(tx.raw))).toEqual({ kind: "accepted" });
    expect(broadcasts).toEqual(["before", "after"].map((when) => `ETH ${when} ${toHex(tx.raw)}`));
    expect(await settle(v.broadcast(tx.raw))).toEqual({ kind: "already_known" });
    await t.clock.advance(2_000);
    expect(v.tx(tx.txid)?.block).toBeNull();
    expect(await settle(v.broadcast(t.signed(t.maker, { nonce: 0n, value: 1n }).raw))).toMatchObject({ kind: "rejected" });
    await expect(v.broadcast(t.signed(t.maker, { chainId: CHAIN_ID + 1n }).raw)).rejects.toThrow("for the chain");
    await expect(v.broadcast(tx.raw.subarray(1))).rejects.toThrow("no transaction");
  });

  test.each([
    ["down", "http_500", "unknown", false],
    ["silent after it took it", "lost_reply", "unknown", true],
    ["without an answer", "stall", "unknown", false],
  ] as const)("to nodes that are %s have an unknown outcome", async (_what, kind, outcome, isThere) => {
    const v = view();
    link.fault({ kind });
    const tx = t.signed(t.maker, {});
    expect((await settle(v.broadcast(tx.raw))).kind).toBe(outcome);
    expect(t.chain.find(tx.txid) !== undefined).toBe(isThere);
    link.faults.clear();
    await t.clock.advance(0);
    // What was held back is carried out, whoever still waits for it.
    expect(t.chain.find(tx.txid) !== undefined).toBe(kind !== "http_500");
  });

  test("refused ones are not carried out, and swallowed ones are known to nobody", async () => {
    const v = view();
    link.fault({ kind: "refuse_broadcast", code: -32_003, message: "no" }, { count: 1 });
    const tx = t.signed(t.maker, {});
    expect(await settle(v.broadcast(tx.raw))).toEqual({ kind: "rejected", code: -32_003, message: "no" });
    link.isSwallowing = true;
    expect(await settle(v.broadcast(tx.raw))).toEqual({ kind: "accepted" });
    expect(t.chain.find(tx.txid)).toBeUndefined();
    link.isSwallowing = false;
    expect(await settle(v.broadcast(tx.raw))).toEqual({ kind: "accepted" });
    link.fault({ kind: "refuse_broadcast", code: -32_003, message: "no" });
    expect(await settle(v.broadcast(tx.raw))).toEqual({ kind: "already_known" });
  });

  test("of a process that dies before it are not carried out, after it they are, and neither has an answer", async () => {
    for (const point of ["before", "after"] as const) {
      const life = new Life();
      const v = new SimEvmView({
        chain: t.chain,
        link,
        life,
        clock: life.clock(t.clock, () => 0),
        log: new SilentLog(),
        pollMs: POLL_MS,
        onBroadcast: (_ticker, when) => when === point && life.end(),
      });
      const tx = t.signed(t.maker, {});
      let isAnswered = false;
      void v.broadcast(tx.raw).then(() => {
        isAnswered = true;
      });
      await t.clock.advance(60_000);
      expect([isAnswered, t.chain.find(tx.txid) !== undefined]).toEqual([false, point === "after"]);
    }
  });
});

describe("nodes in trouble", () => {
  test("a watch outlives any time they are down; the view stays as it was, and says so", async () => {
    const v = view();
    await settle(v.watchAccount(t.maker.address));
    link.fault({ kind: "http_500" }, { forMs: 3_600_000 });
    t.send(t.maker, { value: ETHER });
    t.chain.mine();
    let isDone = false;
    const watched = v.watchAccount(t.taker.address).then(() => {
      isDone = true;
    });
    await t.clock.advance(3_000_000);
    expect([isDone, v.status().state, v.account(t.maker.address)?.nonce]).toEqual([false, "unreachable", 0n]);
    expect(v.status().nodes[0]).toMatchObject({ state: "away" });
    await settle(watched, 700_000);
    expect([v.status().state, v.account(t.maker.address)?.nonce, v.account(t.taker.address)?.balance]).toEqual([
      "ready",
      1n,
      t.chain.balance(t.taker.address),
    ]);
    link.fault({ kind: "http_500" });
    expect(await settle(v.tokenDecimals(PLAIN))).toMatchObject({ error: { kind: "Unreachable" } });
  });

  test("a stall ends in trouble after the look's deadline; slow ones are late", async () => {
    const v = view();
    await settle(v.refresh());
    link.fault({ kind: "stall" }, { forMs: 400_000 });
    t.chain.mine();
    await t.clock.advance(200_000);
    expect(v.status().state).toBe("unreachable");
    await t.clock.advance(300_000);
    expect(v.status()).toMatchObject({ state: "ready", tip: { height: t.chain.tip.height } });
    link.fault({ kind: "slow", delayMs: 4_000 }, { forMs: 60_000 });
    const startMs = t.clock.nowMs();
    await settle(v.refresh());
    expect(t.clock.nowMs() - startMs).toBeGreaterThanOrEqual(4_000);
  });

  test("nodes that are stuck show the old chain as if it were the new one, and nothing new", async () => {
    const v = view();
    await settle(v.watchAccount(t.maker.address));
    const { height } = t.chain.tip;
    link.isStuck = true;
    t.did(t.maker, {});
    await settle(v.refresh());
    expect([v.status().state, v.status().tip?.height, v.account(t.maker.address)?.nonce]).toEqual(["ready", height, 0n]);
    const controller = new AbortController();
    const watched = v.watchAccount(t.taker.address, controller.signal);
    const failed = expect(watched).rejects.toThrow("aborted");
    await t.clock.advance(60_000);
    expect(v.status().state).toBe("unreachable");
    controller.abort();
    await failed;
  });

  test("lies of a majority are believed: heights, times, prices", async () => {
    const v = view();
    Object.assign(link.lies, { timeSec: -60, gasPercent: 5_000n });
    link.fault({ kind: "wrong_height", delta: 7 }, { forMs: 60_000 });
    await settle(v.refresh());
    const { tip } = t.chain;
    expect(v.status().tip).toMatchObject({ height: tip.height + 7, timeSec: tip.timeSec - 60, baseFeePerGas: 50n * tip.baseFee });
    expect(v.gasPrices()?.nextBaseFee).toBe(50n * t.chain.nextBaseFee);
    expect(v.confirmations(tip)).toBe(8);
    await t.clock.advance(70_000);
    expect(v.confirmations(tip)).toBe(1);
  });

  test("a process that is dead learns nothing more; the next one has nothing of it until it watches again", async () => {
    const life = new Life();
    const v = view(life);
    await settle(v.watchAccount(t.maker.address));
    life.end();
    t.did(t.maker, {});
    void v.watchAccount(t.taker.address).catch(() => undefined);
    await t.clock.advance(600_000);
    expect([v.account(t.maker.address)?.nonce, v.account(t.taker.address)]).toEqual([0n, undefined]);
    const next = view();
    await settle(next.refresh());
    expect(next.account(t.maker.address)).toBeUndefined();
    await settle(next.watchAccount(t.maker.address));
    expect(next.account(t.maker.address)?.nonce).toBe(1n);
  });
});
