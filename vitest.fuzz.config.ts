import { defineConfig } from "vitest/config";

/** Mutated input for every decoder of outside data; `FUZZ_RUNS` inputs each. */
export default defineConfig({
  test: { include: ["test/fuzz/**/*.test.ts"], pool: "forks", maxWorkers: 2, testTimeout: 600_000 },
});
