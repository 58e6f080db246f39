import { defineConfig } from "vitest/config";

/** Swaps on a real electrs over litecoind; see CONTRIBUTING.md for the programs it needs. */
export default defineConfig({
  test: {
    include: ["test/interop/electrs.test.ts"],
    pool: "forks",
    setupFiles: ["test/e2e/support/portShare.ts"],
    testTimeout: 300_000,
    hookTimeout: 120_000,
  },
});
