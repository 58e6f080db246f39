import { beforeEach, expect, test } from "vitest";
import { FakeAccountChain } from "../../../../test/fakes/fakeAccountChain.ts";
import { SilentLog } from "../../../../test/fakes/silentLog.ts";
import { VirtualClock } from "../../../adapters/virtualClock/virtualClock.ts";
import type { EvmAddress } from "../../../core/evm/address.ts";
import { err, ok, type Result } from "../../../core/util/result.ts";
import type { CallRequest, ChainReadError } from "../../../ports/accountChain.ts";
import { ClaimTrials } from "./claimTrials.ts";

const CONTRACT = "5a".repeat(20) as EvmAddress;
const OTHER = "5b".repeat(20) as EvmAddress;
const { signal } = new AbortController();
const MINUTE_MS = 60_000;
const NOT_CARRIED_OUT = err({ kind: "Refused", message: "The ETH nodes refused the request: sender not an eoa." } as const);
const AWAY = err({ kind: "Unreachable", message: "Only 1 of the 2 ETH nodes answered." } as const);
const REVERTED = err({ kind: "Reverted", data: null, message: "The ETH chain would refuse the transaction." } as const);

let chain: FakeAccountChain;
let clock: VirtualClock;
let skewMs: number;
let trials: ClaimTrials;
let asked: CallRequest[];
let answer: Result<bigint, ChainReadError>;
beforeEach(() => {
  [chain, clock, asked, answer] = [new FakeAccountChain(), new VirtualClock(), [], ok(30_000n)];
  chain.estimate = (request) => {
    asked.push(request);
    return answer;
  };
  skewMs = 0;
  const wall = { nowMs: () => clock.nowMs() + skewMs, after: (ms: number, task: () => void) => clock.after(ms, task) };
  trials = new ClaimTrials({ chain, platform: "ETH", clock: wall, log: new SilentLog() });
});
const found = (): string | null => trials.obstacle([CONTRACT]);
async function block(): Promise<void> {
  chain.mine();
  await clock.advance(1);
}

test("a contract is asked of itself, moves nothing, and no token is asked", async () => {
  expect(await trials.check(CONTRACT, signal)).toBeNull();
  expect(asked).toMatchObject([{ from: CONTRACT, to: CONTRACT, value: 0n }]);
  expect(asked[0]?.data.length).toBe(4 + 32);
});

test("where data is paid for from the balance the contract is tried as though it had some, and nodes that refuse even so are in the way", async () => {
  await trials.check(CONTRACT, signal);
  chain.data = { gas: 21_000n, wei: 1n };
  await trials.check(CONTRACT, signal);
  expect(asked.map(({ isFunded }) => isFunded)).toEqual([false, true]);
  answer = err({ kind: "Refused", message: "The ETH nodes refused the request: daily request count exceeded." });
  expect(await trials.check(CONTRACT, signal)).toMatch(/do not say: .*daily request count exceeded/);
});

test.each([
  ["estimate", ok(30_000n), null],
  ["say that it would fail", REVERTED, null],
  [
    "do not carry it out",
    NOT_CARRIED_OUT,
    /0x5[aA].* would be paid, the nodes do not say: .*sender not an eoa; enable ETH with nodes that/,
  ],
  ["are too few that do", AWAY, /would be paid, the nodes do not say: Only 1 of the 2 .*answered; enable ETH with nodes that/],
] as const)("nodes that %s", async (_what, said, obstacle) => {
  answer = said;
  trials.follow(CONTRACT);
  await trials.look([CONTRACT]);
  const told = [found(), await trials.check(CONTRACT, signal)];
  expect(told).toEqual(obstacle === null ? [null, null] : [expect.stringMatching(obstacle), expect.stringMatching(obstacle)]);
});

test("before it was asked nothing is known; of two contracts both count, and what was found is not asked again by a look", async () => {
  for (const contract of [CONTRACT, OTHER]) trials.follow(contract);
  expect(found()).toMatch(/the nodes do not say$/);
  await trials.look([CONTRACT]);
  expect([found(), trials.obstacle([CONTRACT, OTHER])]).toEqual([null, expect.stringMatching(/0x5[bB]/)]);
  await trials.look([CONTRACT, OTHER]);
  expect([trials.obstacle([CONTRACT, OTHER]), asked.length]).toEqual([null, 2]);
});

test("it is asked again while money is not moving: every ten minutes, and every half minute where something is in the way", async () => {
  trials.follow(CONTRACT);
  trials.start();
  await block();
  expect([found(), asked.length]).toEqual([null, 1]);
  answer = NOT_CARRIED_OUT;
  await clock.advance(9 * MINUTE_MS);
  await block();
  expect([found(), asked.length]).toEqual([null, 1]);
  await clock.advance(MINUTE_MS);
  await block();
  expect(found()).toContain("do not say");
  answer = ok(30_000n);
  await clock.advance(MINUTE_MS / 2);
  await block();
  expect(found()).toBeNull();
  await trials.close();
});

test("nodes that are away for less than half a minute end no trade, but no money moves meanwhile", async () => {
  trials.follow(CONTRACT);
  trials.start();
  await block();
  answer = AWAY;
  await clock.advance(10 * MINUTE_MS);
  await block();
  expect([found(), asked.length]).toEqual([null, 2]);
  expect([await trials.check(CONTRACT, signal), found()]).toEqual([expect.stringContaining("Only 1 of the 2"), null]);
  await clock.advance(MINUTE_MS / 2);
  await block();
  expect([found(), asked.length]).toEqual([expect.stringContaining("Only 1 of the 2"), 4]);
  answer = ok(30_000n);
  expect(await trials.check(CONTRACT, signal)).toBeNull();
  answer = AWAY;
  await trials.check(CONTRACT, signal);
  expect(found()).toBeNull();
  await trials.close();
});

test("a clock that is set back by hours puts off no question: until it is asked nothing is received", async () => {
  answer = NOT_CARRIED_OUT;
  trials.follow(CONTRACT);
  trials.start();
  await block();
  answer = ok(30_000n);
  skewMs = -8 * 60 * MINUTE_MS;
  await block();
  await clock.advance(MINUTE_MS / 2);
  await block();
  expect(found()).toBeNull();
  await trials.close();
});

test("money moves only where they say it at that moment", async () => {
  expect(await trials.check(CONTRACT, signal)).toBeNull();
  answer = NOT_CARRIED_OUT;
  expect(await trials.check(CONTRACT, signal)).toContain("do not say");
});

test("what other nodes said, or were still being asked, says nothing of the ones in use", async () => {
  trials.follow(CONTRACT);
  const looking = trials.look([CONTRACT]);
  trials.forget();
  await looking;
  expect([asked.length, found()]).toEqual([1, expect.stringContaining("do not say")]);
  await trials.look([CONTRACT]);
  expect(found()).toBeNull();
});
