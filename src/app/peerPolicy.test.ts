import { expect, test } from "vitest";
import { quietLog } from "../../test/fakes/quietLog.ts";
import { VirtualClock } from "../adapters/virtualClock/virtualClock.ts";
import { decimal, type Rational, ZERO } from "../core/money/rational.ts";
import { PeerPolicy } from "./peerPolicy.ts";

const HOUR_MS = 3_600_000;
const key = (n: number): string => `02${n.toString(16).padStart(64, "0")}`;

/** `inSwaps`: what swaps with the first key hold that have no fee yet. */
function policy(balance = "10", inSwaps = "0"): { readonly clock: VirtualClock; readonly peers: PeerPolicy } {
  const clock = new VirtualClock();
  const unpaid = (_ticker: string, sender?: string): Rational => decimal(sender === undefined || sender === key(1) ? inSwaps : "0");
  return { clock, peers: new PeerPolicy({ clock, log: quietLog, spendable: (t) => (t === "AAA" ? decimal(balance) : null), unpaid }) };
}

test("bad faith bans a key for an hour, whichever half of the curve it is written on", async () => {
  const { clock, peers } = policy();
  peers.onBadFaith(key(1), "uuid", "TakerFeeValidateFailed");
  expect([key(1), `03${key(1).slice(2)}`, key(1).slice(2), key(2)].map((k) => peers.isBanned(k))).toEqual([true, true, true, false]);
  await clock.advance(HOUR_MS - 1);
  expect(peers.isBanned(key(1))).toBe(true);
  await clock.advance(1);
  expect([peers.isBanned(key(1)), peers.banned()]).toEqual([false, []]);
});

test("bad faith again starts the hour anew", async () => {
  const { clock, peers } = policy();
  peers.onBadFaith(key(1), "a", "NegotiateFailed");
  await clock.advance(HOUR_MS / 2);
  peers.onBadFaith(key(1), "b", "NegotiateFailed");
  await clock.advance(HOUR_MS - 1);
  expect(peers.banned()).toMatchObject([{ pubkey: key(1).slice(2), reason: { kind: "FailedSwap", swap: "b" } }]);
});

test("the operator bans for ever or for a time, once, and lifts the ban", async () => {
  const { clock, peers } = policy();
  expect([peers.ban(key(1), "rude", null), peers.ban(key(1), "again", null), peers.ban(key(2), "for a minute", 60_000)]).toEqual([
    true,
    false,
    true,
  ]);
  peers.onBadFaith(key(1), "a", "NegotiateFailed");
  await clock.advance(60_000);
  expect(peers.banned()).toEqual([{ pubkey: key(1).slice(2), reason: { kind: "Manual", reason: "rude" }, untilMs: null }]);
  expect(peers.unban(key(1))).toMatchObject({ reason: { kind: "Manual" } });
  expect([peers.unban(key(1)), peers.isBanned(key(1))]).toEqual([null, false]);
});

test("the list is bounded: bans for failed swaps make room, oldest first, those of the operator do not", () => {
  const { peers } = policy();
  peers.ban(key(0), "stays", null);
  for (let n = 1; n <= 10_000; n++) peers.onBadFaith(key(n), "swap", "NegotiateFailed");
  expect([peers.banned().length, peers.isBanned(key(0)), peers.isBanned(key(1)), peers.isBanned(key(2))]).toEqual([
    10_000,
    true,
    false,
    true,
  ]);
  for (let n = 20_001; n <= 29_999; n++) expect(peers.ban(key(n), "x", null)).toBe(true);
  expect([peers.ban(key(30_000), "one too many", null), peers.banned().length]).toEqual([false, 10_000]);
});

test("one sender's open handshakes hold at most half of a balance, unless nothing else is open", () => {
  const { peers } = policy("10");
  const may = (amount: string, held: string, all: string): boolean =>
    peers.mayReserve(key(1), "AAA", decimal(amount), decimal(held), decimal(all));
  expect(may("10", "0", "0")).toBe(true);
  expect([may("2", "3", "3"), may("2.1", "3", "3")]).toEqual([true, false]);
  expect([may("5", "0", "1"), may("5.1", "0", "1")]).toEqual([true, false]);
  expect(peers.mayReserve(key(1), "CCC", decimal("1"), ZERO, decimal("1"))).toBe(false);
});

test("swaps whose taker has not paid its fee count with the open handshakes", () => {
  const { peers } = policy("10", "4");
  const may = (sender: string, amount: string): boolean => peers.mayReserve(sender, "AAA", decimal(amount), ZERO, ZERO);
  expect([may(key(1), "1"), may(key(1), "1.1"), may(key(2), "5"), may(key(2), "5.1")]).toEqual([true, false, true, false]);
});
