import { afterEach, expect, test, vi } from "vitest";
import { Revert } from "../../sim/world/evm/evmCall.ts";
import { SimEvmView } from "../../sim/world/evm/simEvmView.ts";
import { HOUR_MS } from "../../sim/world/simWorld.ts";
import { EvmSwapCoin } from "../../src/app/coin/evm/evmSwapCoin.ts";
import { checksumAddress } from "../../src/core/evm/address.ts";
import { transferCall } from "../../src/core/evm/erc20.ts";
import { parseEvmTx } from "../../src/core/evm/parseTx.ts";
import { signEvmTx } from "../../src/core/evm/signTx.ts";
import { parseSwapCall } from "../../src/core/evm/swapContract.ts";
import { decimal } from "../../src/core/money/rational.ts";
import type { SwapEvent } from "../../src/core/swap/events.ts";
import { payableCap } from "../../src/core/swap/feeSchedule.ts";
import { swapStatus } from "../../src/core/swap/swapStatus.ts";
import { fromHex } from "../../src/core/util/bytes.ts";
import { err } from "../../src/core/util/result.ts";
import { dexBalance } from "./accountAudit.ts";
import { type AccountWorld, ALL, accountWorld, ETH, match, type Ticker, TOKEN, TOKEN_AT, UTXO } from "./accountTrade.ts";
import { diesAtMark, diesOnceAfter } from "./crashPoint.ts";

const SEED = 20_241_123;
let t: AccountWorld;
afterEach(async () => {
  vi.restoreAllMocks();
  await t.world.close();
});

const isOver = (uuid: string) => (): boolean => t.maker.outcome(uuid) !== null && t.taker.outcome(uuid) !== null;

/** The call of the swap contract that signed bytes make; null: none. */
function callOf(raw: Uint8Array): string | null {
  const parsed = parseEvmTx(raw);
  const call = parsed.ok ? parseSwapCall(parsed.value.tx.data) : null;
  return call?.ok ? call.value.kind : null;
}

test("a maker that claims by a transaction nobody can read shows its secret to the taker all the same", async () => {
  t = await accountWorld({ seed: SEED });
  const honest = SimEvmView.prototype.tx;
  vi.spyOn(SimEvmView.prototype, "tx").mockImplementation(function (this: SimEvmView, txid: string) {
    const seen = honest.call(this, txid);
    const isTaker = this.account(t.taker.account) !== undefined;
    return isTaker && seen && callOf(seen.raw) === "receiverSpend" ? undefined : seen;
  });
  const uuid = await match(t, UTXO, ETH, "4", "0.5");
  await t.world.runUntil("the swap ends for both", isOver(uuid), 2 * HOUR_MS);
  expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["success", "success"]);
});

test("a maker that claims two payments of one taker in one transaction shows both secrets", async () => {
  t = await accountWorld({ seed: SEED });
  const honest = SimEvmView.prototype.payment;
  const spent = new Set<string>();
  vi.spyOn(SimEvmView.prototype, "payment").mockImplementation(function (this: SimEvmView, key) {
    const payment = honest.call(this, key);
    const isTaker = this.account(t.taker.account) !== undefined;
    if (!isTaker || !payment?.spent) return payment;
    spent.add(payment.id);
    return spent.size < 2 ? { ...payment, state: "sent", spent: null } : { ...payment, spent: { ...payment.spent, txid: "ab".repeat(32) } };
  });
  const uuids = [await match(t, UTXO, ETH, "4", "0.5"), await match(t, UTXO, ETH, "3", "0.5")];
  await t.world.runUntil("both are claimed", () => spent.size === 2, 2 * HOUR_MS);
  const knows = (uuid: string): boolean => t.taker.has(uuid, (e) => e.type === "secret_learned");
  await t.world.runUntil("the taker knows both secrets", () => uuids.every(knows), 60_000);
});

test.each(["maker", "taker"] as const)(
  "another wallet of the seed uses the nonce of the %s's payment: the swap ends, and its log with it",
  async (side) => {
    t = await accountWorld({ seed: SEED });
    const node = t[side];
    const slot = side === "maker" ? "makerPayment" : "takerPayment";
    const chain = t.world.accountChain(ETH);
    const uuid = side === "maker" ? await match(t, ETH, UTXO, "4", "0.5") : await match(t, UTXO, ETH, "4", "0.5");
    const isSent = (): boolean => node.has(uuid, (e) => e.type === "tx_seen" && e.slot === slot);
    await t.world.runUntil("the payment is sent", isSent, HOUR_MS);
    const signed = node.events(uuid).find((e) => e.type === "tx_signed" && e.slot === slot);
    const payment = parseEvmTx(fromHex(signed?.type === "tx_signed" ? signed.raw : ""));
    if (!payment.ok) throw new Error("no payment");
    chain.pool.remove(payment.value.txid);
    const { tx } = payment.value;
    if (tx.type !== "eip1559") throw new Error("no EIP-1559");
    chain.send(signEvmTx({ ...tx, to: node.account, value: 0n, data: new Uint8Array(0), gasLimit: 21_000n }, node.key).raw);
    chain.mine();
    await t.world.runUntil("the swap ends", () => node.outcome(uuid) !== null, HOUR_MS);
    expect(node.outcome(uuid)).toBe("cancelled");
    const before = node.events(uuid).length;
    const later = t.world.clock.nowMs() + 600_000;
    await t.world.runUntil("ten minutes pass", () => t.world.clock.nowMs() >= later, HOUR_MS);
    expect(node.events(uuid).length).toBe(before);
    expect(before).toBeLessThan(30);
  },
);

const token = () => t.world.accountChain(ETH).tokens.get(TOKEN_AT) ?? expect.fail("no token");

test.each([
  [UTXO, TOKEN],
  [TOKEN, UTXO],
] as const)("a token whose transfers need more gas than the limits foresee is claimed with enough: %s for %s", async (base, rel) => {
  t = await accountWorld({ seed: SEED });
  token().moreGas = 150_000n;
  const uuid = await match(t, base, rel, "4", "0.5");
  await t.world.runUntil("the swap ends for both", isOver(uuid), 2 * HOUR_MS);
  expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["success", "success"]);
});

/** Swaps a token for script coins. @returns units of it that came to the dex fee's key */
async function feeOfTokenSwap(): Promise<bigint> {
  const uuid = await match(t, UTXO, TOKEN, "4", "0.5");
  await t.world.runUntil("the swap ends for both", isOver(uuid), 2 * HOUR_MS);
  expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["success", "success"]);
  const [first] = t.taker.events(uuid);
  return first?.type === "started" ? dexBalance(t, TOKEN, first.terms.dexFeePubkey ?? "") : 0n;
}

test("a dex fee of a token whose transfers need more gas than the limit foresees has enough", async () => {
  t = await accountWorld({ seed: SEED });
  token().moreGas = 250_000n;
  expect(await feeOfTokenSwap()).toBeGreaterThan(0n);
});

test("a dex fee of a token that stands still is not sent before it moves again", async () => {
  t = await accountWorld({ seed: SEED });
  t.taker.onEvent = (event) => {
    if (event.type !== "negotiated") return;
    token().isPaused = true;
    t.world.clock.after(60_000, () => (token().isPaused = false));
  };
  expect(await feeOfTokenSwap()).toBeGreaterThan(0n);
});

test.each([
  [UTXO, ETH],
  [ETH, UTXO],
  [UTXO, TOKEN],
  [TOKEN, UTXO],
] as const)(
  "a chain that counts what its data costs elsewhere as gas: every transaction has enough, the claim too: %s for %s",
  async (base, rel) => {
    t = await accountWorld({ seed: SEED });
    t.world.accountChain(ETH).dataGas = 300_000n;
    const uuid = await match(t, base, rel, "4", "0.5");
    await t.world.runUntil("the swap ends for both", isOver(uuid), 2 * HOUR_MS);
    expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["success", "success"]);
  },
);

test("data that becomes dearer while a maker's claim is due: the claim has enough for it, and stays here while it costs too much", async () => {
  t = await accountWorld({ seed: SEED });
  const chain = t.world.accountChain(ETH);
  const uuid = await match(t, UTXO, ETH, "4", "0.5");
  const isPaid = (): boolean => t.taker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "takerPayment" && !!e.block);
  await t.world.runUntil("the taker has paid", isPaid, HOUR_MS);
  chain.dataGas = 2_000_000n;
  const later = t.world.clock.nowMs() + HOUR_MS / 4;
  await t.world.runUntil("a quarter of an hour passes", () => t.world.clock.nowMs() >= later, HOUR_MS);
  expect(t.maker.has(uuid, (e) => e.type === "tx_attempted" && e.slot === "takerPaymentSpend")).toBe(false);
  chain.dataGas = 300_000n;
  await t.world.runUntil("the swap ends for both", isOver(uuid), 2 * HOUR_MS);
  expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["success", "success"]);
});

test("while a token is paused the maker keeps its secret, and claims when it moves again", async () => {
  t = await accountWorld({ seed: SEED });
  const uuid = await match(t, UTXO, TOKEN, "4", "0.5");
  await t.world.runUntil(
    "the taker has paid",
    () => t.taker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "takerPayment" && !!e.block),
    HOUR_MS,
  );
  token().isPaused = true;
  const later = t.world.clock.nowMs() + HOUR_MS / 4;
  await t.world.runUntil("a quarter of an hour passes", () => t.world.clock.nowMs() >= later, HOUR_MS);
  expect(t.maker.has(uuid, (e) => e.type === "tx_confirmed" && e.slot === "takerPayment")).toBe(true);
  expect(t.maker.has(uuid, (e) => e.type === "tx_attempted" && e.slot === "takerPaymentSpend")).toBe(false);
  token().isPaused = false;
  await t.world.runUntil("the swap ends for both", isOver(uuid), HOUR_MS);
  expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["success", "success"]);
});

test("nor does it show it at the next start where it died right after the mark of its claim", async () => {
  t = await accountWorld({ seed: SEED });
  const hasDied = diesAtMark(t.maker);
  const uuid = await match(t, UTXO, TOKEN, "4", "0.5");
  await t.world.runUntil("the mark", hasDied, HOUR_MS);
  token().isPaused = true;
  await t.maker.start(ALL);
  const later = t.world.clock.nowMs() + HOUR_MS / 4;
  await t.world.runUntil("a quarter of an hour passes", () => t.world.clock.nowMs() >= later, HOUR_MS);
  const isClaim = (e: SwapEvent): boolean => e.type === "tx_seen" && e.slot === "takerPaymentSpend";
  expect([t.maker.has(uuid, isClaim), t.taker.has(uuid, isClaim)]).toEqual([false, false]);
  token().isPaused = false;
  await t.world.runUntil("the swap ends for both", isOver(uuid), HOUR_MS);
  expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["success", "success"]);
});

test("a taker's claim of a paused token fails once, not once a block, and goes through when it moves again", async () => {
  t = await accountWorld({ seed: SEED });
  const uuid = await match(t, TOKEN, UTXO, "4", "0.5");
  await t.world.runUntil("the taker has paid", () => t.taker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "takerPayment"), HOUR_MS);
  token().isPaused = true;
  const signed = (): number =>
    t.taker.events(uuid).filter((e) => (e.type === "tx_signed" || e.type === "tx_replaced") && e.slot === "makerPaymentSpend").length;
  await t.world.runUntil("the taker claims", () => signed() > 0, HOUR_MS);
  const later = t.world.clock.nowMs() + HOUR_MS / 4;
  await t.world.runUntil("a quarter of an hour passes", () => t.world.clock.nowMs() >= later, HOUR_MS);
  expect(signed()).toBe(1);
  token().isPaused = false;
  await t.world.runUntil("the swap ends for both", isOver(uuid), HOUR_MS);
  expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["success", "success"]);
});

test("a taker's claim that failed is made again in time though its nodes go on saying that it would fail", async () => {
  t = await accountWorld({ seed: SEED });
  const uuid = await match(t, TOKEN, UTXO, "4", "0.5");
  await t.world.runUntil("the taker has paid", () => t.taker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "takerPayment"), HOUR_MS);
  token().isPaused = true;
  const claims = (): number =>
    t.taker.events(uuid).filter((e) => (e.type === "tx_signed" || e.type === "tx_replaced") && e.slot === "makerPaymentSpend").length;
  await t.world.runUntil("the taker claims", () => claims() > 0, HOUR_MS);
  const until = t.world.clock.nowMs() + HOUR_MS;
  await t.world.runUntil("an hour passes", () => t.world.clock.nowMs() >= until, 2 * HOUR_MS);
  const honest = SimEvmView.prototype.estimateGas;
  vi.spyOn(SimEvmView.prototype, "estimateGas").mockImplementation(function (this: SimEvmView, request, signal) {
    const isTransfer = request.to === TOKEN_AT && this.account(t.taker.account) !== undefined;
    return isTransfer
      ? Promise.resolve(err({ kind: "Reverted", data: null, message: "The ETH chain would refuse the transaction: paused." }))
      : honest.call(this, request, signal);
  });
  token().isPaused = false;
  await t.world.runUntil("the taker has claimed", () => t.taker.outcome(uuid) !== null, 12 * HOUR_MS);
  expect([t.taker.outcome(uuid), claims()]).toEqual(["success", 2]);
});

test("what would fail is tried a few times in its window and after it, not once a block", async () => {
  t = await accountWorld({ seed: SEED });
  const uuid = await match(t, TOKEN, UTXO, "4", "0.5");
  await t.world.runUntil("the taker has paid", () => t.taker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "takerPayment"), HOUR_MS);
  token().isPaused = true;
  const until = t.world.clock.nowMs() + 12 * HOUR_MS;
  await t.world.runUntil("twelve hours pass", () => t.world.clock.nowMs() >= until, 13 * HOUR_MS);
  const claims = t.taker.events(uuid).filter((e) => e.type === "tx_replaced" && e.slot === "makerPaymentSpend");
  expect(claims.length).toBeGreaterThan(1);
  expect(claims.length).toBeLessThan(30);
});

/** Code of an own account that takes no coins, as a delegation of EIP-7702 may bring it. */
const REFUSES = {
  run: () => {
    throw new Revert();
  },
};

test("an own account that came to refuse coins after the match: the maker shows no secret, and claims when it takes them again", async () => {
  t = await accountWorld({ seed: SEED });
  const chain = t.world.accountChain(ETH);
  const uuid = await match(t, UTXO, ETH, "4", "0.5");
  await t.world.runUntil(
    "the taker has paid",
    () => t.taker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "takerPayment" && !!e.block),
    HOUR_MS,
  );
  chain.delegate(t.maker.account, REFUSES);
  const later = t.world.clock.nowMs() + HOUR_MS / 4;
  await t.world.runUntil("a quarter of an hour passes", () => t.world.clock.nowMs() >= later, HOUR_MS);
  expect(t.maker.has(uuid, (e) => e.type === "tx_confirmed" && e.slot === "takerPayment")).toBe(true);
  expect(t.maker.has(uuid, (e) => e.type === "tx_signed" && e.slot === "takerPaymentSpend")).toBe(false);
  chain.delegate(t.maker.account, null);
  await t.world.runUntil("the swap ends for both", isOver(uuid), HOUR_MS);
  expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["success", "success"]);
});

test.each([
  ["maker", UTXO, ETH],
  ["maker", ETH, UTXO],
  ["taker", ETH, UTXO],
  ["taker", UTXO, ETH],
] as const)(
  "the account of the %s refuses coins before money moves: it pays nothing, not even the dex fee (%s for %s)",
  async (side, base, rel) => {
    t = await accountWorld({ seed: SEED });
    const uuid = await match(t, base, rel, "4", "0.5");
    t.world.accountChain(ETH).delegate(t[side].account, REFUSES);
    await t.world.runUntil("the swap ends for both", isOver(uuid), 3 * HOUR_MS);
    expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["failed", "failed"]);
    for (const slot of ["fee", "makerPayment", "takerPayment"] as const)
      expect([slot, t[side].has(uuid, (e) => e.type === "tx_signed" && e.slot === slot)]).toEqual([slot, false]);
  },
);

test("an account that refuses coins begins no trade of the platform coin, in either direction, and says why; tokens are no concern of it", async () => {
  t = await accountWorld({ seed: SEED });
  const { maker, world } = t;
  world.accountChain(ETH).delegate(maker.account, REFUSES);
  maker.crash();
  await maker.start(ALL);
  const offer = (base: Ticker, rel: Ticker) =>
    world.settle(maker.node.orders.placeMakerOrder({ base, rel, price: decimal("1"), volume: decimal("1"), cancelPrevious: false }));
  for (const [base, rel] of [
    [ETH, UTXO],
    [UTXO, ETH],
  ] as const)
    expect(await offer(base, rel)).toMatchObject({ ok: false, error: { kind: "Transport", message: expect.stringContaining("EIP-7702") } });
  expect(await offer(UTXO, TOKEN)).toMatchObject({ ok: true });
  world.accountChain(ETH).delegate(maker.account, null);
  expect(await offer(UTXO, ETH)).toMatchObject({ ok: true });
});

test("a maker's token is traded on while its platform coin, which pays for it, is put aside", async () => {
  t = await accountWorld({ seed: SEED });
  expect(await t.world.settle(t.maker.node.coins.disable(ETH, false))).toMatchObject({ ok: true, value: { passivized: true } });
  const uuid = await match(t, UTXO, TOKEN, "4", "0.5");
  await t.world.runUntil("the swap ends for both", isOver(uuid), 2 * HOUR_MS);
  expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["success", "success"]);
});

test("nodes that ask absurd prices from the match on have nobody pay them: the swap is not begun", async () => {
  t = await accountWorld({ seed: SEED });
  const absurd = 20_000n * 10n ** 9n;
  const prices = { legacy: absurd, nextBaseFee: 10n ** 9n, priority: { low: absurd, medium: absurd, high: absurd } };
  vi.spyOn(SimEvmView.prototype, "gasPrices").mockReturnValue(prices);
  const before = t.world.accountChain(ETH).balance(t.taker.account);
  const uuid = await match(t, UTXO, ETH, "4", "0.5");
  await t.world.runUntil("the swap ends for both", isOver(uuid), 2 * HOUR_MS);
  expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["failed", "failed"]);
  expect(t.world.accountChain(ETH).balance(t.taker.account)).toBe(before);
});

test("a payment that the contract calls spent while no node serves logs: the status says what to do, and doing it ends the swap", async () => {
  t = await accountWorld({ seed: SEED });
  t.taker.link(ETH).hasNoLogs = true;
  const uuid = await match(t, UTXO, ETH, "4", "0.5");
  await t.world.runUntil("the maker is done", () => t.maker.outcome(uuid) !== null, HOUR_MS);
  const unseen = (): string | null => t.taker.node.swaps.unseenOf(uuid);
  await t.world.runUntil("the taker says why it waits", () => unseen()?.includes(" spent, ") === true, 60_000);
  expect(unseen()).toMatch(/^the swap contract calls the payment 0x[0-9a-f]{64} spent, and the logs of no ETHX node have .*: add a node/);
  expect(swapStatus(t.taker.swaps.get(uuid) ?? [], unseen()).swapnode).toMatchObject({ danger: unseen() });
  expect(t.taker.log.lines.filter((line) => line.includes("swap_trouble") && line.includes(" spent, ")).length).toBe(1);
  t.taker.link(ETH).hasNoLogs = false;
  await t.world.runUntil("the swap ends for both", isOver(uuid), HOUR_MS);
  expect([t.maker.outcome(uuid), t.taker.outcome(uuid), unseen()]).toEqual(["success", "success", null]);
});

test.each(["tx_attempted", "tx_signed"] as const)(
  "after a restart a token swap's payment (%s) keeps its nonce and what it costs from the moment the platform coin is enabled",
  async (reached) => {
    t = await accountWorld({ seed: SEED });
    const { taker } = t;
    const uuid = await match(t, UTXO, TOKEN, "4", "0.5");
    const isReached = (e: SwapEvent): boolean => e.type === reached && e.slot === "takerPayment";
    taker.onEvent = (event) => {
      if (event.type === "tx_signed" && event.slot === "takerPayment") taker.link(ETH).isSwallowing = true;
    };
    // Its process ends once, before anything that comes after that.
    diesOnceAfter(taker, (event) => isReached(event));
    await t.world.runUntil("the taker dies", () => !taker.isRunning, HOUR_MS);
    const log = await taker.swapStore.log(uuid);
    const signed = log.map(({ event }) => event).find((e) => e.type === "tx_signed" && e.slot === "takerPayment");
    const parsed = parseEvmTx(fromHex(signed?.type === "tx_signed" ? signed.raw : ""));
    if (!parsed.ok) throw new Error("no payment");
    await taker.start([ETH]);
    const coin = taker.node.coins.active(ETH);
    if (!(coin instanceof EvmSwapCoin)) throw new Error("no account coin");
    const { nonces } = coin.coin.account;
    const used = t.world.accountChain(ETH).nonceOf(taker.account);
    expect([used <= parsed.value.tx.nonce, nonces.othersAt(parsed.value.tx.nonce).map(({ txid }) => txid)]).toEqual([
      true,
      [parsed.value.txid],
    ]);
    expect(nonces.next()).toBe(parsed.value.tx.nonce + 1n);
    expect(nonces.outgoing().wei).toBeGreaterThan(0n);
    taker.link(ETH).isSwallowing = false;
    await t.world.settle(taker.enable([UTXO, TOKEN]));
    await t.world.runUntil("the swap ends for both", isOver(uuid), 4 * HOUR_MS);
    expect([t.maker.outcome(uuid), taker.outcome(uuid)]).toEqual(["success", "success"]);
  },
);

const platformCoin = (node: AccountWorld["maker"]): EvmSwapCoin => {
  const coin = node.node.coins.active(ETH);
  return coin instanceof EvmSwapCoin ? coin : expect.fail("no account coin");
};

test.each([
  ["taker", "a refund of a token", UTXO, TOKEN, "takerPayment"],
  ["maker", "a claim of a token", UTXO, TOKEN, "makerPayment"],
  ["taker", "a token's dex fee, approvals, payment and refund", UTXO, TOKEN, "negotiated"],
] as const)(
  "after a restart the platform coin alone keeps what the %s needs for %s, and no more when the token is there",
  async (...of) => {
    const [side, , base, rel, moment] = of;
    t = await accountWorld({ seed: SEED });
    const node = t[side];
    const uuid = await match(t, base, rel, "4", "0.5");
    const isThere = (): boolean =>
      node.has(uuid, (e) => (moment === "negotiated" ? e.type === moment : e.type === "tx_seen" && e.slot === moment));
    await t.world.runUntil("the moment comes", isThere, HOUR_MS);
    const held = (): bigint => platformCoin(node).coin.account.funds.held(null);
    node.crash();
    await node.start([ETH]);
    const alone = held();
    expect(alone).toBeGreaterThan(0n);
    const { signal } = new AbortController();
    const to = checksumAddress(t[side === "maker" ? "taker" : "maker"].account);
    const all = await t.world.settle(platformCoin(node).coin.withdraw({ to, amount: "max", broadcast: true, fee: undefined }, signal));
    expect(all.ok).toBe(true);
    expect(platformCoin(node).coin.balanceUnits() - platformCoin(node).coin.account.nonces.outgoing().wei).toBeGreaterThanOrEqual(alone);
    await t.world.settle(node.enable([TOKEN]));
    expect(held()).toBeLessThanOrEqual((alone * 12n) / 10n);
    expect(node.log.lines.filter((line) => line.includes("swap_funds_not_reserved"))).toEqual([]);
    await t.world.settle(node.enable([UTXO]));
    await t.world.runUntil("the swap ends for both", isOver(uuid), 4 * HOUR_MS);
    expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["success", "success"]);
    expect(held()).toBe(0n);
  },
);

test.each([
  ["taker", UTXO, TOKEN, "negotiated"],
  ["maker", ETH, UTXO, "negotiated"],
  ["maker", UTXO, TOKEN, "makerPayment"],
] as const)(
  "gas that costs ten times as much after a restart: the %s keeps all it has for the swap it promised (%s for %s, %s)",
  async (side, base, rel, moment) => {
    t = await accountWorld({ seed: SEED });
    const node = t[side];
    const coin = (): EvmSwapCoin["coin"] => platformCoin(node).coin;
    const { signal } = new AbortController();
    const to = checksumAddress(t[side === "maker" ? "taker" : "maker"].account);
    const withdraw = (amount: Parameters<EvmSwapCoin["coin"]["withdraw"]>[0]["amount"]) =>
      t.world.settle(coin().withdraw({ to, amount, broadcast: true, fee: undefined }, signal));
    expect((await withdraw(decimal(base === ETH ? "995.8" : "999.8"))).ok).toBe(true);
    await t.world.runUntil("it is gone", () => coin().account.nonces.outgoing().wei === 0n, 60_000);
    const uuid = await match(t, base, rel, "4", "0.5");
    const isThere = (): boolean =>
      node.has(uuid, (e) => (moment === "negotiated" ? e.type === moment : e.type === "tx_seen" && e.slot === moment));
    await t.world.runUntil("the moment comes", isThere, HOUR_MS);
    node.crash();
    t.world.accountChain(ETH).spike(10n, 120_000, true);
    t.world.accountChain(ETH).mine();
    await node.start(ALL);
    const { funds } = coin().account;
    expect([funds.held(null) > 0n, funds.free(null)]).toEqual([true, 0n]);
    expect(await withdraw("max")).toMatchObject({ ok: false });
    await t.world.runUntil("the swap ends for both", isOver(uuid), 4 * HOUR_MS);
    expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["success", "success"]);
    expect(funds.held(null)).toBe(0n);
  },
);

test.each([
  [UTXO, TOKEN, "taker"],
  [TOKEN, UTXO, "maker"],
] as const)(
  "a token that keeps a part of what it moves, under a contract that does not look: nobody pays or tells a secret for %s/%s of the %s",
  async (base, rel, payer) => {
    t = await accountWorld({ seed: SEED });
    const chain = t.world.accountChain(ETH);
    const [contract] = chain.swapContracts;
    if (contract === undefined) throw new Error("no contract");
    chain.trusting.add(contract);
    // What others have there makes up for what is missing.
    chain.payFromFaucet(TOKEN_AT, 0n, transferCall(contract, 10n ** 9n));
    const uuid = await match(t, base, rel, "4", "0.5");
    // Found whole just before.
    token().feePercent = 10n;
    const receiver = payer === "taker" ? t.maker : t.taker;
    const slot = `${payer}Payment` as const;
    await t.world.runUntil("the payment is known", () => receiver.has(uuid, (e) => e.type === "tx_received" && e.slot === slot), HOUR_MS);
    await t.world.runUntil("the reason is told", () => receiver.node.swaps.unseenOf(uuid) !== null, HOUR_MS / 4);
    expect(receiver.node.swaps.unseenOf(uuid)).toMatch(
      /names \d+ units, and the token 0x\w{40} told of \d+ units to the swap contract: it may keep a part/,
    );
    await t.world.runUntil("the swap ends for both", isOver(uuid), 10 * HOUR_MS);
    expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(payer === "taker" ? ["refunded", "refunded"] : ["refunded", "failed"]);
    expect(JSON.stringify(receiver.events(uuid))).toContain("it may keep a part of what it moves");
    expect(receiver.has(uuid, (e) => e.type === "tx_seen" && e.slot === slot)).toBe(false);
  },
);

test("a token that keeps a part of what it moves, at a contract that does not look, is offered by nobody, and the reason is told", async () => {
  t = await accountWorld({ seed: SEED });
  const chain = t.world.accountChain(ETH);
  for (const contract of chain.swapContracts) chain.trusting.add(contract);
  token().feePercent = 10n;
  for (const node of [t.maker, t.taker]) {
    await node.stop();
    await node.start(ALL);
  }
  const sells = { base: TOKEN, rel: UTXO, price: decimal("0.5"), volume: decimal("4") };
  const offered = await t.world.settle(t.maker.node.orders.placeMakerOrder({ ...sells, cancelPrevious: false }));
  const sold = await t.world.settle(t.taker.node.orders.placeTakerOrder({ ...sells, action: "Sell" }));
  const bought = await t.world.settle(
    t.taker.node.orders.placeTakerOrder({ ...sells, base: UTXO, rel: TOKEN, action: "Buy", price: decimal("2") }),
  );
  for (const placed of [offered, sold, bought])
    expect(placed).toMatchObject({
      ok: false,
      error: { message: expect.stringMatching(/keeps a part of what it moves.* cannot be swapped/) },
    });
});

test("a token that moves little at a time is traded in little amounts; more is refused before anything is paid", async () => {
  t = await accountWorld({ seed: SEED });
  token().mostAtOnce = 40_000_000n;
  for (const node of [t.maker, t.taker]) {
    await node.stop();
    await node.start(ALL);
  }
  const sells = { base: TOKEN, rel: UTXO, price: decimal("0.5"), volume: decimal("400") };
  const offer = (volume: string) =>
    t.world.settle(t.maker.node.orders.placeMakerOrder({ ...sells, volume: decimal(volume), cancelPrevious: false }));
  const sold = await t.world.settle(t.taker.node.orders.placeTakerOrder({ ...sells, action: "Sell" }));
  for (const placed of [await offer("400"), sold])
    expect(placed).toMatchObject({
      ok: false,
      error: { kind: "Transport", message: expect.stringMatching(/was not found to move 400000000 at once/) },
    });
  const uuid = await match(t, TOKEN, UTXO, "4", "0.5");
  await t.world.runUntil("the swap ends for both", isOver(uuid), 2 * HOUR_MS);
  expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["success", "success"]);
});

test("a token that moves little at a time since an order was placed: the maker holds nothing for more, and matches nobody", async () => {
  t = await accountWorld({ seed: SEED });
  const order = { base: TOKEN, rel: UTXO, price: decimal("0.5"), volume: decimal("400") };
  const offered = await t.world.settle(t.maker.node.orders.placeMakerOrder({ ...order, cancelPrevious: false }));
  expect(offered.ok).toBe(true);
  token().mostAtOnce = 40_000_000n;
  const sees = (): boolean => t.maker.node.coins.active(TOKEN)?.unmovable?.(decimal("400")) != null;
  await t.world.runUntil("the maker has found it out", sees, HOUR_MS / 4);
  const placed = await t.world.settle(t.taker.node.orders.placeTakerOrder({ ...order, action: "Buy" }));
  await t.world.advance(120_000);
  expect(placed.ok && t.maker.swaps.has(placed.value.uuid)).toBe(false);
});

test("a token that begins to keep a part while its order is open: the maker matches nobody", async () => {
  t = await accountWorld({ seed: SEED });
  const chain = t.world.accountChain(ETH);
  for (const contract of chain.swapContracts) chain.trusting.add(contract);
  const order = { base: TOKEN, rel: UTXO, price: decimal("0.5"), volume: decimal("4") };
  const offered = await t.world.settle(t.maker.node.orders.placeMakerOrder({ ...order, cancelPrevious: false }));
  expect(offered.ok).toBe(true);
  token().feePercent = 10n;
  const sees = (): boolean => t.maker.node.coins.active(TOKEN)?.outage() != null;
  await t.world.runUntil("the maker has found it out", sees, HOUR_MS / 4);
  const placed = await t.world.settle(t.taker.node.orders.placeTakerOrder({ ...order, action: "Buy" }));
  await t.world.advance(120_000);
  expect(placed.ok && t.maker.swaps.has(placed.value.uuid)).toBe(false);
});

test.each([true, false])(
  "nodes that know no state overrides: a token is offered only with a contract that looks itself: %s",
  async (looks) => {
    t = await accountWorld({ seed: SEED });
    const chain = t.world.accountChain(ETH);
    if (!looks) for (const contract of chain.swapContracts) chain.trusting.add(contract);
    await t.maker.stop();
    t.maker.link(ETH).hasNoOverrides = true;
    await t.maker.start(ALL);
    const order = { base: TOKEN, rel: UTXO, price: decimal("0.5"), volume: decimal("4") };
    const offered = await t.world.settle(t.maker.node.orders.placeMakerOrder({ ...order, cancelPrevious: false }));
    expect(offered.ok).toBe(looks);
    if (!offered.ok)
      expect(offered.error).toMatchObject({ message: expect.stringContaining("The simulated nodes know no state overrides") });
  },
);

/** The nodes of `side` say that their pools have three transactions more of its account, while `isLying`. */
function inventPending(side: "maker" | "taker", isLying: () => boolean): void {
  const honest = SimEvmView.prototype.account;
  vi.spyOn(SimEvmView.prototype, "account").mockImplementation(function (this: SimEvmView, address) {
    const state = honest.call(this, address);
    return state && address === t[side].account && isLying() ? { ...state, pendingNonce: state.pendingNonce + 3n } : state;
  });
}

test("nodes that invent transactions of the account: nothing is signed behind them, and the swap goes on when they stop", async () => {
  t = await accountWorld({ seed: SEED });
  let isLying = true;
  inventPending("taker", () => isLying);
  const uuid = await match(t, UTXO, ETH, "4", "0.5");
  const later = t.world.clock.nowMs() + 300_000;
  await t.world.runUntil("five minutes pass", () => t.world.clock.nowMs() >= later, HOUR_MS);
  expect(t.taker.has(uuid, (e) => e.type === "negotiated")).toBe(true);
  expect(t.taker.has(uuid, (e) => e.type === "tx_signed")).toBe(false);
  expect(t.taker.log.lines.some((line) => line.includes("which nothing here sent"))).toBe(true);
  isLying = false;
  await t.world.runUntil("the swap ends for both", isOver(uuid), 2 * HOUR_MS);
  expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["success", "success"]);
});

test("nodes that invent them for ever: a claim that shows nothing new gets into a block all the same", async () => {
  t = await accountWorld({ seed: SEED });
  let isLying = false;
  inventPending("taker", () => isLying);
  const uuid = await match(t, ETH, UTXO, "4", "0.5");
  t.taker.onEvent = (event) => {
    if (event.type === "secret_learned") isLying = true;
  };
  await t.world.runUntil("the swap ends for both", isOver(uuid), 2 * HOUR_MS);
  expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["success", "success"]);
  expect(t.taker.log.lines.filter((line) => line.includes("nonces_not_believed")).length).toBe(1);
});

test("the status of a swap of account coins names the coin each fee is paid in, contracts and transactions as KDF writes them, and nothing of outputs", async () => {
  t = await accountWorld({ seed: SEED });
  const uuid = await match(t, ETH, TOKEN, "0.4", "2");
  await t.world.runUntil("the swap ends for both", isOver(uuid), 2 * HOUR_MS);
  const contract = t.world.accountChain(ETH).swapContracts[0];
  for (const node of [t.maker, t.taker]) {
    const status = swapStatus(node.swaps.get(uuid) ?? []);
    const [started, negotiated] = status.events as readonly {
      readonly event: { readonly data: Record<string, { readonly coin?: string }> };
    }[];
    const { data } = started?.event ?? expect.fail("no start");
    expect(
      Object.entries(data)
        .filter(([key]) => /fee$/.test(key))
        .map(([, figure]) => figure.coin),
    ).toEqual(node === t.maker ? [ETH, ETH] : [ETH, ETH, ETH]);
    expect([data.maker_coin_swap_contract_address, data.taker_coin_swap_contract_address]).toEqual([contract, contract]);
    expect(negotiated?.event.data).toMatchObject({ maker_coin_swap_contract_addr: contract, taker_coin_swap_contract_addr: contract });
    expect(status.swapnode).toMatchObject({ fees: [{ coin: ETH, fee: expect.stringMatching(/^\d{15,}$/) }] });
    const shown = JSON.stringify(status);
    expect(shown).not.toMatch(/UTXO|output|satoshi|script/i);
    expect(shown.match(/"tx_hash":"(?![0-9a-f]{64}")/g)).toBeNull();
  }
});

test("what a claim may cost is half of what it brings, or fifty times its gas at the start where that is more, but no more than it brings, and never a whole coin", async () => {
  t = await accountWorld({ seed: SEED });
  const coin = platformCoin(t.maker);
  const token = t.maker.node.coins.active(TOKEN);
  if (!(token instanceof EvmSwapCoin)) throw new Error("no token");
  const price = coin.spendRates().rate.perKb / 1_000n;
  const capOf = (of: EvmSwapCoin, units: bigint): bigint => {
    const { rate, floorPerKb, relayPerKb, mostPerTx } = of.spendRates();
    const window = { since: 0, deadline: 1, now: 1, blocksMissed: 0, stake: "race" } as const;
    return payableCap({
      value: of.feeValue(units) ?? units,
      size: of.spendSize("claim"),
      rate,
      floorPerKb,
      relayPerKb,
      mostPerTx,
      ...window,
    });
  };
  const [native, ofToken] = [50n * 100_000n * price, 50n * 150_000n * price];
  // Of what is worth less than ten claims cost, these.
  expect([capOf(coin, 1n), capOf(coin, native / 5n), capOf(coin, native / 2n), capOf(coin, native)]).toEqual([
    native / 5n,
    native / 5n,
    native / 2n,
    native,
  ]);
  expect([capOf(coin, 2n * native), capOf(coin, 10n ** 18n), capOf(coin, 10n ** 30n)]).toEqual([native, 10n ** 18n / 2n, 10n ** 18n]);
  expect([capOf(token, 1n), capOf(token, 10n ** 30n)]).toEqual([ofToken, ofToken]);
});
