import { defineConfig } from "vitest/config";
import { LOADED_BY_NODE } from "./vitest.config.ts";

/** Mutated input for every decoder of outside data; `FUZZ_RUNS` inputs each. */
export default defineConfig({
  test: { ...LOADED_BY_NODE, include: ["test/fuzz/**/*.test.ts"], maxWorkers: 2, testTimeout: 600_000 },
});
