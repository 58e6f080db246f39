import { expect, test } from "vitest";
import { SilentLog } from "../../../test/fakes/silentLog.ts";
import { VirtualClock } from "../virtualClock/virtualClock.ts";
import { keepMemorySmall } from "./memoryKeeper.ts";

const MIB = 1024 * 1024;

function setUp() {
  const clock = new VirtualClock();
  const log = new SilentLog();
  const state = { resident: 150 * MIB, cpuMs: 0, busyShare: 0, releases: 0, releaseMs: 0, stoodMs: 0 };
  const standing = { nowMs: () => clock.nowMs() + state.stoodMs, after: clock.after.bind(clock) };
  const stop = keepMemorySmall(standing, log, {
    residentBytes: () => state.resident,
    cpuMs: () => state.cpuMs,
    release: async () => {
      state.releases++;
      state.stoodMs += state.releaseMs;
      state.resident = 110 * MIB;
    },
  });
  const pass = async (seconds: number): Promise<void> => {
    for (let s = 0; s < seconds; s++) {
      state.cpuMs += 1_000 * state.busyShare;
      await clock.advance(1_000);
    }
  };
  return { log, state, stop, pass };
}

test("the garbage of the start is given back in the first quiet moment, once", async () => {
  const { state, pass } = setUp();
  state.busyShare = 0.9;
  await pass(20);
  expect(state.releases).toBe(0);
  state.busyShare = 0.01;
  await pass(60);
  expect(state.releases).toBe(1);
});

test("what a burst of work leaves behind is given back when it is over, and small growth is left alone", async () => {
  const { state, pass } = setUp();
  await pass(6);
  state.resident += 20 * MIB;
  await pass(60);
  expect(state.releases).toBe(1);
  state.resident = 300 * MIB;
  state.busyShare = 0.5;
  await pass(30);
  expect(state.releases).toBe(1);
  state.busyShare = 0;
  await pass(11);
  expect(state.releases).toBe(2);
});

test("where small bursts come every few seconds, giving back takes a hundredth of the time at most", async () => {
  const { state, pass } = setUp();
  state.releaseMs = 500;
  await pass(6);
  expect(state.releases).toBe(1);
  for (let i = 0; i < 40; i++) {
    state.resident += 30 * MIB;
    await pass(3);
  }
  expect(state.releases).toBe(3);
});

test("once ended it does nothing more, and a release that fails does no harm", async () => {
  const clock = new VirtualClock();
  const log = new SilentLog();
  const release = (): Promise<void> => Promise.reject(new Error("no inspector"));
  const stop = keepMemorySmall(clock, log, { residentBytes: () => 200 * MIB, cpuMs: () => 0, release });
  await clock.advance(7_000);
  expect(log.lines.map(({ event }) => event)).toEqual(["memory_not_released", "memory_not_released"]);
  stop();
  await clock.advance(60_000);
  expect(log.lines).toHaveLength(2);
});
