import { expect, test } from "vitest";
import { isOtherGeneration } from "./generation.ts";

test.each([
  ["kdf-2", "3.0.0-beta_a9fbf6096", true],
  ["kdf-3", "2.5.1-beta_a9fbf6096", true],
  ["kdf-2", "2.5.1-beta_a9fbf6096", false],
  ["kdf-3", "3.0.0-beta", false],
  ["kdf-2", "0.1.0_swapnode", false],
  ["kdf-2", "who knows", false],
  ["spec", "3.0.0-beta", false],
])("a node of profile %s and a relay that says %s cannot finish a swap: %s", (profile, version, other) => {
  expect(isOtherGeneration(profile, version)).toBe(other);
});
