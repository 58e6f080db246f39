import { expect, test } from "vitest";
import {
  ampleLimit,
  asCall,
  CONTRACT_GAS,
  callGas,
  lacks,
  leastLimit,
  MOST_NEEDED,
  MOST_TRANSFER,
  mostEstimate,
  NO_DATA,
  NO_GAS,
  payoutGas,
  txGas,
  withoutBeside,
  withRoom,
} from "./gasFigures.ts";

const USUAL = callGas(150_000n);

test("one is signed with a third more than was needed, and twice its data; it lacks gas once a call needs all of that, and its data as it is", () => {
  expect(ampleLimit(USUAL, NO_GAS, NO_DATA)).toBe(150_000n);
  const [found, data] = [callGas(200_000n), withRoom(400_000n)];
  expect([leastLimit(USUAL, NO_GAS, data), leastLimit(USUAL, found, data)]).toEqual([550_000n, 600_000n]);
  expect(ampleLimit(USUAL, found, data)).toBe(260_000n + 800_000n);
  // Twice as dear, and with what a third more than was found needs, it has enough still.
  const signed = ampleLimit(USUAL, found, data);
  expect([260_000n, 260_001n].map((gas) => lacks(signed, leastLimit(USUAL, callGas(gas), withRoom(800_000n))))).toEqual([false, true]);
});

test("data is in an estimate, and not in what its call is noted to need", () => {
  const estimate = txGas(500_000n);
  expect([withoutBeside(estimate, 400_000n), asCall(estimate)]).toEqual([100_000n, 500_000n]);
  expect(mostEstimate(MOST_NEEDED, withRoom(400_000n))).toBe(MOST_NEEDED + 800_000n);
});

test("the most that is found to need is signed with as much as any, and is a transfer and the contract beside", () => {
  expect(ampleLimit(USUAL, MOST_NEEDED, NO_DATA)).toBeLessThanOrEqual(1_500_000n);
  expect(ampleLimit(USUAL, callGas(MOST_NEEDED + 1n), NO_DATA)).toBeGreaterThan(1_500_000n - 1n);
  expect([payoutGas(MOST_TRANSFER), payoutGas(NO_GAS)]).toEqual([MOST_NEEDED, CONTRACT_GAS]);
});
