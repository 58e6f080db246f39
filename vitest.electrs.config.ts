import { defineConfig } from "vitest/config";
import { LOADED_BY_NODE } from "./vitest.config.ts";

/** Swaps on a real electrs over litecoind; see CONTRIBUTING.md for the programs it needs. */
export default defineConfig({
  test: {
    ...LOADED_BY_NODE,
    include: ["test/interop/electrs.test.ts"],
    setupFiles: ["test/e2e/support/portShare.ts"],
    testTimeout: 300_000,
    hookTimeout: 120_000,
  },
});
