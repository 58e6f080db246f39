import { beforeEach, expect, test } from "vitest";
import { FakeAccountChain } from "../../../../test/fakes/fakeAccountChain.ts";
import { SilentLog } from "../../../../test/fakes/silentLog.ts";
import { VirtualClock } from "../../../adapters/virtualClock/virtualClock.ts";
import type { EvmAddress } from "../../../core/evm/address.ts";
import { err, ok } from "../../../core/util/result.ts";
import { TokenTrials } from "./tokenTrials.ts";

const OWNER = "0a".repeat(20) as EvmAddress;
const token = "70".repeat(20) as EvmAddress;
const contract = "5a".repeat(20) as EvmAddress;
const { signal } = new AbortController();
const MINUTE_MS = 60_000;

let chain: FakeAccountChain;
let clock: VirtualClock;
/** How much the wall clock is ahead. */
let skewMs: number;
let trials: TokenTrials;
beforeEach(async () => {
  chain = new FakeAccountChain();
  clock = new VirtualClock();
  skewMs = 0;
  const skewed = { nowMs: () => clock.nowMs() + skewMs, after: clock.after.bind(clock) };
  trials = new TokenTrials({ chain, address: OWNER, clock: skewed, log: new SilentLog() });
  chain.tokenBalances.set(token, 1_000n);
  await chain.watchTokens(OWNER, [token]);
  trials.follow({ token, contract });
});

const tenthKept = (amount: bigint) =>
  ok({ left: amount, arrived: (amount * 9n) / 10n, leftBack: amount, arrivedBack: (amount * 9n) / 10n });

test("a token that arrives whole, there and back, is no obstacle, and is not tried again for a while", async () => {
  await trials.look(token);
  expect(trials.obstacle(token)).toBeNull();
  expect([await trials.check({ token, contract }, 10n, signal), chain.trips]).toEqual([null, 1]);
  await clock.advance(11 * MINUTE_MS);
  expect([await trials.check({ token, contract }, 10n, signal), chain.trips]).toEqual([null, 2]);
});

test("a token that keeps a part is refused with the numbers, until it stops doing so", async () => {
  chain.trip = tenthKept;
  await trials.look(token);
  expect(trials.obstacle(token)).toMatch(
    /keeps a part of what it moves, .* of 500 units 500 left and 450 arrived at the swap contract 0x5a/i,
  );
  expect(await trials.check({ token, contract }, 10n, signal)).toMatch(/of 10 units 10 left and 9 arrived/);
  chain.trip = () => null;
  trials.start();
  await clock.advance(MINUTE_MS);
  chain.mine();
  await trials.close();
  expect(trials.obstacle(token)).toBeNull();
});

test("one that takes more than the amount from the contract, or brings less back, is refused", async () => {
  for (const wrong of [{ leftBack: 501n }, { arrivedBack: 499n }]) {
    chain.trip = (amount) => ok({ left: amount, arrived: amount, leftBack: amount, arrivedBack: amount, ...wrong });
    await trials.look(token);
    expect(trials.obstacle(token)).toContain("cannot be swapped");
  }
});

test("one that begins to keep a part is found out while its coin is enabled", async () => {
  trials.start();
  chain.mine();
  await clock.advance(11 * MINUTE_MS);
  expect(trials.obstacle(token)).toBeNull();
  chain.trip = tenthKept;
  chain.mine();
  await clock.advance(1);
  expect(trials.obstacle(token)).toContain("cannot be swapped");
  await trials.close();
});

test("a clock that is set back by hours has nothing count for longer: a token that begins to keep a part is found out, and one that is paused is tried again", async () => {
  const pair = { token, contract };
  expect(await trials.check(pair, 10n, signal)).toBeNull();
  skewMs = -8 * 60 * MINUTE_MS;
  expect([await trials.check(pair, 10n, signal), chain.trips]).toEqual([null, 1]);
  await clock.advance(11 * MINUTE_MS);
  chain.trip = tenthKept;
  expect(await trials.check(pair, 10n, signal)).toContain("keeps a part");
  skewMs = -16 * 60 * MINUTE_MS;
  chain.trip = () => null;
  trials.start();
  chain.mine();
  await clock.advance(MINUTE_MS);
  chain.mine();
  await trials.close();
  expect(trials.obstacle(token)).toBeNull();
});

test("nodes that cannot try it: a contract of this program needs no trial, any other is not paid", async () => {
  chain.trip = () => err({ kind: "Refused", message: "The nodes know no state overrides." });
  expect(await trials.check({ token, contract }, 10n, signal)).toMatch(
    /whether token .* arrives whole .* is not known: The nodes know no state overrides/,
  );
  chain.ownSwapContracts.add(contract);
  expect(await trials.check({ token, contract }, 10n, signal)).toBeNull();
});

test("nodes that are away: what was found stays, and what was never found out is not paid", async () => {
  const away = () => err({ kind: "Unreachable", message: "nobody answers" } as const);
  await trials.look(token);
  chain.trip = away;
  await trials.look(token);
  expect(trials.obstacle(token)).toBeNull();
  const other = "5b".repeat(20) as EvmAddress;
  expect(await trials.check({ token, contract: other }, 10n, signal)).toMatch(/is not known: nobody answers/);
});

test("a token the account has nothing of is not tried", async () => {
  chain.tokenBalances.set(token, 0n);
  chain.trip = tenthKept;
  await trials.look(token);
  expect([trials.obstacle(token), chain.trips]).toEqual([null, 0]);
});

/** Moves up to `most` at a time. */
const upTo = (most: bigint) => (amount: bigint) =>
  amount <= most ? null : err({ kind: "Reverted", data: null, message: "Too much at once." } as const);
const amounts: bigint[] = [];
const noted = (trip: FakeAccountChain["trip"]) => (amount: bigint) => {
  amounts.push(amount);
  return trip(amount);
};
beforeEach(() => amounts.splice(0));

test("a token that refuses much at a time is tried with less, and traded up to what arrived whole; more has a trial of its own", async () => {
  chain.trip = noted(upTo(20n));
  await trials.look(token);
  expect([amounts, trials.obstacle(token)]).toEqual([[500n, 15n], null]);
  expect([trials.limit(token, 15n), trials.limit(token, 16n)]).toEqual([
    null,
    expect.stringMatching(/moves 15 units to the swap contract and back, but was not found to move 16 at once: of 500 Too much at once/),
  ]);
  expect([await trials.check({ token, contract }, 15n, signal), amounts.length]).toEqual([null, 2]);
  expect([await trials.check({ token, contract }, 20n, signal), amounts.slice(2)]).toEqual([null, [20n]]);
  // What was found of less stands.
  expect(await trials.check({ token, contract }, 21n, signal)).toMatch(/moves 20 units .* to move 21 at once: of 21 Too much/);
  expect([amounts.slice(3), trials.obstacle(token)]).toEqual([[21n], null]);
});

test("a fee that rounds to nothing at what was tried shows at the amount that is paid", async () => {
  chain.tokenBalances.set(token, 20n);
  chain.trip = noted((units) => ok({ left: units, arrived: units - units / 100n, leftBack: units, arrivedBack: units - units / 100n }));
  await trials.look(token);
  expect([amounts, trials.obstacle(token)]).toEqual([[10n], null]);
  expect(await trials.check({ token, contract }, 99n, signal)).toBeNull();
  expect(await trials.check({ token, contract }, 100n, signal)).toMatch(/of 100 units 100 left and 99 arrived/);
  expect(amounts).toEqual([10n, 99n, 100n]);
});

test("one that keeps a part of much is refused, whatever it does with less; one that moves nothing is tried four times", async () => {
  chain.trip = noted((units) => (units > 100n ? tenthKept(units) : null));
  await trials.look(token);
  expect([amounts.splice(0), trials.obstacle(token)]).toEqual([[500n], expect.stringContaining("cannot be swapped")]);
  chain.tokenBalances.set(token, 10n ** 9n);
  chain.trip = noted(upTo(0n));
  await trials.look(token);
  expect([amounts.length, trials.obstacle(token)]).toEqual([
    4,
    expect.stringContaining("cannot be moved to the swap contract and back now: Too much"),
  ]);
});

test("nodes that go away: an amount beyond what was tried is not paid", async () => {
  await trials.look(token);
  chain.trip = () => err({ kind: "Unreachable", message: "nobody answers" } as const);
  expect(await trials.check({ token, contract }, 500n, signal)).toBeNull();
  expect(await trials.check({ token, contract }, 501n, signal)).toMatch(/is not known for 501 units, only for 500/);
});

test("a token that is enabled again is not known to arrive whole before it was tried again; one the account has nothing of may be received", async () => {
  expect(trials.obstacle(token)).toMatch(/whether token .* arrives whole .* is not known yet/);
  await trials.look(token);
  expect(trials.obstacle(token)).toBeNull();
  trials.follow({ token, contract });
  expect(trials.obstacle(token)).toContain("is not known yet");
  chain.tokenBalances.set(token, 0n);
  expect(trials.obstacle(token)).toBeNull();
});
