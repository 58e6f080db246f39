import { expect, test } from "vitest";
import { isDoubtedRelay, isSpentRelay, NEW_RELAY, withRefutations } from "./relayGrade.ts";

const T = 1_795_000_000_000;
const HOUR = 3_600_000;

test("a relay is doubted for what was refuted until it is forgotten, and not for years after the clock was set back", () => {
  const r = withRefutations(NEW_RELAY, 30, T);
  expect([isDoubtedRelay(r, T), isDoubtedRelay(r, T + 4 * HOUR), isDoubtedRelay(r, T + 5 * HOUR), isSpentRelay(r, T + 5 * HOUR)]).toEqual([
    true,
    true,
    false,
    true,
  ]);
  expect([isDoubtedRelay(r, T - HOUR), isDoubtedRelay(r, T - 10_000 * HOUR)]).toEqual([true, false]);
});
