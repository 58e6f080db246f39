import { defineConfig } from "vitest/config";

/** Whole processes, real daemons, the packed package: one at a time, because each measures time. */
export default defineConfig({
  test: {
    include: ["test/e2e/**/*.test.ts", "test/interop/**/*.test.ts"],
    pool: "forks",
    maxWorkers: 1,
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 120_000,
  },
});
