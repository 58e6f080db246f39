import { afterEach, expect, test, vi } from "vitest";
import { SimEvmView } from "../../sim/world/evm/simEvmView.ts";
import type { SimNode } from "../../sim/world/simNode.ts";
import { HOUR_MS } from "../../sim/world/simWorld.ts";
import { EvmSwapCoin } from "../../src/app/coin/evm/evmSwapCoin.ts";
import { CALL_SAMPLE, SAMPLE_BYTES } from "../../src/core/evm/dataCost.ts";
import { signEvmTx } from "../../src/core/evm/signTx.ts";
import { decimal } from "../../src/core/money/rational.ts";
import type { SwapEvent } from "../../src/core/swap/events.ts";
import { ok } from "../../src/core/util/result.ts";
import { books } from "./accountAudit.ts";
import { onSend, refuse } from "./accountMeddling.ts";
import { audit, runSwap } from "./accountRun.ts";
import { type AccountWorld, accountWorld, ETH, match, type Ticker, TOKEN, TOKEN_AT, UTXO } from "./accountTrade.ts";

/** Swaps on a chain that takes a fee for the data of each transaction beside its gas, as those of the OP stack do. */
const SEED = 20_261_123;
/** About as much for a transaction as its gas costs. */
const PER_BYTE = 3n * 10n ** 12n;
/** A dex fee that is no whole number of wei is checked exactly, and held to the next one. */
const ROUNDED = 1n;
let t: AccountWorld;
afterEach(async () => {
  vi.restoreAllMocks();
  await t.world.close();
});

const isOver = (uuid: string) => (): boolean => t.maker.outcome(uuid) !== null && t.taker.outcome(uuid) !== null;
const chain = () => t.world.accountChain(ETH);

const token = () => chain().tokens.get(TOKEN_AT) ?? expect.fail("no token");
const failedClaims = (uuid: string): number =>
  t.taker.events(uuid).filter((e) => e.type === "tx_signed" && e.slot === "makerPaymentSpend" && platform(t.taker).chain.tx(e.txid)?.failed)
    .length;

/** A world with the fee, and gas for data, from before the nodes' first look on. */
async function feeWorld(perByte = PER_BYTE, gas = 0n): Promise<void> {
  t = await accountWorld({ seed: SEED });
  for (const node of [t.maker, t.taker]) await node.stop();
  chain().dataFeePerByte = perByte;
  chain().dataGas = gas;
  for (const node of [t.maker, t.taker]) await node.start([UTXO, ETH, TOKEN]);
  await t.world.runUntil("both have a relay", () => [t.maker, t.taker].every((n) => n.p2p.relays().length > 0));
}

const platform = (node: SimNode): EvmSwapCoin => {
  const coin = node.node.coins.active(ETH);
  return coin instanceof EvmSwapCoin ? coin : expect.fail("no account coin");
};
const freeOf = (node: SimNode): bigint => platform(node).coin.freeUnits();

/** Another wallet of the same key sends away all but `left` of what the node has of the platform coin. */
async function drain(node: SimNode, left: bigint): Promise<void> {
  const [gasLimit, gasPrice, at] = [21_000n + chain().dataGas, 100n * 10n ** 9n, node.account];
  const of = (value: bigint) =>
    signEvmTx(
      {
        ...{ type: "legacy", chainId: chain().chainId, nonce: chain().nonceOf(at), gasLimit, gasPrice },
        ...{ to: chain().faucetAddress, value, data: new Uint8Array(0) },
      },
      node.key,
    );
  // A value of other bytes makes a transaction of another length, which costs another fee.
  const fee = (raw: Uint8Array): bigint => gasLimit * gasPrice + chain().dataFee(raw.length);
  let signed = of(0n);
  for (let i = 0; i < 5; i++) signed = of(chain().balance(at) - left - fee(signed.raw));
  expect(chain().send(signed.raw)).toEqual({ kind: "taken" });
  chain().mine();
  expect(chain().balance(at)).toBe(left);
  await t.world.runUntil("it is seen", () => platform(node).coin.balanceUnits() === left, 60_000);
}

/** What a side is promised at the match of this trade: wei of the platform coin, payments of it included. */
async function promised(side: "maker" | "taker", base: Ticker, rel: Ticker): Promise<bigint> {
  await match(t, base, rel, "4", "0.5");
  return chain().balance(t[side].account) - freeOf(t[side]);
}

/** From this moment on nodes say that the data of a transaction costs so much. */
const tell = (wei: bigint) => vi.spyOn(SimEvmView.prototype, "dataCost").mockReturnValue({ gas: 21_000n, wei });

test.each([
  [UTXO, ETH],
  [ETH, UTXO],
  [UTXO, TOKEN],
  [TOKEN, UTXO],
  [ETH, TOKEN],
] as const)("a swap of %s for %s ends well, and every wei is accounted for", async (base, rel) => {
  await feeWorld();
  expect(await runSwap(t, books(t), base, rel)).toBe("success success");
});

test.each([
  ["maker", ETH, UTXO],
  ["taker", UTXO, ETH],
  ["maker", UTXO, ETH],
  ["taker", ETH, UTXO],
  ["maker", TOKEN, UTXO],
  ["taker", UTXO, TOKEN],
  ["maker", UTXO, TOKEN],
  ["taker", TOKEN, UTXO],
] as const)(
  "the account of the %s has exactly what was promised at the match, and data becomes four times as dear: the swap of %s for %s ends well",
  async (side, base, rel) => {
    await feeWorld();
    const held = await promised(side, base, rel);
    await t.world.close();
    await feeWorld();
    await drain(t[side], held + ROUNDED);
    const uuid = await match(t, base, rel, "4", "0.5");
    expect(freeOf(t[side])).toBeLessThanOrEqual(ROUNDED);
    chain().dataFeePerByte = 4n * PER_BYTE;
    await t.world.runUntil("the swap ends for both", isOver(uuid), 3 * HOUR_MS);
    expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["success", "success"]);
  },
);

test.each([
  ["maker", ETH, UTXO],
  ["taker", UTXO, ETH],
] as const)("a refund has what its data costs, too, with the account of the %s at what was promised", async (side, base, rel) => {
  await feeWorld();
  const held = await promised(side, base, rel);
  await t.world.close();
  await feeWorld();
  await drain(t[side], held + ROUNDED);
  const before = chain().balance(t[side].account);
  const uuid = await match(t, base, rel, "4", "0.5");
  const paying = side === "maker" ? "makerPayment" : "takerPayment";
  const other = side === "maker" ? t.taker : t.maker;
  await t.world.runUntil("it has paid", () => t[side].has(uuid, (e) => e.type === "tx_seen" && e.slot === paying && !!e.block), HOUR_MS);
  other.crash();
  chain().dataFeePerByte = 4n * PER_BYTE;
  await t.world.runUntil("it has its money back", () => t[side].outcome(uuid) !== null, 12 * HOUR_MS);
  expect(t[side].outcome(uuid)).toBe("refunded");
  expect(chain().balance(t[side].account)).toBeLessThan(before);
});

test("data that becomes dearer than what was promised before anything is paid: neither side pays anything, and the reason is told", async () => {
  await feeWorld();
  const uuid = await match(t, UTXO, ETH, "4", "0.5");
  tell(20n * chain().dataFee(SAMPLE_BYTES));
  await t.world.runUntil("the swap ends for both", isOver(uuid), 3 * HOUR_MS);
  expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["failed", "failed"]);
  for (const node of [t.maker, t.taker]) expect(node.has(uuid, (e) => e.type === "tx_signed")).toBe(false);
  expect(t.taker.log.lines.some((line) => /the data of a transaction on ETHX may cost \d+ wei, above the \d+ reserved/.test(line))).toBe(
    true,
  );
});

test("a chain that begins after the match to count far more gas for data than any swap reckons with: neither side pays anything", async () => {
  await feeWorld(0n);
  const uuid = await match(t, ETH, UTXO, "4", "0.5");
  // What was read at the last look says nothing of it: a chain without such gas is asked once.
  vi.spyOn(SimEvmView.prototype, "dataCost").mockReturnValue({ gas: 21_000n, wei: 0n });
  chain().dataGas = 1_000_000n;
  await t.world.runUntil("the swap ends for both", isOver(uuid), 3 * HOUR_MS);
  expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["failed", "failed"]);
  for (const node of [t.maker, t.taker]) expect(node.has(uuid, (e) => e.type === "tx_signed")).toBe(false);
  expect(t.taker.log.lines.some((line) => /every transaction of ETHX needs \d+ gas more than any swap reckons with/.test(line))).toBe(true);
});

test("a maker whose account pays for the gas of its claim and not for the data shows no secret, and claims when there is enough", async () => {
  await feeWorld();
  const before = books(t);
  const uuid = await match(t, UTXO, ETH, "4", "0.5");
  const isPaid = (): boolean => t.taker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "takerPayment" && !!e.block);
  await t.world.runUntil("the taker has paid", isPaid, HOUR_MS);
  const price = platform(t.maker).spendRates().rate.perKb / 1_000n;
  await drain(t.maker, 65_000n * price + chain().dataFee(100));
  const later = t.world.clock.nowMs() + HOUR_MS / 4;
  await t.world.runUntil("a quarter of an hour passes", () => t.world.clock.nowMs() >= later, HOUR_MS);
  expect(t.maker.has(uuid, (e) => e.type === "tx_confirmed" && e.slot === "takerPayment")).toBe(true);
  expect(t.maker.has(uuid, (e) => e.type === "tx_attempted" && e.slot === "takerPaymentSpend")).toBe(false);
  chain().payFromFaucet(t.maker.account, 10n ** 18n);
  await t.world.runUntil("the swap ends for both", isOver(uuid), 2 * HOUR_MS);
  expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["success", "success"]);
  expect(before.maker.purse[ETH]).toBeGreaterThan(0n);
});

const ABSURD = 10n ** 60n;

test("nodes that name an absurd fee: no order is placed, in either direction, and the sentence says why; an honest figure opens it again", async () => {
  await feeWorld();
  t.maker.link(ETH).lies.dataWei = ABSURD;
  chain().mine();
  await t.world.runUntil("it is seen", () => platform(t.maker).outage() !== null, 60_000);
  const offer = (base: Ticker, rel: Ticker) =>
    t.world.settle(t.maker.node.orders.placeMakerOrder({ base, rel, price: decimal("1"), volume: decimal("1"), cancelPrevious: false }));
  for (const [base, rel] of [
    [ETH, UTXO],
    [UTXO, ETH],
    [UTXO, TOKEN],
  ] as const)
    expect(await offer(base, rel)).toMatchObject({
      ok: false,
      error: {
        kind: "Transport",
        message: expect.stringMatching(/^the ETHX nodes say that the data of one transaction may cost 2000\d+ wei/),
      },
    });
  t.maker.link(ETH).lies.dataWei = null;
  chain().mine();
  await t.world.runUntil("it is seen", () => platform(t.maker).outage() === null, 60_000);
  expect((await offer(ETH, UTXO)).ok).toBe(true);
});

test("nodes that name an absurd fee from the match on have nobody pay anything, and lose nobody anything", async () => {
  await feeWorld();
  const before = books(t);
  const uuid = await match(t, UTXO, ETH, "4", "0.5");
  const liars = tell(ABSURD);
  await t.world.runUntil("the swap ends for both", isOver(uuid), 3 * HOUR_MS);
  expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["failed", "failed"]);
  liars.mockRestore();
  await audit(t, [uuid], before);
  expect(chain().balance(t.taker.account)).toBe(before.taker.purse[ETH]);
});

test.each([
  ["an absurd fee", ABSURD],
  ["no fee that can be used", null],
])("nodes that name %s while a claim is due: the maker keeps its secret until they are honest again", async (_what, wei) => {
  await feeWorld();
  const uuid = await match(t, ETH, TOKEN, "4", "0.5");
  const isPaid = (): boolean => t.taker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "takerPayment" && !!e.block);
  await t.world.runUntil("the taker has paid", isPaid, HOUR_MS);
  const honest = SimEvmView.prototype.dataCost;
  const liars = vi.spyOn(SimEvmView.prototype, "dataCost").mockImplementation(function (this: SimEvmView) {
    return this.account(t.maker.account) === undefined ? honest.call(this) : wei === null ? null : { gas: 21_000n, wei };
  });
  const later = t.world.clock.nowMs() + HOUR_MS / 4;
  await t.world.runUntil("a quarter of an hour passes", () => t.world.clock.nowMs() >= later, HOUR_MS);
  expect(t.maker.has(uuid, (e) => e.type === "tx_attempted" && e.slot === "takerPaymentSpend")).toBe(false);
  liars.mockRestore();
  await t.world.runUntil("the swap ends for both", isOver(uuid), 2 * HOUR_MS);
  expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["success", "success"]);
});

test("nodes that name an absurd fee keep nobody from claiming what shows nothing new", async () => {
  await feeWorld();
  const uuid = await match(t, ETH, TOKEN, "4", "0.5");
  t.taker.onEvent = (event) => {
    if (event.type === "secret_learned") t.taker.link(ETH).lies.dataWei = ABSURD;
  };
  await t.world.runUntil("the swap ends for both", isOver(uuid), 2 * HOUR_MS);
  expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["success", "success"]);
  expect(t.taker.link(ETH).lies.dataWei).toBe(ABSURD);
});

test.each<readonly [string, () => void]>([
  ["an absurd fee", () => void tell(ABSURD)],
  ["no fee that can be used", () => void vi.spyOn(SimEvmView.prototype, "dataCost").mockReturnValue(null)],
  [
    "more gas for data than any swap begins with",
    () => {
      chain().dataGas = 1_000_000n;
    },
  ],
])("nodes that name %s keep nobody from claiming once more what failed on its chain", async (_what, tellIt) => {
  await feeWorld();
  const uuid = await match(t, TOKEN, UTXO, "4", "0.5");
  const isPaid = (): boolean => t.taker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "takerPayment");
  await t.world.runUntil("the taker has paid", isPaid, HOUR_MS);
  token().isPaused = true;
  await t.world.runUntil("a claim of the taker fails", () => failedClaims(uuid) > 0, HOUR_MS);
  tellIt();
  token().isPaused = false;
  await t.world.runUntil("the swap ends for both", isOver(uuid), 12 * HOUR_MS);
  expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["success", "success"]);
});

test("one estimate that is a lie leaves no claim that no block takes: the account has what its gas was promised to cost, and little more", async () => {
  await feeWorld();
  const honest = SimEvmView.prototype.estimateGas;
  const lie = vi.spyOn(SimEvmView.prototype, "estimateGas").mockImplementation(function (this: SimEvmView, request, signal) {
    return request.data.length === CALL_SAMPLE.length && t.taker.has(uuid, (e) => e.type === "secret_learned")
      ? Promise.resolve(ok(BigInt(Number.MAX_SAFE_INTEGER)))
      : honest.call(this, request, signal);
  });
  const uuid = await match(t, ETH, UTXO, "4", "0.5");
  const isSigned = (): boolean => t.taker.has(uuid, (e) => e.type === "tx_signed" && e.slot === "makerPaymentSpend");
  await t.world.runUntil("the taker has signed its claim", isSigned, 2 * HOUR_MS);
  lie.mockRestore();
  await t.world.runUntil("the swap ends for both", isOver(uuid), 12 * HOUR_MS);
  expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["success", "success"]);
});

test("one estimate that is a lie leaves no claim that no block takes: an account with plenty signs with what a block has", async () => {
  t = await accountWorld({ seed: 7 });
  chain().pool.rules.blockGasLimit = 4_000_000n;
  const honest = SimEvmView.prototype.estimateGas;
  const lie = vi.spyOn(SimEvmView.prototype, "estimateGas").mockImplementation(function (this: SimEvmView, request, signal) {
    return request.data.length === CALL_SAMPLE.length && t.taker.has(uuid, (e) => e.type === "secret_learned")
      ? Promise.resolve(ok(BigInt(Number.MAX_SAFE_INTEGER)))
      : honest.call(this, request, signal);
  });
  const uuid = await match(t, ETH, UTXO, "4", "0.5");
  const isSigned = (): boolean => t.taker.has(uuid, (e) => e.type === "tx_signed" && e.slot === "makerPaymentSpend");
  await t.world.runUntil("the taker has signed its claim", isSigned, 2 * HOUR_MS);
  lie.mockRestore();
  await t.world.runUntil("the swap ends for both", isOver(uuid), 12 * HOUR_MS);
  expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["success", "success"]);
});

test("a claim that blocks take no more is signed again with as much gas as they have", async () => {
  t = await accountWorld({ seed: 7 });
  const uuid = await match(t, ETH, UTXO, "4", "0.5");
  const isSigned = (): boolean => t.taker.has(uuid, (e) => e.type === "tx_signed" && e.slot === "makerPaymentSpend");
  t.taker.onEvent = (event) => {
    // The usual limit is more, and the call itself needs far less.
    if (event.type === "tx_signed" && event.slot === "makerPaymentSpend") chain().pool.rules.blockGasLimit = 120_000n;
  };
  await t.world.runUntil("the taker has signed its claim", isSigned, 2 * HOUR_MS);
  await t.world.runUntil("the swap ends for both", isOver(uuid), HOUR_MS);
  expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["success", "success"]);
});

test("nodes that call the fee nothing: an account with plenty loses nothing, and the swap ends well", async () => {
  await feeWorld();
  for (const node of [t.maker, t.taker]) node.link(ETH).lies.dataWei = 0n;
  expect(await runSwap(t, books(t), UTXO, ETH)).toBe("success success");
});

test.each([
  ["maker", UTXO, ETH],
  ["taker", UTXO, ETH],
  ["maker", TOKEN, UTXO],
] as const)(
  "data that counts as gas is in what the %s is promised at its first match, not only once a claim was looked at: %s for %s",
  async (side, base, rel) => {
    await feeWorld(0n, 300_000n);
    const held = await promised(side, base, rel);
    await t.world.close();
    await feeWorld(0n, 300_000n);
    await drain(t[side], held + ROUNDED);
    const uuid = await match(t, base, rel, "4", "0.5");
    await t.world.runUntil("the swap ends for both", isOver(uuid), 3 * HOUR_MS);
    expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["success", "success"]);
  },
);

test("nodes that have not told what data costs: no swap begins, and the outage says so", async () => {
  await feeWorld();
  vi.spyOn(SimEvmView.prototype, "dataCost").mockReturnValue(null);
  expect(platform(t.maker).outage()).toMatchObject({ message: "what ETHX takes for a transaction's data is not known yet" });
});

test.each([ETH, TOKEN] as const)(
  "a claim of %s whose data needs more gas since it was signed is signed anew before it leaves",
  async (rel) => {
    await feeWorld(0n, 20_000n);
    const before = books(t);
    let signed = 0;
    t.maker.onEvent = (event) => {
      if (event.type !== "tx_signed" || event.slot !== "takerPaymentSpend") return;
      signed++;
      chain().dataGas = 200_000n;
    };
    const claims = new Map<string, bigint>();
    onSend(t.maker, "claim", ({ tx, txid }) => claims.set(txid, tx.gasLimit), "before", 100);
    // What is refused has its older versions tried.
    let refusals = 0;
    refuse((txid) => claims.has(txid) && refusals++ < 3);
    const uuid = await match(t, UTXO, rel, "4", "0.5");
    await t.world.runUntil("the swap ends for both", isOver(uuid), 12 * HOUR_MS);
    expect([signed, t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual([1, "success", "success"]);
    const events = t.maker.events(uuid);
    const at = (type: string): number => events.findIndex((e) => e.type === type && "slot" in e && e.slot === "takerPaymentSpend");
    expect(at("tx_replaced")).toBeGreaterThan(at("tx_signed"));
    expect(at("tx_attempted")).toBeGreaterThan(at("tx_replaced"));
    expect(refusals).toBeGreaterThan(2);
    expect([...claims.values()].filter((gas) => gas < 200_000n)).toEqual([]);
    await audit(t, [uuid], before, 4_000_000n);
  },
);

test.each([
  ["taker's claim", "taker", "takerPayment", "makerPaymentSpend"],
  ["maker's refund", "maker", "makerPayment", "makerPaymentRefund"],
] as const)(
  "one node of two that names absurd gas for data since a start, at which nothing else is known, has the %s signed with enough all the same",
  async (_, side, paid, slot) => {
    await feeWorld(0n, 300_000n);
    const uuid = await match(t, ETH, UTXO, "4", "0.5");
    const isPaid = (): boolean => t.maker.has(uuid, (e) => e.type === "tx_confirmed" && e.slot === paid);
    await t.world.runUntil("it is paid", isPaid, 2 * HOUR_MS);
    t.taker.crash();
    if (side === "maker") t.maker.crash();
    t[side].link(ETH).moreGas = 10n ** 8n;
    await t[side].start([UTXO, ETH, TOKEN]);
    const isDone = (): boolean => t[side].has(uuid, (e) => e.type === "tx_confirmed" && e.slot === slot);
    await t.world.runUntil("it is done", isDone, 6 * HOUR_MS);
  },
);

test("so has the cancellation of a payment that waits too long", async () => {
  await feeWorld(0n, 300_000n);
  onSend(t.maker, "payment", ({ txid }) => void chain().held.add(txid));
  const uuid = await match(t, ETH, UTXO, "4", "0.5");
  await t.world.runUntil("it has left", () => t.maker.has(uuid, (e) => e.type === "tx_signed" && e.slot === "makerPayment"), HOUR_MS);
  t.maker.crash();
  t.maker.link(ETH).moreGas = 10n ** 8n;
  await t.maker.start([UTXO, ETH, TOKEN]);
  await t.world.runUntil("it is over", isOver(uuid), 6 * HOUR_MS);
  expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["cancelled", "failed"]);
});

test.each([
  ["taker's claim", "taker", "takerPayment", "makerPaymentSpend", 45n],
  ["maker's refund", "maker", "makerPayment", "makerPaymentRefund", 6n],
] as const)(
  "one node of two that names absurd gas for data since a start: the %s follows the price of gas all the same",
  async (_, side, paid, slot, factor) => {
    await feeWorld(0n, 0n);
    const uuid = await match(t, TOKEN, UTXO, "4", "0.5");
    const isPaid = (): boolean => t.maker.has(uuid, (e) => e.type === "tx_confirmed" && e.slot === paid);
    await t.world.runUntil("it is paid", isPaid, 2 * HOUR_MS);
    t.taker.crash();
    if (side === "maker") t.maker.crash();
    t[side].link(ETH).moreGas = 10n ** 8n;
    chain().spike(factor, 24 * HOUR_MS, true);
    await t[side].start([UTXO, ETH, TOKEN]);
    const isDone = (): boolean => t[side].has(uuid, (e) => e.type === "tx_confirmed" && e.slot === slot);
    await t.world.runUntil("it is done", isDone, 6 * HOUR_MS);
  },
);

test.each([
  ["its swap runs", 3n * 10n ** 16n, 4n],
  ["its swap waits for its other coin", 3n * 10n ** 16n, 4n],
  ["its swap waits for its other coin", 10n ** 20n, 45n],
] as const)(
  "so does a claim that was signed before gas is dearer, with less gas for its data: %s, the account has %s wei, and gas costs %s times as much",
  async (how, left, factor) => {
    await feeWorld(0n, 0n);
    const uuid = await match(t, TOKEN, UTXO, "4", "0.5");
    const isPaid = (): boolean => t.maker.has(uuid, (e) => e.type === "tx_confirmed" && e.slot === "takerPayment");
    await t.world.runUntil("it is paid", isPaid, 2 * HOUR_MS);
    await drain(t.taker, left);
    t.taker.crash();
    t.taker.link(ETH).moreGas = 10n ** 8n;
    const limits: bigint[] = [];
    onSend(t.taker, "claim", ({ tx }) => void limits.push(tx.gasLimit), "before", 100);
    await t.taker.start([UTXO, ETH, TOKEN]);
    await t.world.runUntil("it is claimed", () => limits.length > 0, HOUR_MS);
    chain().spike(factor, 24 * HOUR_MS, true);
    const before = chain().tokenBalance(TOKEN_AT, t.taker.account);
    if (how !== "its swap runs") {
      t.taker.crash();
      await t.taker.start([ETH, TOKEN]);
    }
    await t.world.runUntil("it is paid out", () => chain().tokenBalance(TOKEN_AT, t.taker.account) > before, HOUR_MS / 2);
    const [first = 0n, last = 0n] = [limits[0], limits.at(-1)];
    expect([first > last, last > 150_000n]).toEqual([true, true]);
  },
);

test("nor does one node of two keep the price down that names, from the match on, as much gas for data as is believed", async () => {
  await feeWorld(0n, 0n);
  const uuid = await match(t, TOKEN, UTXO, "4", "0.5");
  t.taker.link(ETH).moreGas = 700_000n;
  const before = chain().tokenBalance(TOKEN_AT, t.taker.account);
  const limits: bigint[] = [];
  onSend(t.taker, "claim", ({ tx }) => void limits.push(tx.gasLimit), "before", 100);
  const isPaid = (): boolean => t.taker.has(uuid, (e) => e.type === "tx_confirmed" && e.slot === "takerPayment");
  await t.world.runUntil("it is paid", isPaid, 2 * HOUR_MS);
  chain().spike(45n, 24 * HOUR_MS, true);
  await t.world.runUntil("it is paid out", () => chain().tokenBalance(TOKEN_AT, t.taker.account) > before, 2 * HOUR_MS);
  expect(limits[0]).toBeGreaterThan(600_000n);
});

test("a claim that would lack gas however often it is signed is signed once, and shows no secret", async () => {
  await feeWorld(0n, 20_000n);
  vi.spyOn(EvmSwapCoin.prototype, "lacksGas").mockReturnValue(true);
  const uuid = await match(t, UTXO, ETH, "4", "0.5");
  const has = (type: SwapEvent["type"]): boolean =>
    t.maker.has(uuid, (e) => e.type === type && "slot" in e && e.slot === "takerPaymentSpend");
  await t.world.runUntil("it is signed", () => has("tx_signed"), HOUR_MS);
  await t.world.advance(HOUR_MS / 12);
  expect([has("tx_replaced"), has("tx_attempted")]).toEqual([false, false]);
});
