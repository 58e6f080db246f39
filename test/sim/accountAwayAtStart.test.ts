import { afterEach, expect, test, vi } from "vitest";
import type { SimNode } from "../../sim/world/simNode.ts";
import { HOUR_MS } from "../../sim/world/simWorld.ts";
import { SwapTask } from "../../src/app/swap/swapTask.ts";
import { checksumAddress } from "../../src/core/evm/address.ts";
import { cmp, decimal, type Rational, ZERO } from "../../src/core/money/rational.ts";
import type { Slot, SwapEvent } from "../../src/core/swap/events.ts";
import { type Books, books } from "./accountAudit.ts";
import { onSend } from "./accountMeddling.ts";
import { ended } from "./accountRun.ts";
import { type AccountWorld, accountWorld, ETH, match, type Ticker, TOKEN, USDT, UTXO } from "./accountTrade.ts";
import { diesAtMark, diesOnceAfter } from "./crashPoint.ts";

// A node starts while the nodes of an account chain are away, or too few to agree: its swaps must not wait for them on their other coin.

const SEED = 20_261_127;
const TIMEOUT_MS = 120_000;

let t: AccountWorld;
let before: Books;
afterEach(() => t.world.close());

const until = (node: SimNode, uuid: string, type: SwapEvent["type"], slot: Slot, limitMs = HOUR_MS): Promise<void> =>
  t.world.runUntil(`${type} ${slot}`, () => node.has(uuid, (e) => e.type === type && "slot" in e && e.slot === slot), limitMs);

/** The process starts again and finds no nodes of the account chain, for so long. `isOneLeft`: one of them answers, and is not enough. */
async function startWithout(node: SimNode, tickers: readonly Ticker[], forMs: number, isOneLeft = false): Promise<void> {
  const link = node.link(ETH);
  link.isOneLeft = isOneLeft;
  link.fault({ kind: "http_500" }, { forMs });
  await node.start([UTXO]);
  for (const ticker of tickers) await expect(t.world.settle(node.enable([ticker]))).rejects.toThrow("DaemonFailed");
  for (const ticker of tickers)
    expect([node.node.coins.active(ticker), node.node.coins.running(ticker)?.ticker]).toEqual([undefined, ticker]);
}

/** The same where they show its account and answer no question. */
async function startUnanswered(node: SimNode, ticker: Ticker, forMs: number): Promise<void> {
  node.link(ETH).faults.add({ kind: "http_500", methods: ["eth_call"], count: null, forMs });
  await node.start([UTXO]);
  await expect(t.world.settle(node.enable([ticker]))).rejects.toThrow("DaemonFailed");
  expect([node.node.coins.active(ticker), node.node.coins.running(ticker)?.ticker]).toEqual([undefined, ticker]);
}

async function back(node: SimNode, tickers: readonly Ticker[]): Promise<void> {
  node.link(ETH).isOneLeft = false;
  for (const ticker of tickers) await t.world.settle(node.enable([ticker]));
  for (const ticker of tickers) expect(node.node.coins.active(ticker)?.ticker).toBe(ticker);
}

test.each([
  ["platform coin", ETH, [ETH]],
  ["token", TOKEN, [TOKEN]],
  ["token, after its platform coin", TOKEN, [ETH, TOKEN]],
] as const)(
  "a taker that gave an account coin (%s) has the secret from the one node that is left, and claims",
  async (_what, rel, tickers) => {
    t = await accountWorld({ seed: SEED, pollMs: 5_000 });
    before = books(t);
    const uuid = await match(t, UTXO, rel, "4", "0.5");
    let claimed = false;
    onSend(t.maker, "claim", () => {
      claimed = true;
    });
    await t.world.runUntil("the maker claims", () => claimed, HOUR_MS);
    t.taker.crash();
    await startWithout(t.taker, tickers, 12 * HOUR_MS, true);
    await until(t.taker, uuid, "tx_confirmed", "makerPaymentSpend");
    t.taker.link(ETH).faults.clear();
    await back(t.taker, tickers);
    expect(await ended(t, uuid, before, 4_000_000n)).toBe("success success");
  },
  TIMEOUT_MS,
);

test.each([ETH, TOKEN] as const)(
  "a taker takes its payment back, though the nodes of the coin it was to get (%s) are away from its start on",
  async (base) => {
    t = await accountWorld({ seed: SEED, pollMs: 5_000 });
    before = books(t);
    const uuid = await match(t, base, UTXO, "4", "0.5");
    await until(t.taker, uuid, "tx_attempted", "takerPayment");
    t.maker.crash();
    t.taker.crash();
    await startWithout(t.taker, [base], 12 * HOUR_MS);
    await until(t.taker, uuid, "tx_confirmed", "takerPaymentRefund", 6 * HOUR_MS);
  },
  TIMEOUT_MS,
);

test.each([ETH, TOKEN] as const)(
  "a maker that has shown its secret goes on with its claim, though the nodes of the coin it gave (%s) are away from its start on",
  async (base) => {
    t = await accountWorld({ seed: SEED, pollMs: 5_000 });
    before = books(t);
    const uuid = await match(t, base, UTXO, "4", "0.5");
    await until(t.maker, uuid, "tx_confirmed", "takerPayment");
    for (const { chain } of t.world.chains.values()) chain.autoMine(null);
    await until(t.maker, uuid, "tx_attempted", "takerPaymentSpend");
    t.maker.crash();
    await startWithout(t.maker, [base], 2 * HOUR_MS);
    for (const { chain } of t.world.chains.values()) chain.autoMine(60_000);
    await until(t.maker, uuid, "tx_confirmed", "takerPaymentSpend");
    t.maker.link(ETH).faults.clear();
    await back(t.maker, [base]);
    expect(await ended(t, uuid, before, 4_000_000n)).toBe("success success");
  },
  TIMEOUT_MS,
);

test.each([ETH, TOKEN] as const)(
  "a claim of %s that was signed before a start goes out through the one node that is left",
  async (base) => {
    t = await accountWorld({ seed: SEED, pollMs: 5_000 });
    before = books(t);
    const uuid = await match(t, base, UTXO, "4", "0.5");
    let claim: string | null = null;
    onSend(t.taker, "claim", ({ txid }) => {
      claim = txid;
      t.taker.crash();
    });
    await t.world.runUntil("the taker is about to claim", () => claim !== null, HOUR_MS);
    await startWithout(t.taker, [base], 12 * HOUR_MS, true);
    const isMined = (): boolean => claim !== null && t.world.accountChain(ETH).find(claim)?.block != null;
    await t.world.runUntil("the claim is in a block", isMined, HOUR_MS / 4);
    t.taker.link(ETH).faults.clear();
    await back(t.taker, [base]);
    expect(await ended(t, uuid, before, 4_000_000n)).toBe("success success");
  },
  TIMEOUT_MS,
);

test.each([ETH, TOKEN] as const)(
  "a maker's claim of %s that was signed before a start and never left is given up at its limit though its nodes are away from the start on",
  async (rel) => {
    t = await accountWorld({ seed: SEED, pollMs: 5_000 });
    before = books(t);
    const uuid = await match(t, UTXO, rel, "4", "0.5");
    const hasDied = diesOnceAfter(t.maker, (event) => event.type === "tx_signed" && event.slot === "takerPaymentSpend");
    await t.world.runUntil("the claim is signed", hasDied, HOUR_MS);
    await startWithout(t.maker, [rel], 3 * HOUR_MS);
    await t.world.runUntil("it takes its payment back", () => t.maker.has(uuid, (e) => e.type === "refund_decided"), 2 * HOUR_MS);
    expect(await ended(t, uuid, before, 4_000_000n)).toBe("refunded refunded");
  },
  TIMEOUT_MS,
);

test.each([
  [ETH, "goes out through the one node that is left", "away"],
  [TOKEN, "goes out through the one node that is left", "away"],
  [ETH, "is sent though its nodes, which are there, leave open whether it would be paid,", "open"],
  [TOKEN, "is sent though its nodes, which are there, leave open whether it would be paid,", "open"],
] as const)(
  "a maker's claim of %s that was marked before a start %s once its limit is over: the taker may have it",
  async (rel, _what, nodes) => {
    t = await accountWorld({ seed: SEED, pollMs: 5_000 });
    before = books(t);
    const uuid = await match(t, UTXO, rel, "4", "0.5");
    await t.world.runUntil("the mark", diesAtMark(t.maker), HOUR_MS);
    if (nodes === "away") await startWithout(t.maker, [rel], 12 * HOUR_MS, true);
    else await startUnanswered(t.maker, rel, 12 * HOUR_MS);
    const versions = () =>
      t.maker.events(uuid).flatMap((e) => ("txid" in e && "slot" in e && e.slot === "takerPaymentSpend" ? [e.txid] : []));
    const hasLeft = (): boolean => versions().some((txid) => t.world.accountChain(ETH).find(txid) !== undefined);
    await t.world.advance(HOUR_MS);
    expect(hasLeft()).toBe(false);
    await t.world.runUntil("the claim is out", hasLeft, HOUR_MS);
    t.maker.link(ETH).faults.clear();
    await back(t.maker, [rel]);
    expect(await ended(t, uuid, before, 4_000_000n)).toBe("success success");
  },
  TIMEOUT_MS,
);

test(
  "a swap goes on with a coin that was kept for it as soon as its nodes are back, though nobody enables it again; refused requests change nothing",
  async () => {
    t = await accountWorld({ seed: SEED, pollMs: 5_000 });
    before = books(t);
    const uuid = await match(t, UTXO, ETH, "4", "0.5");
    await until(t.taker, uuid, "tx_confirmed", "takerPayment");
    t.taker.crash();
    await startWithout(t.taker, [ETH], 10 * 60_000);
    const kept = t.taker.node.coins.running(ETH);
    for (let i = 0; i < 3; i++) await expect(t.world.settle(t.taker.enable([ETH]))).rejects.toThrow("DaemonFailed");
    expect(t.taker.node.coins.running(ETH)).toBe(kept);
    expect(await ended(t, uuid, before, 4_000_000n)).toBe("success success");
    expect(t.taker.node.coins.running(ETH)).toBe(kept);
    await back(t.taker, [ETH]);
    expect(t.taker.node.coins.running(ETH)).not.toBe(kept);
  },
  TIMEOUT_MS,
);

test("tokens that swaps wait for stay beside their platform coin, which was kept for them, and come back with it", async () => {
  t = await accountWorld({ seed: SEED, pollMs: 5_000 });
  before = books(t);
  const uuid = await match(t, UTXO, TOKEN, "4", "0.5");
  await until(t.taker, uuid, "tx_confirmed", "takerPayment");
  t.taker.crash();
  await startWithout(t.taker, [ETH], 60_000);
  const { coins } = t.taker.node;
  const tokens = [TOKEN, USDT].map((ticker) => ({ ticker, requiredConfirmations: undefined }));
  const enable = () => t.world.settle(coins.enableTokens(ETH, tokens, new AbortController().signal));
  expect(await enable()).toEqual({ ok: false, error: { kind: "PlatformCoinIsNotActivated", platform: ETH } });
  expect([TOKEN, USDT].map((ticker) => coins.running(ticker)?.ticker)).toEqual([TOKEN, undefined]);
  await t.world.advance(61_000);
  await back(t.taker, [ETH]);
  expect((await enable()).ok).toBe(true);
  expect(coins.all().map(({ ticker }) => ticker)).toEqual([UTXO, ETH, USDT, TOKEN]);
  expect(await ended(t, uuid, before, 4_000_000n)).toBe("success success");
});

test(
  "a swap goes on with a coin whose nodes show its account and answer no question at a start",
  async () => {
    t = await accountWorld({ seed: SEED, pollMs: 5_000 });
    before = books(t);
    const uuid = await match(t, UTXO, TOKEN, "4", "0.5");
    await until(t.taker, uuid, "tx_confirmed", "takerPayment");
    t.taker.crash();
    t.taker.link(ETH).faults.add({ kind: "http_500", methods: ["eth_call"], count: null, forMs: 60_000 });
    await t.taker.start([UTXO]);
    for (const ticker of [ETH, TOKEN]) await expect(t.world.settle(t.taker.enable([ticker]))).rejects.toThrow("DaemonFailed");
    expect([t.taker.node.coins.active(TOKEN), t.taker.node.coins.running(TOKEN)?.ticker]).toEqual([undefined, TOKEN]);
    await t.world.advance(61_000);
    await back(t.taker, [ETH, TOKEN]);
    expect(await ended(t, uuid, before, 4_000_000n)).toBe("success success");
  },
  TIMEOUT_MS,
);

test("what a swap still has to pay of a coin that was kept for it is held again once that is there", async () => {
  t = await accountWorld({ seed: SEED, pollMs: 5_000 });
  before = books(t);
  const uuid = await match(t, UTXO, TOKEN, "4", "0.5");
  await t.world.runUntil("both agreed", () => t.taker.has(uuid, (e) => e.type === "negotiated"), HOUR_MS);
  t.taker.crash();
  await startWithout(t.taker, [ETH, TOKEN], 60_000);
  await t.world.advance(61_000);
  await back(t.taker, [ETH, TOKEN]);
  const token = t.taker.node.coins.active(TOKEN);
  expect(token?.locked().n).toBeGreaterThan(0n);
  expect(await ended(t, uuid, before, 4_000_000n)).toBe("success success");
});

test.each(["alone", "beside"] as const)(
  "a token that is enabled (%s) is kept where the nodes go away behind its platform coin, and its swaps go on",
  async (how) => {
    t = await accountWorld({ seed: SEED, pollMs: 5_000 });
    before = books(t);
    const uuid = await match(t, TOKEN, UTXO, "4", "0.5");
    await until(t.taker, uuid, "tx_attempted", "takerPayment");
    t.maker.crash();
    t.taker.crash();
    await t.taker.start([UTXO, ETH]);
    const { coins } = t.taker.node;
    t.taker.link(ETH).fault({ kind: "http_500" }, { forMs: 12 * HOUR_MS });
    const tokens = [{ ticker: TOKEN, requiredConfirmations: undefined }];
    if (how === "alone") await expect(t.world.settle(t.taker.enable([TOKEN]))).rejects.toThrow("DaemonFailed");
    else expect(await t.world.settle(coins.enableTokens(ETH, tokens, new AbortController().signal))).toMatchObject({ ok: false });
    expect([coins.active(TOKEN), coins.running(TOKEN)?.ticker, coins.active(ETH)?.ticker]).toEqual([undefined, TOKEN, ETH]);
    await until(t.taker, uuid, "tx_confirmed", "takerPaymentRefund", 6 * HOUR_MS);
    t.taker.link(ETH).faults.clear();
    await back(t.taker, [TOKEN]);
    await t.maker.start([UTXO, ETH, TOKEN]);
    expect(await ended(t, uuid, before, 4_000_000n)).toBe("refunded refunded");
  },
  TIMEOUT_MS,
);

test("a token is kept beside its platform coin though nodes that are back have told prices and not the token's balance yet", async () => {
  t = await accountWorld({ seed: SEED, pollMs: 5_000 });
  before = books(t);
  const uuid = await match(t, UTXO, TOKEN, "4", "0.5");
  await t.world.runUntil("both agreed", () => t.taker.has(uuid, (e) => e.type === "negotiated"), HOUR_MS);
  t.taker.crash();
  await startWithout(t.taker, [ETH], 60_000);
  await t.world.advance(61_000);
  const { coins } = t.taker.node;
  const tokens = [{ ticker: TOKEN, requiredConfirmations: undefined }];
  const enabled = await t.world.settle(coins.enableTokens(ETH, tokens, new AbortController().signal));
  expect(enabled).toEqual({ ok: false, error: { kind: "PlatformCoinIsNotActivated", platform: ETH } });
  expect(coins.running(TOKEN)?.ticker).toBe(TOKEN);
  await back(t.taker, [ETH, TOKEN]);
  expect(await ended(t, uuid, before, 4_000_000n)).toBe("success success");
});

test("what a swap has held of its coins when one that was kept for it comes back is held once, and goes on with it", async () => {
  t = await accountWorld({ seed: SEED, pollMs: 5_000 });
  before = books(t);
  const uuid = await match(t, UTXO, TOKEN, "4", "0.5");
  await t.world.runUntil("agreed", () => t.maker.has(uuid, (e) => e.type === "negotiated"), HOUR_MS);
  t.maker.crash();
  await startWithout(t.maker, [ETH], 60_000);
  await t.world.advance(61_000);
  const { coins } = t.maker.node;
  const tokens = [{ ticker: TOKEN, requiredConfirmations: undefined }];
  await t.world.settle(coins.enableTokens(ETH, tokens, new AbortController().signal));
  const locked = (): readonly (Rational | undefined)[] => [UTXO, ETH].map((ticker) => coins.running(ticker)?.locked());
  const [payment = ZERO, gas = ZERO] = locked();
  expect([cmp(payment, decimal("4")), cmp(gas, ZERO)]).toEqual([1, 1]);
  for (const ticker of [ETH, TOKEN] as const) {
    await back(t.maker, [ticker]);
    const [paymentNow = ZERO, gasNow = ZERO] = locked();
    expect([cmp(paymentNow, payment), cmp(gasNow, ZERO), cmp(gasNow, gas) > 0]).toEqual([0, 1, false]);
  }
  expect(await ended(t, uuid, before, 4_000_000n)).toBe("success success");
});

test("a withdrawal that no pool has is sent again once the nodes of a coin that was kept are back: its swaps do not wait behind it for ever", async () => {
  t = await accountWorld({ seed: SEED, pollMs: 5_000 });
  before = books(t);
  const link = t.maker.link(ETH);
  link.isSwallowing = true;
  const wallet = t.maker.node.coins.wallet(ETH);
  if (wallet?.family !== "account") throw new Error("no account");
  const to = checksumAddress(t.maker.account);
  const request = { to, amount: decimal("1"), fee: undefined, broadcast: true };
  const sent = await t.world.settle(wallet.withdraw(request, new AbortController().signal));
  expect(sent.ok).toBe(true);
  const uuid = await match(t, ETH, UTXO, "4", "0.5");
  await t.world.runUntil("agreed", () => t.maker.has(uuid, (e) => e.type === "negotiated"), HOUR_MS);
  t.maker.crash();
  link.isSwallowing = false;
  await startWithout(t.maker, [ETH], 60_000);
  await t.world.advance(61_000);
  expect(await ended(t, uuid, before)).toBe("success success");
});

test("a swap counts as one that needs its coins while one of them is replaced: the other is not closed under it", async () => {
  t = await accountWorld({ seed: SEED, pollMs: 5_000 });
  before = books(t);
  const uuid = await match(t, UTXO, ETH, "4", "0.5");
  await until(t.taker, uuid, "tx_confirmed", "takerPayment");
  t.taker.crash();
  await startWithout(t.taker, [ETH], 60_000);
  await t.world.advance(61_000);
  const { coins } = t.taker.node;
  const stop = SwapTask.prototype.stop;
  let disabled: ReturnType<typeof coins.disable> | null = null;
  // A disk that is slow: what the swap stores last is waited for.
  vi.spyOn(SwapTask.prototype, "stop").mockImplementation(async function (this: SwapTask) {
    disabled ??= coins.disable(UTXO, false);
    await disabled;
    await stop.call(this);
  });
  await back(t.taker, [ETH]);
  vi.restoreAllMocks();
  expect(await disabled).toMatchObject({ ok: false, error: { kind: "CoinInUse", activeSwaps: [uuid] } });
  expect(await ended(t, uuid, before)).toBe("success success");
});

test("a coin whose nodes are away at a start, and that no swap needs, is closed", async () => {
  t = await accountWorld({ seed: SEED });
  t.taker.crash();
  t.taker.link(ETH).fault({ kind: "http_500" }, { forMs: HOUR_MS });
  await t.taker.start([UTXO]);
  await expect(t.world.settle(t.taker.enable([ETH]))).rejects.toThrow("DaemonFailed");
  expect(t.taker.node.coins.running(ETH)).toBeUndefined();
});
