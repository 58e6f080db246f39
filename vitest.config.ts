import { configDefaults, defineConfig } from "vitest/config";

/** Stand in for modules of their own: what a file before them has loaded already stays what it is. */
const OWN_MODULES = ["src/rpc/auth.test.ts", "src/adapters/system/nativeVerifier.test.ts"];
const common = { pool: "forks" as const, maxWorkers: 2, testTimeout: 90_000 };

/**
 * Files beside the code share a process, one after another: loading the code anew for each of them took longer than to run them. Worlds
 * of whole nodes have a process of their own.
 */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...common,
          name: "beside the code",
          include: ["src/**/*.test.ts", "sim/**/*.test.ts", "scripts/**/*.test.ts", "bench/**/*.test.ts"],
          exclude: [...configDefaults.exclude, ...OWN_MODULES],
          isolate: false,
        },
      },
      {
        test: {
          ...common,
          name: "apart",
          include: ["test/**/*.test.ts", ...OWN_MODULES],
          exclude: [...configDefaults.exclude, "test/e2e/**", "test/interop/**", "test/fuzz/**"],
        },
      },
    ],
  },
});
