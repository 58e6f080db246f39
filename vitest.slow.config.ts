import { configDefaults, defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { LOADED_BY_NODE } from "./vitest.config.ts";

/** Whole processes and real daemons: most of their time is waiting for blocks, so two files share a machine of two cores. */
const WORKERS = 2;
/** Builds and removes `dist`, which `npx swapnode` of another file would run. */
const ALONE = ["test/e2e/pack.test.ts"];
/** With programs that CI does not build: `npm run test:electrs`, `npm run test:geth`. */
export const BY_HAND = ["test/interop/electrs.test.ts", "test/interop/geth.test.ts"];
/** Minutes each: begun first, so that none of them is left for the end. */
const LONGEST = [
  "accountEveryEventTaker",
  "trouble",
  "accountEveryEventMaker",
  "storeKills",
  "accountCrashes",
  "accountDearGas",
  "electrumx",
  "everyEvent",
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const at = LONGEST.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
      return at < 0 ? LONGEST.length : at;
    };
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b));
  }
}

const slow = { ...LOADED_BY_NODE, setupFiles: ["test/e2e/support/portShare.ts"], testTimeout: 300_000, hookTimeout: 120_000 };

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          ...slow,
          name: "side by side",
          include: ["test/e2e/**/*.test.ts", "test/interop/**/*.test.ts"],
          exclude: [...configDefaults.exclude, ...ALONE, ...BY_HAND],
          maxWorkers: WORKERS,
          sequence: { groupOrder: 1 },
        },
      },
      { test: { ...slow, name: "alone", include: ALONE, maxWorkers: 1, sequence: { groupOrder: 2 } } },
    ],
  },
});
