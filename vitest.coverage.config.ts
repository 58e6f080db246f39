import { defineConfig } from "vitest/config";

/**
 * Branches of the swap machine and of the order machine that tests take (`npm run coverage`): the pure rules, and what runs them.
 * Only suites run that say what a step must do; the simulator's random worlds, the crash matrix and the adversaries come by most
 * branches too, but would hide that nothing looks at them. What a step must do where strangers show a chain is said by suites over Electrum
 * servers; those that repeat all scenarios there are left out. Fails below the thresholds.
 */
export default defineConfig({
  test: {
    include: [
      "src/core/{swap,order}/**/*.test.ts",
      "src/app/**/*.test.ts",
      "test/{swap,evm}/**/*.test.ts",
      "test/sim/**/*.test.ts",
      "test/electrum/{allConnectedLie,dustedContracts,finishedSwaps,inventedBlock,inventedPayment,keptPayment,newsOfSwaps}.test.ts",
      "test/rpc/recoverFunds.test.ts",
    ],
    exclude: ["test/sim/{chaos,seam,simRun,simEvm*}.test.ts"],
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 120_000,
    coverage: {
      provider: "v8",
      include: ["src/core/swap/**/*.ts", "src/app/swap/**/*.ts", "src/core/order/**/*.ts", "src/app/orders/**/*.ts"],
      exclude: ["**/*.test.ts"],
      reporter: ["text", "json"],
      reportsDirectory: "node_modules/.cache/coverage",
      thresholds: {
        branches: 95,
        "src/core/{swap,order}/**/*.ts": { branches: 98 },
      },
    },
  },
});
