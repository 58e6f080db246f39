import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts", "scripts/**/*.test.ts", "bench/**/*.test.ts"],
    exclude: ["test/e2e/**", "test/interop/**", "test/fuzz/**"],
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 90_000,
  },
});
