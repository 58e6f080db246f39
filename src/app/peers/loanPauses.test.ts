import { expect, test } from "vitest";
import { VirtualClock } from "../../adapters/virtualClock/virtualClock.ts";
import { LoanPauses } from "./loanPauses.ts";

const HOUR_MS = 3_600_000;

test("a clock that is set back by hours makes no pause longer", () => {
  let nowMs = 100 * HOUR_MS;
  const pauses = new LoanPauses({ nowMs: () => nowMs, after: new VirtualClock().after });
  pauses.began("a", "order 1");
  pauses.failed("a", "handshake");
  expect(pauses.isPaused("order 1")).toBe(true);
  nowMs -= 8 * HOUR_MS;
  expect(pauses.isPaused("order 1")).toBe(true);
  nowMs += 20_000;
  expect(pauses.isPaused("order 1")).toBe(false);
});
