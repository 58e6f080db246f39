import { expect, test } from "vitest";
import { AskAgain } from "./askAgain.ts";

test("of what was refused ten thousand are remembered: those refused longest ago are due again", () => {
  const again = new AskAgain();
  const isDue = (key: string): boolean => again.isDue(key, 1_000);
  for (let i = 0; i < 10_000; i++) again.refused(`${i}`, 1_000);
  again.refused("0", 1_000);
  expect(["0", "1", "2", "9999"].filter(isDue)).toEqual([]);
  for (let i = 10_000; i < 10_002; i++) again.refused(`${i}`, 1_000);
  expect(["0", "1", "2", "3", "9999", "10001"].filter(isDue)).toEqual(["1", "2"]);
});
