import { expect, test } from "vitest";
import { soakOptions } from "../../sim/run/soakOptions.ts";

test("a soak has Electrum servers in every world when asked to, and none otherwise", () => {
  expect([1, 2].map((seed) => soakOptions(["--electrum", "30%"])?.worldAt(seed).electrum)).toEqual([0.3, 0.3]);
  expect(soakOptions([])?.worldAt(1).electrum).toBe(0);
  expect(() => soakOptions(["--electrum", "3"])).toThrow(RangeError);
  expect(soakOptions(["--help"])).toBeNull();
});
