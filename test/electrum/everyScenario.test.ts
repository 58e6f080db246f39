import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** Files of test/swap that mean nothing on Electrum servers. */
const WITHOUT_MEANING: { readonly [file: string]: string } = {
  lyingDaemon:
    "the one daemon of a side lies; of servers one lies in every scenario, and most of them in test/electrum/lyingMajority.test.ts",
  oldEventLogs: "recorded logs are folded: there is no chain",
  statusForm: "statuses are made of recorded logs: there is no chain",
};

const HERE = new URL("./", import.meta.url);
const SCENARIOS = readdirSync(new URL("../swap/", HERE)).flatMap((name) => /^(\w+)\.test\.ts$/.exec(name)?.[1] ?? []);

test("every file of test/swap runs on Electrum servers as well, or it is said here why not", () => {
  const texts = readdirSync(HERE).map((name) => (name.endsWith(".test.ts") ? readFileSync(new URL(name, HERE), "utf8") : ""));
  const run = texts.flatMap((text) => [...text.matchAll(/import\("\.\.\/swap\/(\w+)\.test\.ts"\)/g)].map(([, file]) => file ?? ""));
  expect([...run, ...Object.keys(WITHOUT_MEANING)].toSorted()).toEqual(SCENARIOS.toSorted());
});
