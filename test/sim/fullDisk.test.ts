import { expect, test } from "vitest";
import { ownTxOf } from "../../sim/run/swapBook.ts";
import type { SimNode } from "../../sim/world/simNode.ts";
import { HOUR_MS, SimWorld } from "../../sim/world/simWorld.ts";
import type { Role, Slot, SwapEvent } from "../../src/core/swap/events.ts";
import { StorageError } from "../../src/ports/sql.ts";
import { bookPair } from "../fakes/bookPair.ts";
import { expectNobodyLost, isOver, purses } from "./audit.ts";
import { buy, COINS, match, offer, REL, tradingWorld } from "./trade.ts";

const SEED = 77_001;
const MINUTE_MS = 60_000;
const LIMIT_MS = 8 * HOUR_MS;

const offers = (node: SimNode): readonly string[] => node.node.orders.myOrders().makers.map((o) => o.uuid);
const reserved = (node: SimNode): bigint => COINS.reduce((n, c) => n + (node.node.coins.utxo(c)?.ledger.held() ?? 0n), 0n);
/** What its log says of the disk, from then on. */
const complaints = (node: SimNode, sinceMs = 0): readonly string[] =>
  node.log.lines.filter((line) => line.includes("the disk is full") && Number.parseInt(line, 10) >= sinceMs);

test("a full disk refuses new orders and cancellations, changes nothing, and both work when there is space again", async () => {
  const t = await tradingWorld({ seed: SEED });
  const { world, maker, taker } = t;
  const kept = await offer(world, maker, "4", "0.5");
  maker.diskFull = true;
  await expect(offer(world, maker, "5", "0.6")).rejects.toThrow(StorageError);
  await expect(world.settle(maker.node.orders.cancelOrder(kept))).rejects.toThrow(StorageError);
  expect(offers(maker)).toEqual([kept]);
  // The others still see it: keep-alives need no disk.
  await world.advance(3 * MINUTE_MS);
  const { asks } = await world.settle(bookPair(taker.node, "DOC", "MARTY"));
  expect(asks.map((a) => a.item.uuid)).toEqual([kept]);
  maker.diskFull = false;
  const added = await offer(world, maker, "5", "0.6");
  expect((await world.settle(maker.node.orders.cancelOrder(kept))).ok).toBe(true);
  expect(offers(maker)).toEqual([added]);
  await world.close();
});

test("a maker whose disk is full when a taker connects starts nothing, and neither does the taker; the order trades later", async () => {
  const t = await tradingWorld({ seed: SEED });
  const { world, maker, taker } = t;
  const before = purses(t);
  const order = await offer(world, maker, "4", "0.5");
  maker.diskFull = true;
  const uuid = await buy(world, taker, "4", "0.5");
  await world.advance(3 * MINUTE_MS);
  expect([maker, taker].map((n) => n.swaps.size)).toEqual([0, 0]);
  expect([maker, taker].map(reserved)).toEqual([0n, 0n]);
  expect(offers(maker)).toEqual([order]);
  expect(complaints(maker)).not.toEqual([]);
  expectNobodyLost(t, uuid, before);
  maker.diskFull = false;
  await world.advance(MINUTE_MS);
  const second = await buy(world, taker, "4", "0.5");
  await world.runUntil("the swap ends for both", () => maker.swaps.has(second) && isOver(t, second), LIMIT_MS);
  expect([maker.outcome(second), taker.outcome(second)]).toEqual(["success", "success"]);
  expectNobodyLost(t, second, before);
  await world.close();
});

/** Moments of a swap, as the event a node has just stored when its disk fills up. */
const MOMENTS: readonly (readonly [who: Role, type: SwapEvent["type"], slot?: Slot])[] = [
  ["maker", "negotiated"],
  ["maker", "tx_signed", "makerPayment"],
  ["maker", "tx_attempted", "makerPayment"],
  ["maker", "tx_seen", "takerPayment"],
  ["maker", "tx_signed", "takerPaymentSpend"],
  ["taker", "tx_signed", "fee"],
  ["taker", "tx_seen", "makerPayment"],
  ["taker", "tx_attempted", "takerPayment"],
  ["taker", "secret_learned"],
];

// A maker may pay until ten minutes after the fee. Servers tell only what is new: nothing wakes it in the very second in which there is space.
const FULL_MINUTES = SimWorld.isElectrum ? 9 : 10;

test(`a disk that is full for ${FULL_MINUTES} minutes, at any moment of a swap, costs nothing but time; the log says what is wrong`, async () => {
  const t = await tradingWorld({ seed: SEED, pollMs: 15_000 });
  const { world, maker, taker } = t;
  for (const [who, type, slot] of MOMENTS) {
    const moment = `${who} ${type} ${slot}`;
    const victim = t[who];
    const before = purses(t);
    const startMs = world.clock.nowMs();
    let begun = false;
    victim.onEvent = (event) => {
      if (begun || event.type !== type || ("slot" in event ? event.slot : undefined) !== slot) return;
      begun = true;
      victim.diskFull = true;
      world.clock.after(FULL_MINUTES * MINUTE_MS, () => {
        victim.diskFull = false;
      });
    };
    const uuid = await match(t, "4", "0.5");
    await world.runUntil("the disk fills up", () => begun, HOUR_MS);
    await world.runUntil("there is space", () => !victim.diskFull, HOUR_MS);
    expect(complaints(victim, startMs), moment).not.toEqual([]);
    await world.runUntil("the swap ends for both", () => isOver(t, uuid), LIMIT_MS);
    victim.onEvent = () => undefined;
    for (const n of [maker, taker]) await world.settle(n.node.orders.cancelAllOrders({ type: "All" }));
    expect([moment, maker.outcome(uuid), taker.outcome(uuid)]).toEqual([moment, "success", "success"]);
    expectNobodyLost(t, uuid, before);
    expect([maker, taker].map(reserved), moment).toEqual([0n, 0n]);
  }
  await world.close();
});

test("a claim that its daemon took while the disk was full, and forgot, is sent again after the payment's lock, too: its secret is out", async () => {
  const t = await tradingWorld({ seed: SEED, pollMs: 15_000 });
  const { world, maker, taker } = t;
  const before = purses(t);
  const { chain } = world.chain(REL);
  let claim = { txid: "", raw: "" };
  maker.onEvent = (event) => {
    const own = ownTxOf(event);
    if (own?.slot === "takerPaymentSpend") claim = own;
    if (event.type === "tx_attempted" && event.slot === "takerPaymentSpend") maker.diskFull = true;
  };
  let sent = 0;
  maker.onBroadcast = (_ticker, when, raw) => {
    if (when !== "after" || raw !== claim.raw) return;
    sent++;
    if (maker.diskFull) chain.mempool.graph.removeWithDescendants(claim.txid);
  };
  const uuid = await match(t, "4", "0.5");
  await world.runUntil("the claim was taken", () => sent > 0, HOUR_MS);
  taker.crash();
  await world.advance(3 * HOUR_MS);
  const [late] = [sent];
  await world.advance(HOUR_MS / 4);
  expect(sent - late).toBeGreaterThan(3);
  maker.diskFull = false;
  await taker.start(COINS);
  await world.runUntil("the swap ends for both", () => isOver(t, uuid), LIMIT_MS);
  expectNobodyLost(t, uuid, before);
  await world.close();
});
