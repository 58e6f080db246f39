import { expect, test } from "vitest";
import { VirtualClock } from "../../../adapters/virtualClock/virtualClock.ts";
import { FoundGas } from "./foundGas.ts";
import { callGas } from "./gasFigures.ts";

const clock = new VirtualClock();
const pass = (seconds: number): Promise<unknown> => clock.run({ untilMs: clock.nowMs() + seconds * 1_000 });

test("the greatest figure of the last ten minutes counts; then a lower one that was found later", async () => {
  const found = new FoundGas(clock);
  expect(found.gas).toBe(0n);
  found.add(callGas(500n));
  await pass(300);
  found.add(callGas(900n));
  await pass(200);
  for (const gas of [200n, 400n, 300n]) found.add(callGas(gas));
  expect(found.gas).toBe(900n);
  await pass(399);
  expect(found.gas).toBe(900n);
  await pass(2);
  expect(found.gas).toBe(400n);
  await pass(198);
  expect(found.gas).toBe(400n);
  await pass(2);
  expect(found.gas).toBe(0n);
});

test("the same figure found again counts for longer", async () => {
  const found = new FoundGas(clock);
  found.add(callGas(700n));
  await pass(599);
  found.add(callGas(700n));
  await pass(599);
  expect(found.gas).toBe(700n);
});

test("ever lower figures take no more room than a few: no claim gets less than was found", async () => {
  const found = new FoundGas(clock);
  for (let gas = 1_000n; gas > 900n; gas--) {
    found.add(callGas(gas));
    await pass(1);
  }
  // The eighth of them stands for all that came after it.
  await pass(510);
  expect(found.gas).toBe(993n);
});
