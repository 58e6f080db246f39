import { expect, test } from "vitest";
import { FakeAccountCoin, GAS } from "../../../test/fakes/fakeAccountCoin.ts";
import { FakeTradingCoin } from "../../../test/fakes/fakeTradingCoin.ts";
import { OrderWorld, type TestNode } from "../../../test/fakes/orderWorld.ts";
import { SilentLog } from "../../../test/fakes/silentLog.ts";
import { openInlineDatabase } from "../../adapters/sqlite/inlineDatabase.ts";
import { createPeerStore, PEER_SCHEMA } from "../../adapters/sqlite/peerStore.ts";
import { seededRng } from "../../adapters/virtualClock/seededRng.ts";
import type { TakerRequest } from "../../core/message/types.ts";
import { decimal, rational, toDecimalString, toUnits } from "../../core/money/rational.ts";
import { availableVolume } from "../../core/order/makerOrder.ts";
import { rationalToText } from "../../core/swap/amountText.ts";
import type { SwapEvent, SwapTerms } from "../../core/swap/events.ts";
import { toHex } from "../../core/util/bytes.ts";
import { randomBelow } from "../../ports/rng.ts";
import type { SwapMatch } from "../tradingCoin.ts";
import { PeerPolicy } from "./peerPolicy.ts";

/** How long the swap engine waits for a taker that never negotiates (reference swap-protocol.md 2.2). */
const SILENT_SWAP_MS = 180_000;
const conf = { baseConfs: 1, baseNota: false, relConfs: 1, relNota: false };
const keyOf = (n: number): Uint8Array => Uint8Array.of(2, ...new Uint8Array(28).fill(7), n >> 24, (n >> 16) & 255, (n >> 8) & 255, n & 255);

const termsOf = (m: SwapMatch): SwapTerms => ({
  ...{ role: "maker", uuid: m.uuid, myOrderUuid: m.myOrderUuid, makerCoin: m.makerCoin, takerCoin: m.takerCoin },
  ...{
    makerAmount: "1/1",
    takerAmount: "1/1",
    makerUnits: String(toUnits(m.makerAmount, 8)),
    takerUnits: String(toUnits(m.takerAmount, 8)),
  },
  ...{
    makerConfs: 1,
    makerNota: false,
    takerConfs: 1,
    takerNota: false,
    lockDurationSec: 7_800,
    startedAt: 1,
    counterparty: toHex(m.counterparty),
  },
  ...{
    myPersistentPub: "",
    myMakerCoinPub: "",
    myTakerCoinPub: "",
    secretSalt: null,
    secretHash: null,
    makerStartHeight: 1,
    takerStartHeight: 1,
  },
  ...{ dexFeeUnits: "1", dexBurnUnits: "0", dexFeePubkey: null, fees: [], gui: null, version: "test" },
  heldFees: m.heldFees.map(({ payer: coin, amount }) => ({ coin, amount: rationalToText(amount) })),
});

/** A maker with the product's policy, 100 AAA and one order for all but a little of it; its swaps wait 180 s for a silent taker. */
class Siege {
  readonly world = new OrderWorld();
  readonly log = new SilentLog();
  readonly policy = new PeerPolicy({
    clock: this.world.clock,
    log: this.log,
    store: createPeerStore(openInlineDatabase(":memory:", [PEER_SCHEMA])),
    coin: (ticker) => ({ spendable: this.maker.coin(ticker).spendable(), decimals: 8 }),
  });
  #maker: TestNode | null = null;
  #requests = 0;
  #rel = "BBB";
  /** Takers that pay as soon as the swap is there, by key. */
  readonly honest = new Set<string>();
  /** After how long the swaps of all others end. */
  vainMs = SILENT_SWAP_MS;

  get maker(): TestNode {
    if (!this.#maker) throw new Error("not open");
    return this.#maker;
  }

  static async open(minVolume = "0.5", rel = "BBB", coins: readonly FakeTradingCoin[] = []): Promise<Siege> {
    const siege = new Siege();
    siege.#rel = rel;
    const maker = await siege.world.node("maker", { policy: policyOf(siege.policy) });
    for (const coin of coins) maker.coins.set(coin.ticker, coin);
    siege.#maker = maker;
    const start = maker.swaps.start.bind(maker.swaps);
    maker.swaps.start = async (match) => {
      await start(match);
      siege.#play(match);
    };
    const placed = await maker.orders.placeMakerOrder({
      base: "AAA",
      rel,
      price: decimal("2"),
      volume: decimal("90"),
      minVolume: decimal(minVolume),
    });
    if (!placed.ok) throw new Error(placed.error.kind);
    return siege;
  }

  #play(match: SwapMatch): void {
    const { clock } = this.world;
    const events: SwapEvent[] = [{ type: "started", terms: termsOf(match) }];
    const stored = () => events.map((event) => ({ v: 1, atMs: 0, event }) as const);
    const tell = (...more: readonly SwapEvent[]): void => {
      for (const event of more) {
        events.push(event);
        const said = this.policy.onSwapEvent(match.uuid, stored());
        if (said === "came_to_nothing") this.maker.orders.onUnpaidSwapEnded(match.uuid);
      }
    };
    this.policy.onSwapEvent(
      match.uuid,
      events.map((e) => ({ v: 1, atMs: 0, event: e })),
    );
    const isHonest = this.honest.has(toHex(match.counterparty));
    clock.after(isHonest ? 2_000 : this.vainMs, () => {
      if (isHonest && match.claimReservation) this.maker.coin(match.takerCoin).release(match.claimReservation);
      if (isHonest) return tell({ type: "tx_received", slot: "fee", txid: "aa", raw: "00" }, { type: "finished", outcome: "success" });
      this.maker.coin("AAA").release(match.reservation);
      if (match.claimReservation) this.maker.coin(match.takerCoin).release(match.claimReservation);
      tell({ type: "abandoned", failure: { event: "NegotiateFailed", reason: "silence" } }, { type: "finished", outcome: "failed" });
    });
  }

  request(key: number, amount: string, uuid = `00000000-0000-4000-8000-${String(++this.#requests).padStart(12, "0")}`): string {
    const baseAmount = decimal(amount);
    const body: TakerRequest = {
      ...{ base: "AAA", rel: this.#rel, baseAmount, relAmount: rational(2n * baseAmount.n, baseAmount.d), action: "Buy", uuid },
      ...{ matchBy: { type: "Any" }, conf, swapVersion: 1 },
    };
    this.maker.orders.onMessage(keyOf(key), { type: "TakerRequest", body });
    return uuid;
  }

  connect(key: number, uuid: string): void {
    const order = this.maker.orders.myOrders().makers[0];
    if (order)
      this.maker.orders.onMessage(keyOf(key), { type: "TakerConnect", body: { takerOrderUuid: uuid, makerOrderUuid: order.uuid } });
  }

  isReserved(uuid: string): boolean {
    return this.maker.orders.myOrders().makers.some((o) => o.matches.has(uuid));
  }

  /** Funds nobody holds. */
  free(): number {
    const coin = this.maker.coin("AAA");
    return Number(toDecimalString(coin.spendable())) - Number(toDecimalString(coin.locked()));
  }
  available(): number {
    const order = this.maker.orders.myOrders().makers[0];
    return order ? Number(toDecimalString(availableVolume(order))) : 0;
  }
  placeAgain(): Promise<unknown> {
    return this.maker.orders.placeMakerOrder({
      base: "AAA",
      rel: "BBB",
      price: decimal("2"),
      volume: decimal("90"),
      minVolume: decimal("0.5"),
    });
  }
}

const policyOf = (policy: PeerPolicy) => ({
  isBanned: (k: string) => policy.isBanned(k),
  isKnown: (k: string, c: string) => policy.isKnown(k, c),
  mayReserve: (ask: Parameters<PeerPolicy["mayReserve"]>[0]) => policy.mayReserve(ask),
  mayHoldFees: (ask: Parameters<PeerPolicy["mayHoldFees"]>[0]) => policy.mayHoldFees(ask),
  isUnpaid: (u: string) => policy.isUnpaid(u),
  unpaidUnits: (c: string) => policy.unpaidUnits(c),
  onReserved: (u: string, alone: string) => policy.onReserved(u, alone),
  onNeverConnected: (u: string, k: string) => policy.onNeverConnected(u, k),
  isSuspect: (k: string) => policy.isSuspect(k),
});

/** A key that has traded 40 AAA before. */
async function friend(siege: Siege, key: number): Promise<void> {
  siege.honest.add(toHex(keyOf(key)));
  const uuid = siege.request(key, "40");
  await siege.world.clock.advance(100);
  siege.connect(key, uuid);
  await siege.world.clock.advance(5_000);
  expect(siege.policy.isKnown(toHex(keyOf(key)), "AAA")).toBe(true);
  // What it got leaves the maker; the order is placed anew.
  for (const m of siege.maker.swaps.started) siege.maker.coin("AAA").release(m.reservation);
  await siege.placeAgain();
}

test("hundreds of fresh keys that reserve and never connect hold half of the order, and a key with history finds the rest", async () => {
  const siege = await Siege.open();
  await friend(siege, 1);
  const seed = 20_261_121;
  console.log(`fresh keys that never connect: seed ${seed}`);
  const rng = seededRng(seed);
  let least = 100;
  let sum = 0;
  const turns = 1_200;
  for (let turn = 0; turn < turns; turn++) {
    // one request within the share opens the door: from then on nobody is alone
    siege.request(1_000 + turn, turn === 0 ? "1" : String(1 + randomBelow(rng, 60)));
    await siege.world.clock.advance(1_000);
    least = Math.min(least, siege.free());
    sum += siege.free();
    if (turn % 240 === 120) {
      const uuid = siege.request(1, "40");
      await siege.world.clock.advance(10);
      expect([turn, siege.isReserved(uuid)]).toEqual([turn, true]);
    }
  }
  console.log(`free share under ${turns} fresh keys in 20 minutes: least ${least} of 100, on average ${(sum / turns).toFixed(1)}`);
  expect(sum / turns).toBeGreaterThan(50);
  const told = siege.log.lines.filter((l) => l.event === "share_of_keys_without_history_used_up");
  expect(told.length).toBeGreaterThan(5);
  expect(told.length).toBeLessThan(30);
  expect(told[0]?.fields).toMatchObject({ coin: "AAA", limit: "50" });
});

test.each<[string, readonly string[]]>([
  ["whatever they get", ["85", "44", "40", "10"]],
  ["all or nothing", ["85"]],
])(
  "hundreds of fresh keys that take %s and never pay hold more than half a shrinking part of the time",
  { timeout: 120_000 },
  async (_, amounts) => {
    const siege = await Siege.open();
    const turns = 12 * 180;
    let more = 0;
    for (let turn = 0; turn < turns; turn++) {
      for (const amount of amounts) {
        const uuid = siege.request(10_000 + turn, amount);
        await siege.world.clock.advance(10);
        if (siege.isReserved(uuid)) siege.connect(10_000 + turn, uuid);
      }
      await siege.world.clock.advance(20_000 - 10 * amounts.length);
      if (siege.free() < 50) more++;
    }
    console.log(`fresh keys held more than half ${((100 * more) / turns).toFixed(1)} % of 12 hours`);
    expect(more).toBeGreaterThan(0);
    expect(more / turns).toBeLessThan(0.05);
  },
);

test("a fresh key gets a whole order when nothing else is open, and has 10 s to connect", async () => {
  const siege = await Siege.open("90");
  const uuid = siege.request(5, "90");
  await siege.world.clock.advance(9_000);
  expect(siege.isReserved(uuid)).toBe(true);
  siege.connect(5, uuid);
  await siege.world.clock.advance(100);
  expect(siege.maker.swaps.started).toHaveLength(1);
  const other = await Siege.open("90");
  const late = other.request(5, "90");
  await other.world.clock.advance(11_000);
  expect([other.isReserved(late), other.free()]).toEqual([false, 100]);
  // and not again at once
  const again = other.request(6, "90");
  await other.world.clock.advance(100);
  expect(other.isReserved(again)).toBe(false);
  await other.world.clock.advance(20_000);
  const after = other.request(7, "90");
  await other.world.clock.advance(100);
  expect(other.isReserved(after)).toBe(true);
});

test("a key with history takes the place of a fresh one that holds more than its share and has not connected", async () => {
  const siege = await Siege.open();
  await friend(siege, 1);
  const whole = siege.request(99, "85");
  await siege.world.clock.advance(10);
  expect(siege.isReserved(whole)).toBe(true);
  const small = siege.request(2, "40");
  await siege.world.clock.advance(10);
  expect([siege.isReserved(whole), siege.isReserved(small)]).toEqual([true, false]);
  const uuid = siege.request(1, "40");
  await siege.world.clock.advance(10);
  expect([siege.isReserved(whole), siege.isReserved(uuid)]).toEqual([false, true]);
  siege.connect(99, whole);
  await siege.world.clock.advance(10);
  expect(siege.maker.swaps.started.map((m) => m.uuid)).not.toContain(whole);
});

test("within its share a fresh key has 15 s to connect, one with history 30 s", async () => {
  const siege = await Siege.open();
  await friend(siege, 1);
  const [fresh, known] = [siege.request(50, "10"), siege.request(1, "10")];
  await siege.world.clock.advance(14_000);
  expect([siege.isReserved(fresh), siege.isReserved(known)]).toEqual([true, true]);
  await siege.world.clock.advance(3_000);
  expect([siege.isReserved(fresh), siege.isReserved(known)]).toEqual([false, true]);
  await siege.world.clock.advance(15_000);
  expect(siege.isReserved(known)).toBe(false);
});

test("a taker that connects to a whole order and never pays has bought nothing: the order is there again", async () => {
  const siege = await Siege.open("90");
  const order = siege.maker.orders.myOrders().makers[0]?.uuid;
  const uuid = siege.request(5, "90");
  await siege.world.clock.advance(100);
  siege.connect(5, uuid);
  await siege.world.clock.advance(SILENT_SWAP_MS / 2);
  expect(siege.available()).toBe(0);
  await siege.world.clock.advance(SILENT_SWAP_MS);
  expect([siege.maker.orders.myOrders().makers[0]?.uuid, siege.available()]).toEqual([order, 90]);
  await siege.maker.restart();
  expect(siege.available()).toBe(90);
});

test("what a taker that never pays had is there again though the disk refuses it when its swap ends", async () => {
  const siege = await Siege.open("90");
  const uuid = siege.request(5, "90");
  await siege.world.clock.advance(100);
  siege.connect(5, uuid);
  await siege.world.clock.advance(SILENT_SWAP_MS / 2);
  siege.maker.disk.fail = true;
  await siege.world.clock.advance(SILENT_SWAP_MS);
  expect([siege.maker.disk.fail, siege.available()]).toEqual([false, 90]);
  await siege.maker.restart();
  expect(siege.available()).toBe(90);
});

test("a whole order that is paid for ends as fulfilled, once it is paid for", async () => {
  const siege = await Siege.open("90");
  siege.honest.add(toHex(keyOf(5)));
  const uuid = siege.request(5, "90");
  await siege.world.clock.advance(100);
  siege.connect(5, uuid);
  await siege.world.clock.advance(1_500);
  expect(siege.maker.orders.myOrders().makers).toHaveLength(1);
  await siege.world.clock.advance(3_000);
  expect(siege.maker.orders.myOrders().makers).toEqual([]);
});

test("tiny requests of many keys, before and after they connect, hold at most half of what pays fees; a key with history is served", async () => {
  // Enough for the claims of ten swaps.
  const ETH = new FakeAccountCoin("ETH", toDecimalString(rational(10n * GAS.claim.n, GAS.claim.d)));
  const siege = await Siege.open("0.5", "TOK", [ETH, new FakeAccountCoin("TOK", "1000", ETH)]);
  siege.honest.add(toHex(keyOf(1)));
  const first = siege.request(1, "1");
  await siege.world.clock.advance(100);
  siege.connect(1, first);
  await siege.world.clock.advance(5_000);
  expect(siege.policy.isKnown(toHex(keyOf(1)), "AAA")).toBe(true);
  const strange = Array.from({ length: 10 }, (_, i) => ({ key: 100 + i, uuid: siege.request(100 + i, "0.5") }));
  await siege.world.clock.advance(100);
  const reserved = strange.filter(({ uuid }) => siege.isReserved(uuid));
  expect(reserved.length).toBe(5);
  for (const { key, uuid } of reserved) siege.connect(key, uuid);
  await siege.world.clock.advance(1_000);
  const more = Array.from({ length: 10 }, (_, i) => siege.request(200 + i, "0.5"));
  await siege.world.clock.advance(100);
  expect(more.filter((uuid) => siege.isReserved(uuid))).toEqual([]);
  const known = siege.request(1, "1");
  await siege.world.clock.advance(100);
  expect(siege.isReserved(known)).toBe(true);
  // The swaps of the silent ones end, and others come in their place.
  siege.connect(1, known);
  await siege.world.clock.advance(SILENT_SWAP_MS);
  const later = siege.request(300, "0.5");
  await siege.world.clock.advance(1_000);
  expect(siege.isReserved(later)).toBe(true);
});

test("tiny requests of many keys, before and after they connect, use up at most half of the payments a coin can promise", async () => {
  const siege = await Siege.open();
  await friend(siege, 1);
  siege.maker.coin("AAA").mostReservations = 20;
  const ask = async (from: number): Promise<readonly { readonly key: number; readonly uuid: string }[]> => {
    const strange = Array.from({ length: 30 }, (_, i) => ({ key: from + i, uuid: siege.request(from + i, "0.5") }));
    await siege.world.clock.advance(100);
    return strange.filter(({ uuid }) => siege.isReserved(uuid));
  };
  const reserved = await ask(100);
  expect(reserved.length).toBe(10);
  for (const { key, uuid } of reserved) siege.connect(key, uuid);
  await siege.world.clock.advance(1_000);
  expect(await ask(200)).toEqual([]);
  for (let n = 0; n < 5; n++) {
    const known = siege.request(1, "1");
    await siege.world.clock.advance(100);
    expect([n, siege.isReserved(known)]).toEqual([n, true]);
  }
  // The swaps of the silent ones end, and others come in their place.
  await siege.world.clock.advance(SILENT_SWAP_MS);
  const later = siege.request(300, "0.5");
  await siege.world.clock.advance(1_000);
  expect(siege.isReserved(later)).toBe(true);
});

test("a request for more than there is at the moment, again and again, keeps nobody from getting less", async () => {
  const siege = await Siege.open();
  // Of swaps that are paid for.
  expect(siege.maker.coin("AAA").reserve([decimal("60")]).ok).toBe(true);
  for (let n = 0; n < 10; n++) {
    siege.request(100 + n, "45");
    const honest = siege.request(200 + n, "1");
    await siege.world.clock.advance(250);
    expect([n, siege.isReserved(honest)]).toEqual([n, true]);
  }
});

test("what keys that never pay hold, fees included, cuts no order, and ends none that gives all or nothing", async () => {
  const siege = await Siege.open("0.5", "BBB", [new FakeTradingCoin("CCC")]);
  const placed = await siege.maker.orders.placeMakerOrder({
    ...{ base: "AAA", rel: "CCC", price: decimal("2") },
    ...{ volume: decimal("99.9999"), minVolume: decimal("99.9999") },
  });
  expect(placed.ok).toBe(true);
  const strange = Array.from({ length: 20 }, (_, i) => ({ key: 100 + i, uuid: siege.request(100 + i, "0.5") }));
  await siege.world.clock.advance(1_000);
  const volumes = () => siege.maker.orders.myOrders().makers.map((o) => toDecimalString(o.maxBaseVol));
  expect([siege.maker.coin("AAA").openReservations, volumes()]).toEqual([20, ["90", "99.9999"]]);
  for (const { key, uuid } of strange) siege.connect(key, uuid);
  await siege.world.clock.advance(SILENT_SWAP_MS / 2);
  expect([siege.maker.swaps.started.length, volumes()]).toEqual([20, ["90", "99.9999"]]);
  await siege.world.clock.advance(SILENT_SWAP_MS);
  expect([siege.maker.coin("AAA").openReservations, volumes()]).toEqual([0, ["90", "99.9999"]]);
});

test("old requests of a key with history, said again by somebody for hours, take nothing of what its history opens", async () => {
  const siege = await Siege.open();
  await friend(siege, 1);
  const old = Array.from({ length: 4 }, () => siege.request(1, "1"));
  await siege.world.clock.advance(60_000);
  let heldLater = 0;
  for (let turn = 0; turn < 200; turn++) {
    for (const uuid of old) siege.request(1, "1", uuid);
    await siege.world.clock.advance(1_000);
    if (turn >= 10) heldLater += old.filter((uuid) => siege.isReserved(uuid)).length;
    await siege.world.clock.advance(39_000);
  }
  expect([heldLater, siege.policy.isKnown(toHex(keyOf(1)), "AAA")]).toEqual([0, true]);
});

test("fresh keys that end each swap as soon as it is there have few written down, and keys with history are served all the while", async () => {
  const siege = await Siege.open();
  await friend(siege, 1);
  siege.vainMs = 400;
  const begun = (): number => siege.maker.swaps.started.length;
  const before = begun();
  const turns = 3_000;
  let served = 0;
  for (let turn = 0; turn < turns; turn++) {
    const uuid = siege.request(1_000 + turn, "0.5");
    await siege.world.clock.advance(50);
    siege.connect(1_000 + turn, uuid);
    await siege.world.clock.advance(950);
    if (turn % 600 !== 599) continue;
    const known = siege.request(1, "1");
    await siege.world.clock.advance(50);
    if (siege.isReserved(known)) served++;
  }
  console.log(`of ${turns} swaps that fresh keys would have had in vain in 50 minutes, ${begun() - before} were begun`);
  expect(served).toBe(5);
  expect(begun() - before).toBeGreaterThan(1_000);
  expect(begun() - before).toBeLessThan(1_000 + turns / 20 + 10);
  expect(siege.log.lines.at(-1)?.fields).toMatchObject({ reason: "too_often_in_vain" });
  // Who comes when the others are gone is served.
  await siege.world.clock.advance(60_000);
  siege.honest.add(toHex(keyOf(2)));
  const uuid = siege.request(2, "1");
  await siege.world.clock.advance(50);
  expect(siege.isReserved(uuid)).toBe(true);
});
