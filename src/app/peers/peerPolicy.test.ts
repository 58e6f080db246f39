import { expect, test } from "vitest";
import { SilentLog } from "../../../test/fakes/silentLog.ts";
import { swapTerms } from "../../../test/fakes/swapTerms.ts";
import { openInlineDatabase } from "../../adapters/sqlite/inlineDatabase.ts";
import { createPeerStore, PEER_SCHEMA } from "../../adapters/sqlite/peerStore.ts";
import { VirtualClock } from "../../adapters/virtualClock/virtualClock.ts";
import { decimal } from "../../core/money/rational.ts";
import type { SwapEvent, SwapTerms } from "../../core/swap/events.ts";
import { StorageError } from "../../ports/sql.ts";
import { PeerPolicy } from "./peerPolicy.ts";

const HOUR_MS = 3_600_000;
const key = (n: number): string => `02${n.toString(16).padStart(64, "0")}`;
const x = (n: number): string => key(n).slice(2);

function world(balance = "100") {
  const clock = new VirtualClock(1_795_000_000_000);
  const log = new SilentLog();
  const db = openInlineDatabase(":memory:", [PEER_SCHEMA]);
  const inner = createPeerStore(db);
  let full = false;
  const store = {
    ...inner,
    apply: (c: Parameters<typeof inner.apply>[0]) => (full ? Promise.reject(new StorageError("DiskFull", "full")) : inner.apply(c)),
  };
  const open = async (maxRecords = 10_000): Promise<PeerPolicy> => {
    const policy = new PeerPolicy({
      clock,
      log,
      store,
      maxRecords,
      coin: (t) => (t === "AAA" ? { spendable: decimal(balance), decimals: 8 } : null),
    });
    await policy.open();
    return policy;
  };
  return {
    clock,
    log,
    db,
    open,
    setFull: (on: boolean) => {
      full = on;
    },
  };
}

const terms = (n: number, role: "maker" | "taker", uuid: string): SwapTerms =>
  swapTerms(role, {
    uuid,
    makerCoin: "AAA",
    takerCoin: "BBB",
    takerAmount: "1/1",
    takerUnits: "100000000",
    startedAt: 1_795_000_000,
    counterparty: key(n),
    secretHash: null,
  });

let turn = 0;
/** Feeds a swap's events one by one, as the runner does. */
function swap(policy: PeerPolicy, n: number, role: "maker" | "taker", ...events: readonly SwapEvent[]): void {
  const uuid = `swap-${n}-${events.length}-${turn++}`;
  const log = [{ type: "started", terms: terms(n, role, uuid) } as const, ...events].map((event) => ({ v: 1, atMs: 0, event }) as const);
  for (let i = 1; i <= log.length; i++) policy.onSwapEvent(uuid, log.slice(0, i));
}
const failed = (event: string, theirFault?: true): readonly SwapEvent[] => [
  { type: "abandoned", failure: { event, reason: "because", ...(theirFault ? { theirFault } : {}) } },
  { type: "finished", outcome: "failed" },
];
const fee: SwapEvent = { type: "tx_received", slot: "fee", txid: "aa", raw: "00" };
const success: SwapEvent = { type: "finished", outcome: "success" };

test("signed contents that no accident explains ban a key, over restarts, until the ban expires", async () => {
  const { clock, open } = world();
  const policy = await open();
  swap(policy, 1, "maker", ...failed("TakerFeeValidateFailed", true));
  expect([key(1), `03${x(1)}`, x(1).toUpperCase(), key(2)].map((k) => policy.isBanned(k))).toEqual([true, true, true, false]);
  await policy.close();
  const later = await open();
  expect(later.banned()).toMatchObject([
    {
      pubkey: x(1),
      reason: { kind: "FailedSwap", side: "Maker", event: "TakerFeeValidateFailed", detail: "because" },
      untilMs: clock.nowMs() + HOUR_MS,
    },
  ]);
  await clock.advance(HOUR_MS - 1);
  expect(later.isBanned(key(1))).toBe(true);
  await clock.advance(1);
  expect([later.isBanned(key(1)), later.banned()]).toEqual([false, []]);
  await later.close();
  // the second offence is known after another restart
  const third = await open();
  swap(third, 1, "taker", ...failed("MakerPaymentValidateFailed", true));
  expect(third.banned()).toMatchObject([{ reason: { side: "Taker" }, untilMs: clock.nowMs() + 4 * HOUR_MS }]);
});

test.each<[string, "maker" | "taker", readonly SwapEvent[]]>([
  ["never negotiates", "maker", failed("NegotiateFailed")],
  ["never pays its fee", "maker", failed("TakerFeeValidateFailed")],
  [
    "never pays",
    "maker",
    [
      fee,
      { type: "refund_decided", failure: { event: "TakerPaymentValidateFailed", reason: "" } },
      { type: "finished", outcome: "refunded" },
    ],
  ],
  [
    "pays too late for a congested chain",
    "maker",
    [
      fee,
      { type: "refund_decided", failure: { event: "TakerPaymentWaitConfirmFailed", reason: "" } },
      { type: "finished", outcome: "refunded" },
    ],
  ],
  ["maker never negotiates", "taker", failed("NegotiateFailed")],
  ["maker never pays", "taker", failed("MakerPaymentValidateFailed")],
  ["maker's payment confirms late", "taker", failed("MakerPaymentWaitConfirmFailed")],
  [
    "maker never claims",
    "taker",
    [
      { type: "refund_decided", failure: { event: "TakerPaymentWaitForSpendFailed", reason: "" } },
      { type: "finished", outcome: "refunded" },
    ],
  ],
])("a key that %s is never banned, however often", async (_, role, events) => {
  const { open } = world();
  const policy = await open();
  for (let i = 0; i < 100; i++) swap(policy, 1, role, ...events);
  for (let i = 0; i < 100; i++) policy.onNeverConnected(`u${i}`, key(1));
  expect([policy.isBanned(key(1)), policy.banned()]).toEqual([false, []]);
});

test("a key that fell silent once is suspect for ten minutes, others are not", async () => {
  const { clock, open } = world();
  const policy = await open();
  policy.onNeverConnected("u", key(1));
  expect([policy.isSuspect(key(1)), policy.isSuspect(key(2))]).toEqual([true, false]);
  await clock.advance(599_000);
  expect(policy.isSuspect(key(1))).toBe(true);
  await clock.advance(1_000);
  expect(policy.isSuspect(key(1))).toBe(false);
});

test.each([
  ["maker", "TakerPaymentWaitConfirmFailed", "takerPayment"],
  ["taker", "MakerPaymentWaitConfirmFailed", "makerPayment"],
] as const)("to a %s a payment that was only announced is none; one that was on the chain is late", async (role, event, slot) => {
  const { log, open } = world();
  const policy = await open();
  const grades = (): unknown[] => log.lines.filter((l) => l.event === "peer_graded").map(({ fields }) => [fields.silence, fields.is]);
  const seen: SwapEvent = { type: "tx_seen", slot, txid: "aa", raw: "00", block: null };
  swap(policy, 1, role, seen, ...failed(event));
  swap(policy, 2, role, { type: "tx_received", slot, txid: "aa", raw: "00" }, ...failed(event));
  expect(grades()).toEqual([
    ["late", "note"],
    ["noPayment", "throttle"],
  ]);
});

test("our own trouble says nothing of the other side", async () => {
  const { log, open } = world();
  const policy = await open();
  for (let i = 0; i < 20; i++) {
    swap(
      policy,
      1,
      "maker",
      fee,
      { type: "refund_decided", failure: { event: "MakerPaymentWaitConfirmFailed", reason: "" } },
      { type: "finished", outcome: "cancelled" },
    );
    swap(policy, 1, "taker", ...failed("TakerFeeSendFailed"));
  }
  expect(log.lines).toEqual([]);
});

test("finished swaps are a history over restarts, silence throttles it, and the next good swap restores it", async () => {
  const { open } = world();
  const policy = await open();
  swap(policy, 1, "maker", fee, success);
  await policy.close();
  const later = await open();
  expect([later.isKnown(key(1), "AAA"), later.isKnown(key(1), "CCC"), later.isKnown(key(2), "AAA")]).toEqual([true, false, false]);
  swap(later, 1, "maker", ...failed("NegotiateFailed"));
  swap(later, 1, "maker", ...failed("NegotiateFailed"));
  expect(later.isKnown(key(1), "AAA")).toBe(false);
  const ask = { sender: key(1), coin: "AAA", orderUuid: "o", orderAvailable: decimal("100"), held: [], hasRoom: () => true };
  expect([later.mayReserve({ ...ask, amount: decimal("12.5") }).kind, later.mayReserve({ ...ask, amount: decimal("12.6") })]).toEqual([
    "granted",
    { kind: "refused", reason: "throttled" },
  ]);
  swap(later, 1, "maker", fee, success);
  expect(later.isKnown(key(1), "AAA")).toBe(true);
});

test("swaps count against the share until their fee is there, also those of a former run", async () => {
  const { open } = world("10");
  const policy = await open();
  const started = [{ v: 1, atMs: 0, event: { type: "started", terms: terms(1, "maker", "u") } }] as const;
  policy.resume("u", started);
  const ask = { sender: key(2), coin: "AAA", orderUuid: "o", orderAvailable: decimal("10"), held: [], hasRoom: () => true };
  expect([policy.mayReserve({ ...ask, amount: decimal("3") }).kind, policy.mayReserve({ ...ask, amount: decimal("3.1") }).kind]).toEqual([
    "granted",
    "refused",
  ]);
  policy.onSwapEvent("u", [...started, { v: 1, atMs: 0, event: fee }]);
  expect(policy.mayReserve({ ...ask, amount: decimal("5") }).kind).toBe("granted");
});

test("a swap whose record was cut holds nothing before its payment, and one whose payment is found was paid for, though no fee is in its record", async () => {
  const { open } = world("10");
  const policy = await open();
  const stored = (event: SwapEvent) => ({ v: 1, atMs: 0, event }) as const;
  const log = ([{ type: "started", terms: terms(1, "maker", "u") }, { type: "record_cut" }] as const).map(stored);
  policy.resume("u", log);
  const ask = { sender: key(2), coin: "AAA", orderUuid: "o", orderAvailable: decimal("10"), held: [], hasRoom: () => true };
  expect([policy.isUnpaid("u"), policy.mayReserve({ ...ask, amount: decimal("5") }).kind]).toEqual([true, "granted"]);
  for (const event of [{ type: "tx_attempted", slot: "makerPayment" }, success] as const) {
    log.push(stored(event));
    expect(policy.onSwapEvent("u", [...log])).toBeNull();
  }
});

test("the operator bans for good or for a time, once, over restarts, and lifts the ban with what it was for", async () => {
  const { clock, open } = world();
  const policy = await open();
  expect([policy.ban(key(1), "rude", null), policy.ban(x(1), "again", null), policy.ban(key(2), "a minute", 60_000)]).toEqual([
    "done",
    "banned_already",
    "done",
  ]);
  swap(policy, 1, "maker", ...failed("NegotiateFailed", true));
  await policy.close();
  const later = await open();
  await clock.advance(60_000);
  expect(later.banned()).toEqual([{ pubkey: x(1), reason: { kind: "Manual", reason: "rude" }, untilMs: null }]);
  expect(later.unban(key(1))).toMatchObject({ reason: { kind: "Manual" } });
  expect([later.unban(key(1)), later.isBanned(key(1))]).toEqual([null, false]);
  swap(later, 1, "maker", ...failed("NegotiateFailed", true));
  expect(later.banned()).toMatchObject([{ untilMs: clock.nowMs() + HOUR_MS }]);
});

test("the keys remembered are bounded: suspicion goes first, then bans for swaps, then history, the operator's bans never", async () => {
  const { open } = world();
  const policy = await open(100);
  policy.ban(key(0), "stays", null);
  swap(policy, 1, "maker", fee, success);
  for (let n = 2; n <= 99; n++) swap(policy, n, "maker", ...failed("NegotiateFailed", n % 2 === 0 ? true : undefined));
  for (let n = 200; n < 250; n++) policy.ban(key(n), "x", null);
  const banned = (n: number): boolean => policy.isBanned(key(n));
  expect([banned(0), policy.isKnown(key(1), "AAA"), banned(2), banned(4)]).toEqual([true, true, false, true]);
  for (let n = 300; n < 349; n++) expect(policy.ban(key(n), "x", null)).toBe("done");
  expect([banned(98), policy.isKnown(key(1), "AAA"), policy.banned().length]).toEqual([false, false, 100]);
  expect(policy.ban(key(400), "one too many", null)).toBe("full");
});

test("keys of which only silence is known are not written to the disk", async () => {
  const { db, open } = world();
  const policy = await open();
  for (let n = 0; n < 20_000; n++) policy.onNeverConnected("u", key(n));
  swap(policy, 1, "maker", fee, success);
  await policy.close();
  expect((await db.read("SELECT id FROM peers")).map(({ id }) => id)).toEqual([x(1)]);
});

test("a full disk loses no ban: it is stored when there is space", async () => {
  const { clock, log, open, setFull } = world();
  const policy = await open();
  setFull(true);
  policy.ban(key(1), "rude", null);
  await clock.advance(31_000);
  expect([policy.isBanned(key(1)), (await open()).isBanned(key(1)), log.lines.some((l) => l.event === "peer_records_not_stored")]).toEqual([
    true,
    false,
    true,
  ]);
  setFull(false);
  await clock.advance(31_000);
  expect((await open()).isBanned(key(1))).toBe(true);
});

/** Requests of fresh keys that are each granted a tenth of AAA's balance as gas until one is refused. */
function gasMatches(policy: PeerPolicy, sender: string, open: readonly string[] = []): number {
  const held = open.map((other) => ({ sender: other, amount: decimal("10") }));
  while (policy.mayHoldFees({ sender, coin: "AAA", payer: "AAA", amount: decimal("10"), held }).kind === "granted") {
    held.push({ sender, amount: decimal("10") });
  }
  return held.length - open.length;
}

test("gas that began swaps hold, whose takers have paid nothing, counts against fresh keys after a restart, too", async () => {
  const w = world();
  const log = [1, 2, 3].map((n) => {
    const event = { type: "started", terms: { ...terms(n, "maker", `gas-${n}`), heldFees: [{ coin: "AAA", amount: "10/1" }] } } as const;
    return [{ v: 1, atMs: 0, event }] as const;
  });
  const policy = await w.open();
  for (const [i, stored] of log.entries()) policy.onSwapEvent(`gas-${i + 1}`, stored);
  expect(gasMatches(policy, key(9))).toBe(2);
  const again = await w.open();
  for (const [i, stored] of log.entries()) again.resume(`gas-${i + 1}`, stored);
  expect(gasMatches(again, key(9))).toBe(2);
  const paid = { v: 1, atMs: 0, event: { type: "tx_received", slot: "fee", txid: "aa", raw: "00" } } as const;
  again.onSwapEvent("gas-1", [...(log[0] ?? []), paid]);
  expect(gasMatches(again, key(9))).toBe(3);
});

test("a key with one tiny swap behind it is vouched for ten matches' gas, not for all of it; never for more than half", async () => {
  const w = world("1000");
  const policy = await w.open();
  swap(policy, 1, "maker", { type: "finished", outcome: "success" });
  const crowd = Array.from({ length: 50 }, (_, i) => key(100 + i));
  expect([gasMatches(policy, key(1), crowd), gasMatches(policy, key(2), crowd)]).toEqual([10, 0]);
  for (let i = 0; i < 9; i++) swap(policy, 1, "maker", { type: "finished", outcome: "success" });
  expect(gasMatches(policy, key(1), crowd)).toBe(50);
});

test("what keys without history have open counts as in vain until it is paid for, and one more may be in vain after twenty seconds", async () => {
  const { clock, open } = world();
  const policy = await open();
  swap(policy, 1, "maker", fee, success);
  const ask = (n: number, open = 0) => {
    const held = Array.from({ length: open }, (_, i) => ({ sender: key(50 + i), units: 1n, orderUuid: "other" }));
    const asked = { sender: key(n), coin: "AAA", amount: decimal("1"), orderUuid: "order", orderAvailable: decimal("90"), held };
    const share = policy.mayReserve({ ...asked, hasRoom: () => true });
    return share.kind === "refused" ? share.reason : share.kind;
  };
  for (let n = 0; n < 999; n++) swap(policy, 1_000 + n, "maker", ...failed("NegotiateFailed"));
  expect([ask(2), ask(2, 1)]).toEqual(["granted", "too_often_in_vain"]);
  swap(policy, 3, "maker");
  expect([ask(2), ask(1)]).toEqual(["too_often_in_vain", "granted"]);
  await clock.advance(20_000);
  expect(ask(2)).toBe("granted");
  swap(policy, 4, "maker", fee);
  expect(ask(2)).toBe("granted");
  swap(policy, 5, "maker", ...failed("NegotiateFailed"));
  expect(ask(2)).toBe("too_often_in_vain");
});

test("one request is held against a key with history once a day, however often somebody says it again", async () => {
  const { clock, open } = world();
  const policy = await open();
  swap(policy, 1, "maker", fee, success);
  for (let i = 0; i < 100; i++) policy.onNeverConnected("u", key(1));
  expect(policy.isKnown(key(1), "AAA")).toBe(true);
  for (let i = 0; i < 8; i++) policy.onNeverConnected(`u${i}`, key(1));
  expect([policy.isKnown(key(1), "AAA"), policy.hasHistory(key(1)), policy.hasHistory(key(2))]).toEqual([true, true, false]);
  policy.onNeverConnected("u8", key(1));
  expect([policy.isKnown(key(1), "AAA"), policy.hasHistory(key(1))]).toEqual([false, false]);
  await clock.advance(25 * HOUR_MS);
  expect(policy.isKnown(key(1), "AAA")).toBe(true);
});
