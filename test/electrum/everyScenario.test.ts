import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** Files of test/swap that mean nothing on Electrum servers. */
const WITHOUT_MEANING: { readonly [file: string]: string } = {
  lyingDaemon:
    "the one daemon of a side lies; of servers one lies in every scenario, and most of them in test/electrum/lyingMajority.test.ts",
  oldEventLogs: "recorded logs are folded: there is no chain",
  statusForm: "statuses are made of recorded logs: there is no chain",
};

/** The same of test/sim, but for what its names say is about account chains. */
const ELSEWHERE: { readonly [file: string]: string } = {
  befallen: "chooses for itself which nodes have servers, and is about those of account chains",
  daemonTrouble: "what daemons do wrong; what servers do is in test/electrum and in the faults of simRun",
  nativeCurves: "there is no chain",
  seam: "compares with a process of its own, which has daemons; the same run twice on servers is in simRun",
  shared: "there is no chain",
  simRun: "chooses for itself which nodes have servers",
  soakOptions: "chooses for itself which nodes have servers",
};

const HERE = new URL("./", import.meta.url);
const SIM = new URL("../sim/", HERE);
const namesIn = (folder: URL): readonly string[] => readdirSync(folder).flatMap((name) => /^(\w+)\.test\.ts$/.exec(name)?.[1] ?? []);
const SCENARIOS = namesIn(new URL("../swap/", HERE));

test("every file of test/swap runs on Electrum servers as well, or it is said here why not", () => {
  const texts = readdirSync(HERE).map((name) => (name.endsWith(".test.ts") ? readFileSync(new URL(name, HERE), "utf8") : ""));
  const run = texts.flatMap((text) => [...text.matchAll(/import\("\.\.\/swap\/(\w+)\.test\.ts"\)/g)].map(([, file]) => file ?? ""));
  expect([...run, ...Object.keys(WITHOUT_MEANING)].toSorted()).toEqual(SCENARIOS.toSorted());
});

test("every file of test/sim that is about UTXO coins alone runs on Electrum servers as well, or it is said here why not", () => {
  const [on, off] = ["onElectrum", "crashesOnElectrum"].map((name) => readFileSync(new URL(`${name}.test.ts`, SIM), "utf8"));
  const run = [...`${on}${off}`.matchAll(/import\("\.\/(\w+)\.test\.ts"\)/g)].map(([, file]) => file ?? "");
  const ofUtxo = namesIn(SIM).filter((name) => !/^(account|simEvm)/.test(name) && !name.endsWith("nElectrum"));
  expect([...run, ...Object.keys(ELSEWHERE)].toSorted()).toEqual(ofUtxo.toSorted());
});
