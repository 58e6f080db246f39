import { afterEach, expect, test } from "vitest";
import type { SimNode } from "../../sim/world/simNode.ts";
import { HOUR_MS, type SimCoin, SimWorld } from "../../sim/world/simWorld.ts";
import { decimal, toUnits, ZERO } from "../../src/core/money/rational.ts";
import type { Slot, SwapEvent } from "../../src/core/swap/events.ts";
import { DEMO_COINS } from "../../src/devnet/demoCoins.ts";
import { diesOnceAfter } from "./crashPoint.ts";

// KMD pays interest by lock time, so its blocks take no transaction whose lock time is an hour before theirs. Where no block comes for half an
// hour, what waits for one is never mined any more, nor is anything that is built on it.

const MINUTE_MS = 60_000;
const COIN_UNITS = 100_000_000n;
const PURSE = 200n * COIN_UNITS;
const FEES = 20_000n;
const TIMEOUT_MS = 60_000;
const PLAIN = "DOC";
const KMD = "KMD";

let world: SimWorld;
let maker: SimNode;
let taker: SimNode;
afterEach(() => world.close());

async function open(): Promise<void> {
  const [demo] = DEMO_COINS;
  if (!demo) expect.fail("no coin");
  const coins = [PLAIN, KMD].map((coin): SimCoin => ({ ...demo, coin, avg_blocktime: 60, required_confirmations: 1 }));
  world = await SimWorld.create({ seed: 5_150, coins });
  maker = world.addNode("maker");
  taker = world.addNode("taker");
  for (const node of [maker, taker]) for (const coin of [PLAIN, KMD]) world.fund(node, coin, PURSE);
  for (const { chain } of world.chains.values()) chain.mine(6);
  for (const node of [maker, taker]) await node.start([PLAIN, KMD]);
  await world.runUntil("both have a relay", () => [maker, taker].every((n) => n.p2p.relays().length > 0));
}

async function match(base: string, rel: string): Promise<string> {
  const order = { base, rel, price: decimal("0.5"), volume: decimal("4") };
  const placed = await world.settle(maker.node.orders.placeMakerOrder({ ...order, cancelPrevious: false }));
  const taken = await world.settle(taker.node.orders.placeTakerOrder({ action: "Buy", ...order }));
  if (!placed.ok || !taken.ok) expect.fail("refused");
  const { uuid } = taken.value;
  await world.runUntil("the orders match", () => maker.swaps.has(uuid) && taker.swaps.has(uuid), MINUTE_MS);
  return uuid;
}

const has = (node: SimNode, uuid: string, type: SwapEvent["type"], slot: Slot): boolean =>
  node.has(uuid, (e) => e.type === type && "slot" in e && e.slot === slot);

/** No block of KMD for so long from the moment a node has sent such a transaction. */
async function stall(node: SimNode, uuid: string, slot: Slot, minutes: number): Promise<void> {
  await world.runUntil(`${slot} is sent`, () => has(node, uuid, "tx_attempted", slot), 6 * HOUR_MS);
  const { chain } = world.chain(KMD);
  chain.autoMine(null);
  await world.advance(minutes * MINUTE_MS);
  chain.autoMine(MINUTE_MS);
}

/** A fee is built on a withdrawal, no block of KMD takes either, and the taker's process ends after fifty minutes. @returns the swap's uuid */
async function crashOnWithdrawal(): Promise<string> {
  world.chain(KMD).chain.autoMine(null);
  const coin = taker.node.coins.utxo(KMD);
  if (!coin) expect.fail("no coin");
  const request = { to: coin.address, amount: decimal("1"), broadcast: true, fee: undefined };
  expect((await world.settle(coin.withdraw(request, new AbortController().signal))).ok).toBe(true);
  const uuid = await match(PLAIN, KMD);
  await world.runUntil("the fee is sent", () => has(taker, uuid, "tx_attempted", "fee"), HOUR_MS);
  await world.advance(50 * MINUTE_MS);
  taker.crash();
  return uuid;
}

const isOver = (uuid: string): boolean => [maker, taker].every((n) => n.outcome(uuid) !== null);
/** What a node lost, beyond fees. */
const lost = (node: SimNode): readonly string[] =>
  [PLAIN, KMD].filter((coin) => node.balance(coin) < PURSE - FEES - (node === taker ? COIN_UNITS / 100n : 0n));

test.each([
  ["fee", "taker", PLAIN, KMD, 45, "refunded cancelled"],
  ["fee", "taker", PLAIN, KMD, 100, "refunded cancelled"],
  ["takerPayment", "taker", PLAIN, KMD, 45, "refunded cancelled"],
  ["takerPayment", "taker", PLAIN, KMD, 100, "refunded cancelled"],
  ["makerPayment", "maker", KMD, PLAIN, 45, "cancelled failed"],
  ["makerPayment", "maker", KMD, PLAIN, 100, "cancelled failed"],
] as const)(
  "a %s of the %s for %s/%s that no block took for so long that none ever will is undone, and with it what is built on it (%i min)",
  async (slot, who, base, rel, minutes, ends) => {
    await open();
    const uuid = await match(base, rel);
    await stall(who === "taker" ? taker : maker, uuid, slot, minutes);
    await world.runUntil("it is over", () => isOver(uuid), 6 * HOUR_MS);
    expect(`${maker.outcome(uuid)} ${taker.outcome(uuid)}`).toBe(ends);
    expect([lost(maker), lost(taker)]).toEqual([[], []]);
    // All of it serves again.
    await world.advance(HOUR_MS);
    for (const node of [maker, taker]) expect(toUnits(node.node.coins.utxo(KMD)?.spendable() ?? ZERO, 8)).toBe(node.balance(KMD));
  },
  TIMEOUT_MS,
);

test(
  "a node that starts again meanwhile undoes it, too",
  async () => {
    await open();
    const uuid = await match(PLAIN, KMD);
    await stall(taker, uuid, "fee", 100);
    await world.runUntil("it cancels", () => has(taker, uuid, "tx_attempted", "cancel"), HOUR_MS);
    taker.crash();
    await taker.start([PLAIN, KMD]);
    await world.runUntil("it is over", () => isOver(uuid), 6 * HOUR_MS);
    expect([taker.outcome(uuid), lost(maker), lost(taker)]).toEqual(["cancelled", [], []]);
  },
  TIMEOUT_MS,
);

test(
  "a fee on a withdrawal of before a start that no block will ever take is undone with both",
  async () => {
    await open();
    const uuid = await crashOnWithdrawal();
    const { chain } = world.chain(KMD);
    await taker.start([PLAIN, KMD]);
    await world.advance(50 * MINUTE_MS);
    chain.autoMine(MINUTE_MS);
    await world.runUntil("it is over", () => isOver(uuid), 6 * HOUR_MS);
    await world.advance(HOUR_MS);
    expect([taker.outcome(uuid), lost(taker)]).toEqual(["cancelled", []]);
    expect(toUnits(taker.node.coins.utxo(KMD)?.spendable() ?? ZERO, 8)).toBe(taker.balance(KMD));
  },
  TIMEOUT_MS,
);

test(
  "change of what no block will ever take is not counted on, though nothing is known any more of the withdrawal beneath",
  async () => {
    await open();
    await crashOnWithdrawal();
    const { chain } = world.chain(KMD);
    await world.advance(50 * MINUTE_MS);
    chain.autoMine(MINUTE_MS);
    await world.advance(15 * MINUTE_MS);
    await taker.start([PLAIN, KMD]);
    await world.advance(HOUR_MS);
    expect([toUnits(taker.node.coins.utxo(KMD)?.spendable() ?? ZERO, 8), taker.balance(KMD)]).toEqual([PURSE, PURSE]);
  },
  TIMEOUT_MS,
);

test.each([30, 100])(
  "a refund that no block took for %i min is signed anew where none takes it any more",
  async (minutes) => {
    await open();
    // Before it can claim: servers tell it of the payment's block in the same moment.
    diesOnceAfter(maker, (event) => event.type === "tx_seen" && event.slot === "takerPayment");
    const uuid = await match(PLAIN, KMD);
    await world.runUntil("the taker has paid", () => has(taker, uuid, "tx_confirmed", "takerPayment"), HOUR_MS);
    expect(maker.isRunning).toBe(false);
    await stall(taker, uuid, "takerPaymentRefund", minutes);
    await world.runUntil("it is over", () => taker.outcome(uuid) !== null, 6 * HOUR_MS);
    expect([taker.outcome(uuid), lost(taker)]).toEqual(["refunded", []]);
  },
  TIMEOUT_MS,
);

// What servers refuse is in test/electrum.
test.skipIf(SimWorld.isElectrum).each([
  // A claim needs no lock time: it goes at once.
  ["claim", "makerPaymentSpend", KMD, PLAIN, "success", [PLAIN], 10],
  ["refund", "takerPaymentRefund", PLAIN, KMD, "refunded", [], 120],
] as const)(
  "a %s that the own daemon refuses for half a day, until its fee is as high as fees may be and its lock time too old, goes through then",
  async (_, slot, base, rel, end, given, minutes) => {
    await open();
    taker.onEvent = (event) => {
      if (event.type === "tx_attempted" && event.slot === slot)
        void taker.daemonFault(KMD, { kind: "refuse_broadcast", forMs: 12 * HOUR_MS });
    };
    const uuid = await match(base, rel);
    await world.runUntil("the taker has paid", () => has(taker, uuid, "tx_confirmed", "takerPayment"), HOUR_MS);
    if (end === "refunded") maker.crash();
    await world.runUntil("it is sent", () => has(taker, uuid, "tx_attempted", slot), 6 * HOUR_MS);
    maker.crash();
    await world.advance(12 * HOUR_MS);
    expect(taker.outcome(uuid)).toBeNull();
    await world.runUntil("it is over", () => taker.outcome(uuid) !== null, minutes * MINUTE_MS);
    expect([taker.outcome(uuid), lost(taker)]).toEqual([end, given]);
  },
  TIMEOUT_MS,
);
