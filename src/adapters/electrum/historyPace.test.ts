import { expect, test } from "vitest";
import { HistoryPace } from "./historyPace.ts";

test("a short history may be asked for at each change, a long one the less often the longer it is", () => {
  const pace = new HistoryPace();
  pace.told("a", "short", 99, 0);
  pace.told("a", "long", 4_000, 0);
  expect(pace.isDue("a", "short", 1)).toBe(true);
  expect(pace.isDue("a", "unknown", 1)).toBe(true);
  expect(pace.isDue("b", "long", 1)).toBe(true);
  expect(pace.isDue("a", "long", 99_999)).toBe(false);
  expect(pace.isDue("a", "long", 100_000)).toBe(true);
});

test("several long ones of a server wait for each other: all together cost no more than one", () => {
  const pace = new HistoryPace();
  const scripts = ["s0", "s1", "s2", "s3"];
  let lines = 0;
  for (let nowMs = 0; nowMs < 3_600_000; nowMs += 1_000) {
    for (const script of scripts) {
      if (!pace.isDue("a", script, nowMs)) continue;
      pace.told("a", script, 9_000, nowMs);
      lines += 9_000;
    }
  }
  // Fifty lines cost one, and one a second is forgiven.
  expect(lines / 50).toBeLessThan(3_600);
  pace.forget("s3");
  expect(pace.isDue("a", "s3", 3_600_000)).toBe(true);
});

test("a clock that was set back makes nothing late", () => {
  const pace = new HistoryPace();
  pace.told("a", "long", 4_000, 1_000_000);
  expect(pace.isDue("a", "long", 999_999)).toBe(true);
});

test("hundreds of histories that are just long do not keep a very long one waiting for hours, nor does that keep them waiting", () => {
  const pace = new HistoryPace();
  pace.told("a", "contract", 9_000, 0);
  for (let i = 0; i < 900; i++) pace.told("a", `s${i}`, 100, 0);
  expect(pace.isDue("a", "contract", 3_600_000)).toBe(true);
  pace.told("b", "address", 90_000, 0);
  pace.told("b", "contract", 100, 0);
  expect(pace.isDue("b", "contract", 30_000)).toBe(true);
  const scripts = [{ script: "contract", lines: 9_000 }, ...Array.from({ length: 90 }, (_, i) => ({ script: `s${i}`, lines: 100 }))];
  let asked = 0;
  for (const { script, lines } of scripts) pace.told("c", script, lines, 0);
  for (let nowMs = 0; nowMs < 3_600_000; nowMs += 1_000) {
    for (const { script, lines } of scripts.filter((s) => pace.isDue("c", s.script, nowMs))) {
      pace.told("c", script, lines, nowMs);
      asked += lines;
    }
  }
  expect(asked / 50).toBeLessThan(3_600);
});

test("a script over which a server was lost twice in a row is left alone there, and longer the more of them there are; once is chance", () => {
  const pace = new HistoryPace();
  pace.lostOver("a", "long", "status", 0);
  pace.statusTold("a", "long");
  pace.lostOver("a", "long", "status", 1_000);
  pace.lostOver("a", "long", "history", 2_000);
  expect(pace.isLost("a", "long", 3_000)).toBe(false);
  pace.lostOver("a", "long", "history", 90_000_000);
  expect(pace.isLost("a", "long", 90_499_999)).toBe(true);
  expect(pace.isLost("b", "long", 90_499_999)).toBe(false);
  expect(pace.isLost("a", "long", 90_500_001)).toBe(false);
  // Asked again, and lost again.
  pace.lostOver("a", "long", "history", 90_500_001);
  expect(pace.isLost("a", "long", 90_999_999)).toBe(true);
  for (const nowMs of [91_000_000, 91_000_001]) pace.lostOver("a", "other", "status", nowMs);
  expect(pace.isLost("a", "long", 91_400_000)).toBe(true);
  pace.told("a", "long", 5, 92_000_000);
  expect(pace.isLost("a", "long", 92_000_001)).toBe(false);
});

test("short histories that change without end are asked for at once while a server bears it, then in turns: one that changes seldom waits for none", () => {
  const pace = new HistoryPace();
  const noisy = Array.from({ length: 100 }, (_, i) => `noisy${i}`);
  const askedAtMs = new Map(noisy.map((script) => [script, 0]));
  let cost = 0;
  let longestMs = 0;
  for (const script of [...noisy, "seldom"]) pace.told("a", script, 1, 0);
  for (let nowMs = 5_000; nowMs < 3_600_000; nowMs += 5_000) {
    for (const script of noisy) {
      longestMs = Math.max(longestMs, nowMs - (askedAtMs.get(script) ?? 0));
      if (!pace.isDue("a", script, nowMs)) continue;
      const lines = Math.min(99, nowMs / 5_000);
      pace.told("a", script, lines, nowMs);
      askedAtMs.set(script, nowMs);
      // ElectrumX 1.15: for the call, what is sent, and what waits.
      cost += 0.45 + lines / 50 + lines / 50;
    }
    if (nowMs === 5_000) expect(cost).toBeGreaterThan(40);
    if (nowMs % 900_000 === 0) {
      expect(pace.isDue("a", "seldom", nowMs)).toBe(true);
      pace.told("a", "seldom", 2, nowMs);
    }
  }
  // One a second is forgiven.
  expect(cost).toBeLessThan(1_500 + 3_600);
  expect(longestMs).toBeLessThan(600_000);
  expect(pace.isDue("b", "noisy0", 3_600_000)).toBe(true);
});

test("long histories, short ones and what waits at each script cost a server together what it bears, and each has its turn", () => {
  const pace = new HistoryPace();
  const long = Array.from({ length: 40 }, (_, i) => `long ${i}`);
  const short = Array.from({ length: 40 }, (_, i) => `short ${i}`);
  const asked = new Map<string, number>();
  let cost = 0;
  const count = (what: string, all: number): void => {
    asked.set(what, (asked.get(what) ?? 0) + 1);
    cost += all;
  };
  for (let sec = 0; sec < 3_600; sec++) {
    for (const script of [...long, ...short]) {
      const lines = script.startsWith("long") ? 200 : 20;
      if (pace.isDue("server", script, sec * 1_000)) {
        pace.told("server", script, lines, sec * 1_000);
        count(script, lines / 50);
      }
      if (pace.isPoolDue("server", script, sec * 1_000)) {
        pace.poolTold("server", script, 60, sec * 1_000);
        count(`pool of ${script}`, 120 / 50);
      }
    }
  }
  // One a second is forgiven.
  expect(cost).toBeLessThan(3_600);
  // Of each at least every ten minutes.
  expect(asked.size).toBe(160);
  expect(Math.min(...asked.values())).toBeGreaterThanOrEqual(6);
  pace.forget("short 1");
  expect([pace.isDue("server", "short 1", 3_600_000), pace.isPoolDue("server", "short 1", 3_600_000)]).toEqual([true, true]);
});

test("histories of a thousand scripts, and what waits at each, are remembered", () => {
  const pace = new HistoryPace();
  for (let i = 0; i < 1_000; i++) {
    pace.told("server", `${i}`, 90, 0);
    pace.poolTold("server", `${i}`, 30, 0);
  }
  expect([pace.isDue("server", "0", 1_000), pace.isPoolDue("server", "0", 1_000)]).toEqual([false, false]);
});
