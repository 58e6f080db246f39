import { defineConfig } from "vitest/config";
import { LOADED_BY_NODE } from "./vitest.config.ts";
import { BY_HAND } from "./vitest.slow.config.ts";

/** Swaps on programs that take CI too long to build; see CONTRIBUTING.md for them. */
export default defineConfig({
  test: {
    ...LOADED_BY_NODE,
    include: BY_HAND,
    maxWorkers: 1,
    setupFiles: ["test/e2e/support/portShare.ts"],
    testTimeout: 900_000,
    hookTimeout: 120_000,
  },
});
