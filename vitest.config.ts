import { configDefaults, defineConfig } from "vitest/config";

/** Stand in for modules of their own: what a file before them has loaded already stays what it is. */
const OWN_MODULES = ["src/rpc/auth.test.ts", "src/adapters/system/nativeVerifier.test.ts"];
/**
 * Files are loaded by Node itself, as the product is. Vite's runner takes five times as long to load them, and looks up every imported name
 * at each use.
 */
export const LOADED_BY_NODE = { pool: "forks" as const, experimental: { viteModuleRunner: false, nodeLoader: false } };
const common = { maxWorkers: 2, testTimeout: 90_000 };

/**
 * Files beside the code share a process, one after another: loading the code anew for each of them took longer than to run them. Worlds
 * of whole nodes have a process of their own.
 */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...LOADED_BY_NODE,
          ...common,
          name: "beside the code",
          include: ["src/**/*.test.ts", "sim/**/*.test.ts", "scripts/**/*.test.ts", "bench/**/*.test.ts"],
          exclude: [...configDefaults.exclude, ...OWN_MODULES],
          isolate: false,
        },
      },
      {
        test: {
          ...LOADED_BY_NODE,
          ...common,
          name: "apart",
          include: ["test/**/*.test.ts"],
          exclude: [...configDefaults.exclude, "test/e2e/**", "test/interop/**", "test/fuzz/**"],
        },
      },
      { test: { ...common, name: "with stand-ins", pool: "forks" as const, include: OWN_MODULES } },
    ],
  },
});
